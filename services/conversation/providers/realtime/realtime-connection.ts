import { WebSocket } from "ws";
import { sessionHeaders, socketBase } from "../addresses.ts";
import { readEvent, type Dialect, type RealtimeEvent } from "./realtime-dialect.ts";

/** Where a realtime model is asked. */
export interface RealtimeAddress {
  readonly base_url: string;
  readonly key: string | undefined;
  readonly model: string;
  readonly voice: string;
  readonly dialect: Dialect;
}

/** A connection to a realtime model. */
export interface RealtimeConnection {
  send(event: object): void;
  close(): void;
}

/** Events of a connection. `lost`: it broke or was never established; comes once. */
export interface RealtimeEvents {
  event(event: RealtimeEvent): void;
  lost(): void;
}

const CONNECT_MS = 3000;
/** Tries to establish a connection. An established connection is not replaced: its conversation can't be repeated on another. */
const CONNECTS = 2;
/** Largest event that is read, bytes. */
const MAX_EVENT_BYTES = 4_194_304;
/** Events queued while the connection is being established: the audio of all tries and more. */
const MAX_EARLY = 500;
/** Unsent bytes at which the other side counts as gone. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** The address of a session: http(s) bases are taken as ws(s). */
export function realtimeUrl({ base_url, model }: Pick<RealtimeAddress, "base_url" | "model">): string {
  const url = new URL(`${socketBase(base_url).replace(/\/+$/, "")}/realtime`);
  url.searchParams.set("model", model);
  return url.href;
}

function open({ base_url, key, model, dialect }: RealtimeAddress): WebSocket {
  return new WebSocket(realtimeUrl({ base_url, model }), {
    handshakeTimeout: CONNECT_MS,
    maxPayload: MAX_EVENT_BYTES,
    perMessageDeflate: false,
    headers: sessionHeaders(key, dialect),
  });
}

/** Connects; events sent before the connection is established are queued. */
export function realtimeConnection(address: RealtimeAddress, events: RealtimeEvents): RealtimeConnection {
  let early: string[] | null = [];
  let over = false;
  let socket: WebSocket;
  const end = (): void => {
    if (over) return;
    over = true;
    socket.terminate();
    events.lost();
  };
  const connect = (tries: number): void => {
    const mine = open(address);
    socket = mine;
    let failed = false;
    const lost = (): void => {
      if (failed || over) return;
      failed = true;
      mine.terminate();
      if (early === null || tries >= CONNECTS) end();
      else connect(tries + 1);
    };
    mine.on("open", () => {
      for (const message of early ?? []) mine.send(message);
      early = null;
    });
    mine.on("message", (data, isBinary) => {
      const event = isBinary || over ? null : readEvent(String(data));
      if (event) events.event(event);
    });
    mine.on("error", lost);
    mine.on("close", lost);
  };
  connect(1);
  return {
    send(event) {
      if (over) return;
      const message = JSON.stringify(event);
      if (early !== null) {
        if (early.length < MAX_EARLY) early.push(message);
      } else if (socket.bufferedAmount > MAX_BUFFERED_BYTES) end();
      else if (socket.readyState === WebSocket.OPEN) socket.send(message);
    },
    close() {
      over = true;
      socket.close();
      socket.terminate();
    },
  };
}
