import { WebSocket } from "ws";
import { isRecord, recordIn } from "../../../shared/json.ts";

/** A command's longest time, ms. */
const COMMAND_MS = 60_000;
const MAX_PAYLOAD_BYTES = 268_435_456;

/** Sends commands of the DevTools protocol, or of WebDriver BiDi, whose messages have the same form. */
export interface DevTools {
  /** Rejects with what the browser says, and where it does not answer in time. */
  ask(method: string, params?: object, session?: string): Promise<Record<string, unknown>>;
  close(): void;
}

/** Connects to a browser by the address that it prints. */
export async function connectDevTools(url: string): Promise<DevTools> {
  const socket = new WebSocket(url, { maxPayload: MAX_PAYLOAD_BYTES });
  const waiting = new Map<number, { done(result: Record<string, unknown>): void; failed(error: Error): void }>();
  let asked = 0;
  socket.on("message", (data) => {
    const message = recordIn(String(data));
    const one = waiting.get(Number(message?.["id"]));
    if (!one) return;
    const { error, result } = message ?? {};
    const said = isRecord(error) ? error["message"] : message?.["message"];
    if (error !== undefined) one.failed(new Error(`the browser refuses it: ${String(said)}`));
    else one.done(isRecord(result) ? result : {});
  });
  socket.on("close", () => {
    for (const { failed } of waiting.values()) failed(new Error("the browser is gone"));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("open", () => resolve());
    socket.once("error", reject);
  });
  return {
    ask(method, params = {}, session) {
      const id = ++asked;
      return new Promise<Record<string, unknown>>((done, failed) => {
        const late = setTimeout(() => failed(new Error(`${method} was not answered in time`)), COMMAND_MS);
        const end = (): void => {
          clearTimeout(late);
          waiting.delete(id);
        };
        waiting.set(id, {
          done: (result) => {
            end();
            done(result);
          },
          failed: (error) => {
            end();
            failed(error);
          },
        });
        socket.send(JSON.stringify({ id, method, params, ...(session === undefined ? {} : { sessionId: session }) }));
      });
    },
    close: () => socket.terminate(),
  };
}
