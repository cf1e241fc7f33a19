import { createServer } from "node:http";
import type { Server } from "node:http";
import type { Clock } from "../../shared/time/clock.ts";
import { serveRealtime } from "./realtime/realtime-socket.ts";
import { Simulator } from "./simulator.ts";

export type { RequestSummary } from "./api/request-log.ts";

/** How to run the model simulator. */
export type ModelsOptions = Readonly<{
  /** TCP port; 0 takes a free one. */
  port: number;
  /** Address to listen on; default this machine only. */
  host?: string;
  /** The only accepted API key; without it any non-empty key will do. */
  key?: string;
  /** Accepted model names, separated by commas; default "callagent-sim". */
  model?: string;
  /** In whose time it delays; absent: the machine's. */
  clock?: Clock;
  /** Time to the words of what was recorded, in milliseconds. */
  sttMs?: number;
  /** Time to the first token, in milliseconds. */
  firstTokenMs?: number;
  /** Time between tokens, in milliseconds. */
  tokenMs?: number;
  /** Time to the first sound of speech, in milliseconds. */
  firstAudioMs?: number;
}>;

/** Starts the OpenAI-compatible server; `url` is the base URL for the openai package (ends in /v1). Rejects when the port is taken. */
export async function startModels(options: ModelsOptions): Promise<{ url: string; close: () => Promise<void> }> {
  const { sttMs = 0, firstTokenMs = 0, tokenMs = 0, firstAudioMs = 0 } = options;
  const simulator = new Simulator({
    ...options,
    delays: { stt_ms: sttMs, first_token_ms: firstTokenMs, token_ms: tokenMs, first_audio_ms: firstAudioMs },
  });
  const server = createServer((request, response) => void simulator.answer(request, response));
  const cutRealtime = serveRealtime(server, simulator);
  const host = options.host ?? "127.0.0.1";
  const port = await listen(server, options.port, host);
  return {
    url: `http://${host}:${port}/v1`,
    close: () => {
      cutRealtime();
      return shut(server);
    },
  };
}

async function listen(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => resolve());
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

async function shut(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
