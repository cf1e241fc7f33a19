import { connect, createServer, type Server, type Socket } from "node:net";

/** What becomes of an event packet: how often it is delivered (0: lost), each time after its own pause. */
export type EventRule = () => readonly number[];

/** A proxy before the bus that knows its protocol: it can tell Moleculer's events from the rest and lose, repeat or shuffle them. */
export interface BusProxy {
  /** The address a child is given; each name has a port of its own, so that one child can be cut off. */
  urlFor(child: string): Promise<string>;
  /** What happens to events from now on; null: nothing. */
  events(rule: EventRule | null): void;
  /** Cuts a child off from the bus: its connection stays open and nothing gets through; the others go on. */
  partition(child: string, on: boolean): void;
  /** The bus is away for everybody: connections cut and refused. */
  away(on: boolean): void;
  /** Event packets that came in, and how many were lost or repeated. */
  counts(): { seen: number; lost: number; repeated: number };
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
const CRLF = Buffer.from("\r\n");
/** Subjects of events: `MOL-<namespace>.EVENT.<node>`, balanced ones `MOL-<namespace>.EVENTB.<group>.<event>`. */
const EVENT = /^MOL[^.]*\.EVENTB?\./;
/** A message is no longer than the server's max_payload of 1 MB and its line. */
const MAX_FRAME_BYTES = 2_097_152;

/** One message of the client, as bytes; `subject` of a publication. */
interface Frame {
  bytes: Buffer;
  subject: string | null;
}

/** Cuts the client's stream into whole messages (https://docs.nats.io/reference/reference-protocols/nats-protocol): lines, of which PUB and HPUB have a payload behind. */
class FrameReader {
  #rest: Buffer<ArrayBufferLike> = Buffer.alloc(0);

  read(chunk: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    for (;;) {
      const end = this.#rest.indexOf(CRLF);
      if (end < 0) break;
      const words = this.#rest.subarray(0, end).toString("latin1").split(/\s+/);
      const publishes = /^H?PUB$/i.test(words[0] ?? "");
      const length = end + CRLF.length + (publishes ? Number(words.at(-1)) + CRLF.length : 0);
      if (length > MAX_FRAME_BYTES) throw new Error(`a bus message of ${length} bytes`);
      if (this.#rest.length < length) break;
      frames.push({ bytes: this.#rest.subarray(0, length), subject: publishes ? (words[1] ?? "") : null });
      this.#rest = this.#rest.subarray(length);
    }
    return frames;
  }
}

class Door {
  readonly links = new Set<readonly [Socket, Socket]>();
  server: Server | null = null;
  port = 0;
  silent = false;
}

class SwitchedBus implements BusProxy {
  readonly #target: { host: string; port: number };
  readonly #doors = new Map<string, Door>();
  readonly #counts = { seen: 0, lost: 0, repeated: 0 };
  #rule: EventRule | null = null;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  async urlFor(child: string): Promise<string> {
    const door = this.#doors.get(child) ?? new Door();
    this.#doors.set(child, door);
    if (!door.server) await this.#open(door);
    return `nats://${HOST}:${door.port}`;
  }

  async #open(door: Door): Promise<void> {
    const server = createServer((client) => this.#link(door, client));
    door.server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(door.port, HOST, resolve);
    });
    const address = server.address();
    if (typeof address === "object" && address) door.port = address.port;
  }

  #link(door: Door, client: Socket): void {
    const server = connect(this.#target.port, this.#target.host);
    const link = [client, server] as const;
    const reader = new FrameReader();
    door.links.add(link);
    const cut = (): void => {
      door.links.delete(link);
      client.destroy();
      server.destroy();
    };
    for (const socket of link) {
      socket.setNoDelay(true);
      socket.on("error", cut);
      socket.on("close", cut);
    }
    client.on("data", (chunk: Buffer) => {
      for (const frame of reader.read(chunk)) if (!door.silent) this.#pass(frame, server);
    });
    server.on("data", (chunk: Buffer) => {
      if (!door.silent) client.write(chunk);
    });
  }

  #pass({ bytes, subject }: Frame, server: Socket): void {
    if (subject === null || !EVENT.test(subject)) {
      server.write(bytes);
      return;
    }
    this.#counts.seen += 1;
    const pauses = this.#rule ? this.#rule() : [0];
    if (pauses.length === 0) this.#counts.lost += 1;
    this.#counts.repeated += Math.max(0, pauses.length - 1);
    for (const pause of pauses) {
      if (pause === 0) server.write(bytes);
      else
        setTimeout(() => {
          if (!server.destroyed) server.write(bytes);
        }, pause);
    }
  }

  events(rule: EventRule | null): void {
    this.#rule = rule;
  }

  partition(child: string, on: boolean): void {
    const door = this.#doors.get(child);
    if (!door) throw new Error(`nobody came through the door of ${child}`);
    door.silent = on;
    // what was said meanwhile is gone, so the stream can't be continued
    if (!on) for (const link of door.links) for (const socket of link) socket.destroy();
  }

  away(on: boolean): void {
    for (const door of this.#doors.values()) {
      if (!on) {
        if (!door.server) void this.#open(door);
        continue;
      }
      door.server?.close();
      door.server = null;
      for (const link of door.links) for (const socket of link) socket.destroy();
    }
  }

  counts(): { seen: number; lost: number; repeated: number } {
    return { ...this.#counts };
  }

  async close(): Promise<void> {
    this.away(true);
    await Promise.resolve();
  }
}

/** Starts a proxy before the bus at `url` (nats://host:port). */
export function startBusProxy(url: string): BusProxy {
  const { hostname, port } = new URL(url);
  return new SwitchedBus({ host: hostname, port: Number(port) });
}
