import { STATUS_CODES } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { errorOf } from "../api/faults.ts";
import { errorBody } from "../api/json-http.ts";
import { ApiError } from "../api/chat-request.ts";
import type { Simulator } from "../simulator.ts";
import { RealtimeSession } from "./realtime-session.ts";
import { firstSettings } from "./session-settings.ts";

/** The realtime API's WebSocket: /v1/realtime?model=… or ?intent=transcription, in the dialect of the header OpenAI-Beta. */

const MOST_EVENT_BYTES = 16 * 1024 * 1024;

/** Takes the upgrades of a server; gives what cuts all connections. */
export function serveRealtime(server: Server, simulator: Simulator): () => void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MOST_EVENT_BYTES });
  let sessions = 0;
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => socket.destroy());
    try {
      const { purpose, model } = admitted(request, simulator);
      sessions += 1;
      const id = `sess_${String(sessions).padStart(6, "0")}`;
      const dialect = /\brealtime=v1\b/.test(String(request.headers["openai-beta"] ?? "")) ? "beta" : "ga";
      sockets.handleUpgrade(request, socket, head, (client) => {
        const session = new RealtimeSession({
          line: connectionOf(client),
          id,
          dialect,
          settings: firstSettings(purpose, model),
          context: simulator.context,
        });
        client.on("message", (data, binary) => {
          if (!binary) session.receive(textOf(data));
        });
        client.on("error", () => client.terminate());
        client.on("close", () => session.closed());
      });
    } catch (error) {
      refuse(
        socket,
        error instanceof ApiError ? error : new ApiError(500, "The model simulator failed on this connection."),
      );
    }
  });
  return () => {
    for (const client of sockets.clients) client.terminate();
    sockets.close();
  };
}

function admitted(
  request: IncomingMessage,
  simulator: Simulator,
): { purpose: "realtime" | "transcription"; model: string } {
  const url = new URL(request.url ?? "/", "http://simulator");
  if (url.pathname !== "/v1/realtime") throw new ApiError(404, `Invalid URL (GET ${url.pathname})`);
  simulator.authorise(request);
  const error = errorOf(simulator.context.faults.take("realtime", ["error_500", "error_429"]));
  if (error !== null) throw error;
  const purpose = url.searchParams.get("intent") === "transcription" ? "transcription" : "realtime";
  const model = url.searchParams.get("model");
  if (model === null && purpose === "realtime")
    throw new ApiError(400, "you must provide a model parameter", "model", "missing_model");
  if (model !== null) simulator.checkSoundModel(model);
  return { purpose, model: model ?? "" };
}

function connectionOf(client: WebSocket): { send(text: string): void; cut(): void } {
  return { send: (text) => client.send(text), cut: () => client.terminate() };
}

function textOf(data: Buffer | ArrayBuffer | Buffer[]): string {
  return (
    Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data instanceof ArrayBuffer ? new Uint8Array(data) : data)
  ).toString("utf8");
}

function refuse(socket: Duplex, fault: ApiError): void {
  const body = JSON.stringify(errorBody(fault));
  const head = [
    `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status] ?? "Error"}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}
