import { connect, createServer, type Server, type Socket } from "node:net";

/** Which way bytes go: `up` from the services to what they stand on, `down` back to them. */
export type Direction = "up" | "down";
/** What becomes of bytes: passed on, kept waiting at their sender, or taken and thrown away while the connection stays open (half-open). */
export type Mode = "pass" | "pause" | "swallow";

/** What is done to connections; every switch works on those that are open, too. */
export interface TcpProxy {
  port: number;
  /** Connections open now. */
  open(): number;
  set(direction: Direction | "both", to: { mode?: Mode; latencyMs?: number }): void;
  /** Cuts every connection with a TCP reset. */
  reset(): void;
  /** From now on connections are refused (and the open ones cut), or taken again. */
  refuse(on: boolean): Promise<void>;
  /** The next `times` requests that match are passed on, and the connection is cut when their reply comes: done, but not acknowledged. */
  loseReplies(matches: (request: Buffer) => boolean, times: number): void;
  /** The next request that matches is passed on and its reply kept back until `heal`; resolves when it has passed. */
  holdReply(matches: (request: Buffer) => boolean): Promise<void>;
  /** Replies lost so far. */
  lost(): number;
  /** Everything as at the start; connections that lost bytes are cut. */
  heal(): Promise<void>;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** So much may wait in one direction of a connection before its sender is held up. */
const MAX_QUEUED_BYTES = 4_194_304;

interface Way {
  mode: Mode;
  latencyMs: number;
}
type Ways = Record<Direction, Way>;

/** One direction of one connection: bytes leave in their order, each chunk `latencyMs` after it came. */
class Pipe {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #way: Way;
  readonly #seen: (chunk: Buffer) => boolean;
  #queue: { chunk: Buffer; due: number }[] = [];
  #queued = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Bytes were thrown away: the stream can't be continued. */
  broken = false;

  /** `seen` is shown every chunk first; false: the connection was cut. */
  constructor(from: Socket, to: Socket, way: Way, seen: (chunk: Buffer) => boolean) {
    this.#from = from;
    this.#to = to;
    this.#way = way;
    this.#seen = seen;
    from.on("data", (chunk: Buffer) => this.#take(chunk));
    this.apply();
  }

  /** This direction of this connection alone waits. */
  held = false;

  apply(): void {
    if (this.held || this.#way.mode === "pause") this.#from.pause();
    else this.#from.resume();
  }

  #take(chunk: Buffer): void {
    if (this.#way.mode === "swallow") {
      this.broken = true;
      return;
    }
    if (!this.#seen(chunk)) return;
    if (this.#way.latencyMs === 0 && this.#queue.length === 0) {
      this.#to.write(chunk);
      return;
    }
    this.#queue.push({ chunk, due: performance.now() + this.#way.latencyMs });
    this.#queued += chunk.length;
    if (this.#queued > MAX_QUEUED_BYTES) this.#from.pause();
    this.#pump();
  }

  #pump(): void {
    if (this.#timer !== null) return;
    const [head] = this.#queue;
    if (!head) {
      this.apply();
      return;
    }
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#queue.shift();
        this.#queued -= head.chunk.length;
        if (!this.#to.destroyed) this.#to.write(head.chunk);
        this.#pump();
      },
      Math.max(0, head.due - performance.now()),
    );
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#queue = [];
  }
}

interface Link {
  client: Socket;
  server: Socket;
  pipes: Pipe[];
  doomed: boolean;
}

class SwitchedProxy implements TcpProxy {
  readonly #target: { host: string; port: number };
  readonly #ways: Ways = { up: { mode: "pass", latencyMs: 0 }, down: { mode: "pass", latencyMs: 0 } };
  readonly #links = new Set<Link>();
  #server: Server | null = null;
  #losing: { matches: (request: Buffer) => boolean; left: number } | null = null;
  #holding: { matches: (request: Buffer) => boolean; done: () => void } | null = null;
  #lost = 0;
  port = 0;

  constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  async listen(): Promise<void> {
    const server = createServer((client) => this.#link(client));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(this.port, HOST, resolve);
    });
    const address = server.address();
    if (typeof address === "object" && address) this.port = address.port;
    this.#server = server;
  }

  #link(client: Socket): void {
    const server = connect(this.#target.port, this.#target.host);
    const link: Link = { client, server, pipes: [], doomed: false };
    this.#links.add(link);
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      socket.on("error", () => this.#cut(link));
      socket.on("close", () => this.#cut(link));
    }
    link.pipes = [
      new Pipe(client, server, this.#ways.up, (chunk) => {
        this.#mark(link, chunk);
        return true;
      }),
      new Pipe(server, client, this.#ways.down, () => {
        if (!link.doomed) return true;
        this.#lost += 1;
        this.#cut(link);
        return false;
      }),
    ];
  }

  #mark(link: Link, request: Buffer): void {
    if (this.#holding?.matches(request)) {
      for (const pipe of link.pipes.slice(1)) {
        pipe.held = true;
        pipe.apply();
      }
      this.#holding.done();
      this.#holding = null;
    }
    if (!this.#losing || this.#losing.left === 0 || link.doomed || !this.#losing.matches(request)) return;
    this.#losing.left -= 1;
    link.doomed = true;
  }

  #cut(link: Link): void {
    if (!this.#links.delete(link)) return;
    for (const pipe of link.pipes) pipe.stop();
    for (const socket of [link.client, link.server]) if (!socket.destroyed) socket.resetAndDestroy();
  }

  open(): number {
    return this.#links.size;
  }
  lost(): number {
    return this.#lost;
  }

  set(direction: Direction | "both", to: { mode?: Mode; latencyMs?: number }): void {
    for (const one of direction === "both" ? (["up", "down"] as const) : [direction])
      Object.assign(this.#ways[one], to);
    for (const link of this.#links) for (const pipe of link.pipes) pipe.apply();
  }

  reset(): void {
    for (const link of this.#links) this.#cut(link);
  }

  async refuse(on: boolean): Promise<void> {
    if (!on) {
      if (!this.#server) await this.listen();
      return;
    }
    const server = this.#server;
    this.#server = null;
    this.reset();
    await new Promise<void>((resolve) => {
      if (server) server.close(() => resolve());
      else resolve();
    });
  }

  loseReplies(matches: (request: Buffer) => boolean, times: number): void {
    this.#losing = { matches, left: times };
  }

  holdReply(matches: (request: Buffer) => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#holding = { matches, done: resolve };
    });
  }

  async heal(): Promise<void> {
    this.#losing = null;
    this.#holding = null;
    for (const link of this.#links) for (const pipe of link.pipes) pipe.held = false;
    this.set("both", { mode: "pass", latencyMs: 0 });
    for (const link of this.#links) if (link.pipes.some((p) => p.broken)) this.#cut(link);
    await this.refuse(false);
  }

  async close(): Promise<void> {
    await this.refuse(true);
  }
}

/** Starts a proxy on a free port before the address in `url`; it passes everything on until a switch is set. */
export async function startTcpProxy(url: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(url);
  const proxy = new SwitchedProxy({ host: hostname, port: Number(port) });
  await proxy.listen();
  return proxy;
}

/** The same address, through the proxy. */
export function through(proxy: Pick<TcpProxy, "port">, url: string): string {
  const parts = new URL(url);
  parts.port = String(proxy.port);
  return parts.href.replace(/\/$/, "");
}
