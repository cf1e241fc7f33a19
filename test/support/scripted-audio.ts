import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** What the endpoint is to do with one request: pieces of a body (each sent by itself), an HTTP status, a body without an end, or no answer at all. */
export interface AudioReply {
  pieces?: Uint8Array[];
  json?: unknown;
  status?: number;
  type?: string;
  hang?: boolean;
  silent?: boolean;
}
/** A request as it came in: the JSON of speech, or the fields and file of a transcription. */
export interface AudioRequest {
  path: string;
  key: string;
  fields: Record<string, string>;
  file: Buffer;
}

/** An endpoint for speech and transcription that does what the test says. `aborted` counts requests let go by the client; `until` waits for a count of requests or of those let go. */
export interface ScriptedAudio {
  url: string;
  requests: AudioRequest[];
  aborted(): number;
  reply: (request: AudioRequest) => AudioReply | Promise<AudioReply>;
  untilAsked(times: number): Promise<void>;
  untilAborted(times: number): Promise<void>;
  close(): Promise<void>;
}

/** Fields and file of a multipart body. */
function formOf(body: Buffer, type: string): Pick<AudioRequest, "fields" | "file"> {
  const boundary = `--${/boundary=(.+)$/.exec(type)?.[1] ?? ""}`;
  const fields: Record<string, string> = {};
  let file: Buffer = Buffer.alloc(0);
  for (let at = body.indexOf(boundary); ;) {
    const next = body.indexOf(boundary, at + boundary.length);
    if (next === -1) return { fields, file };
    const part = body.subarray(at + boundary.length + 2, next - 2);
    const cut = part.indexOf("\r\n\r\n");
    const name = /name="([^"]+)"/.exec(part.toString("latin1", 0, cut))?.[1] ?? "";
    if (name === "file") file = part.subarray(cut + 4);
    else fields[name] = part.toString("utf8", cut + 4);
    at = next;
  }
}

/** Resolves waiters when their count is reached. */
function counting(): { count(): number; up(): void; until(n: number): Promise<void> } {
  let n = 0;
  const waits: { n: number; resolve: () => void }[] = [];
  return {
    count: () => n,
    up() {
      n++;
      for (const w of waits) if (w.n <= n) w.resolve();
    },
    until: (least) =>
      new Promise((resolve) => {
        if (n >= least) resolve();
        else waits.push({ n: least, resolve });
      }),
  };
}

async function answer(reply: AudioReply, response: ServerResponse): Promise<void> {
  if (reply.silent) return;
  if (reply.status) {
    response.writeHead(reply.status, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
    return;
  }
  if (reply.json !== undefined) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply.json));
    return;
  }
  response.writeHead(200, { "content-type": reply.type ?? "application/octet-stream" });
  response.flushHeaders();
  for (const piece of reply.pieces ?? []) {
    response.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!reply.hang) response.end();
}

const requestOf = (request: IncomingMessage, body: Buffer): AudioRequest => {
  const type = request.headers["content-type"] ?? "";
  const at = { path: request.url ?? "", key: request.headers.authorization ?? "" };
  return type.startsWith("multipart/")
    ? { ...at, ...formOf(body, type) }
    : { ...at, fields: JSON.parse(body.toString()) as Record<string, string>, file: Buffer.alloc(0) };
};

/** Starts the endpoint on a free port. */
export async function startScriptedAudio(): Promise<ScriptedAudio> {
  const asked = counting();
  const aborted = counting();
  const audio: ScriptedAudio = {
    url: "",
    requests: [],
    aborted: aborted.count,
    reply: () => ({ json: { text: "" } }),
    untilAsked: asked.until,
    untilAborted: aborted.until,
    close: async () => undefined,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (d: Buffer) => {
      chunks.push(d);
    });
    request.on("end", () => {
      const made = requestOf(request, Buffer.concat(chunks));
      audio.requests.push(made);
      response.on("close", () => {
        if (!response.writableFinished) aborted.up();
      });
      void Promise.resolve(audio.reply(made))
        .then((reply) => answer(reply, response))
        .then(asked.up);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  audio.url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
  audio.close = async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  };
  return audio;
}
