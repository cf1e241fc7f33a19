import { WebSocket } from "ws";
import { readEvent, type Dialect, type RealtimeEvent } from "./dialect.ts";

/** Where a realtime model is asked. */
export interface RealtimeAddress { readonly base_url: string; readonly key: string | undefined; readonly model: string; readonly voice: string; readonly dialect: Dialect }

/** A connection to a realtime model. */
export interface RealtimeLink {
  send(event: object): void;
  close(): void;
}

/** What a connection tells. `lost`: it broke, or never came about; comes once. */
export interface RealtimeEvents { event(event: RealtimeEvent): void; lost(): void }

const CONNECT_MS = 5000;
/** Largest event that is read, bytes. */
const MAX_EVENT_BYTES = 4_194_304;
/** Events kept while the connection comes about: five seconds of sound and the session. */
const MAX_EARLY = 300;
/** Unsent bytes at which the other side counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** The address of a session: http(s) bases are taken as ws(s). */
export function realtimeUrl({ base_url, model }: Pick<RealtimeAddress, "base_url" | "model">): string {
  const url = new URL(`${base_url.replace(/\/+$/, "")}/realtime`);
  url.protocol = url.protocol === "https:" || url.protocol === "wss:" ? "wss:" : "ws:";
  url.searchParams.set("model", model);
  return url.href;
}

/** Connects; what is sent before the connection stands waits. */
export function realtimeLink(address: RealtimeAddress, events: RealtimeEvents): RealtimeLink {
  const socket = new WebSocket(realtimeUrl(address), {
    handshakeTimeout: CONNECT_MS, maxPayload: MAX_EVENT_BYTES, perMessageDeflate: false,
    headers: { ...(address.key === undefined ? {} : { authorization: `Bearer ${address.key}` }), ...(address.dialect === "beta" ? { "openai-beta": "realtime=v1" } : {}) },
  });
  let early: string[] = [];
  let over = false;
  const lost = (): void => {
    if (over) return;
    over = true;
    early = [];
    socket.terminate();
    events.lost();
  };
  socket.on("open", () => {
    for (const message of early) socket.send(message);
    early = [];
  });
  socket.on("message", (data, isBinary) => {
    const event = isBinary || over ? null : readEvent(String(data));
    if (event) events.event(event);
  });
  socket.on("error", lost);
  socket.on("close", lost);
  return {
    send(event) {
      if (over) return;
      const message = JSON.stringify(event);
      if (socket.readyState === WebSocket.CONNECTING) {
        if (early.length < MAX_EARLY) early.push(message);
      } else if (socket.bufferedAmount > MAX_BUFFERED_BYTES) lost();
      else if (socket.readyState === WebSocket.OPEN) socket.send(message);
    },
    close() {
      over = true;
      socket.close();
      socket.terminate();
    },
  };
}
