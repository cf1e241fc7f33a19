import { createServer, type ServerResponse } from "node:http";

/** What the model is to do with one question: words and calls, an HTTP status, or nothing at all. */
export interface Reply {
  text?: string;
  calls?: { name: string; arguments?: unknown }[];
  status?: number;
  hang?: boolean;
}
/** A question as it came in. */
export interface Question {
  messages: { role: string; content: string | null }[];
  tools?: { function: { name: string } }[];
  model: string;
}

/** A model endpoint that does what the test says: `reply` is asked at every question. `aborted` counts requests let go by the client. */
export interface ScriptedModel {
  url: string;
  questions: Question[];
  aborted(): number;
  reply: (q: Question) => Reply;
  close(): Promise<void>;
}

const STREAM = { "content-type": "text/event-stream" };

function stream(response: ServerResponse, { text = "", calls = [] }: Reply): void {
  const send = (delta: unknown, finish: string | null = null): void => {
    response.write(
      `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  };
  response.writeHead(200, STREAM);
  for (const token of text.match(/\S+\s*/g) ?? []) send({ content: token });
  calls.forEach((c, index) =>
    send({
      tool_calls: [
        {
          index,
          id: `call_${index}_${Math.abs(text.length)}`,
          type: "function",
          function: {
            name: c.name,
            arguments: typeof c.arguments === "string" ? c.arguments : JSON.stringify(c.arguments ?? {}),
          },
        },
      ],
    }),
  );
  send({}, calls.length > 0 ? "tool_calls" : "stop");
  response.end("data: [DONE]\n\n");
}

/** Starts the endpoint on a free port; a text that is hung up in the middle is never finished. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  let aborted = 0;
  const model: ScriptedModel = {
    url: "",
    questions: [],
    aborted: () => aborted,
    reply: () => ({ text: "Yes?" }),
    close: async () => undefined,
  };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (d: Buffer) => {
      body += d.toString();
    });
    request.on("end", () => {
      const question = JSON.parse(body) as Question;
      model.questions.push(question);
      const reply = model.reply(question);
      response.on("close", () => {
        if (!response.writableFinished) aborted++;
      });
      if (reply.status)
        response.writeHead(reply.status, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
      else if (reply.hang) {
        response.writeHead(200, STREAM);
        for (const t of reply.text?.match(/\S+\s*/g) ?? [])
          response.write(
            `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: t }, finish_reason: null }] })}\n\n`,
          );
      } else stream(response, reply);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  model.url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
  model.close = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  };
  return model;
}
