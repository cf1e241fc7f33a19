import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { encodeSpeech } from "../../speech/modem.ts";

/** Models that cost the machine next to nothing, so that they are not what is measured: every sound was made before, every answer is a form. */
export interface StubModels {
  readonly url: string;
  /** Lets go of connections that nobody uses, as a server does in time. */
  closeIdle(): void;
  close(): Promise<void>;
}

const RATE = 24_000;
const BYTES_PER_MS = (RATE * 2) / 1000;
/** Sound comes in pieces of this length, ten times as fast as it is heard, as speech servers give it. */
const PIECE_MS = 400;
const PIECE_EVERY_MS = 40;
const MS_PER_CHAR = 64;
const MOST_MS = 12_000;
/** Two sentences of 31 letters: four seconds in all. `#` is another number each time, so that nothing of it was spoken before. */
const ANSWER = ["That is noted as number", "####", "now.", "Is there more to write", "####", "down?"];

const sound = Buffer.from(encodeSpeech("the quick brown fox jumps over the lazy dog ".repeat(5), RATE).buffer).subarray(
  0,
  MOST_MS * BYTES_PER_MS,
);

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "stub", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

function speak(text: string, response: ServerResponse): void {
  const bytes = Math.min(MOST_MS, text.length * MS_PER_CHAR) * BYTES_PER_MS;
  response.writeHead(200, { "content-type": "audio/pcm" });
  const next = (at: number): void => {
    if (response.destroyed) return;
    const end = Math.min(bytes, at + PIECE_MS * BYTES_PER_MS);
    response.write(sound.subarray(at, end));
    if (end < bytes) setTimeout(next, PIECE_EVERY_MS, end);
    else response.end();
  };
  next(0);
}

/** Starts them in this process. */
export async function startStubModels(): Promise<StubModels> {
  let answers = 1000;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    if (request.url?.endsWith("/audio/transcriptions")) {
      response.writeHead(200, { "content-type": "application/json" }).end(`{"text":"Yes, please write that down."}`);
      return;
    }
    if (request.url?.endsWith("/audio/speech")) {
      speak((JSON.parse(body.toString()) as { input: string }).input, response);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const number = String((answers = answers >= 9999 ? 1000 : answers + 1));
    for (const [n, word] of ANSWER.entries())
      response.write(chunk({ content: `${n === 0 ? "" : " "}${word === "####" ? number : word}` }, null));
    response.end(`${chunk({}, "stop")}data: [DONE]\n\n`);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}/v1`,
    closeIdle: () => server.closeIdleConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
