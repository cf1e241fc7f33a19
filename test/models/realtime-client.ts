import { WebSocket } from "ws";

/** An event as it came over the line. */
export type Event = Readonly<Record<string, unknown>> & Readonly<{ type: string }>;

const DEADLINE_MS = 20_000;

/** A client of the realtime API that keeps all events and waits for some. */
export class RealtimeClient {
  readonly events: Event[] = [];
  readonly #socket: WebSocket;
  #waiting: (() => void)[] = [];
  closed = false;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#socket = new WebSocket(url, { headers });
    this.#socket.on("message", (data: Buffer) => {
      const event = JSON.parse(data.toString("utf8")) as Event;
      this.events.push(event);
      this.#wake();
    });
    this.#socket.on("error", () => this.#end());
    this.#socket.on("close", () => this.#end());
  }

  send(event: Readonly<Record<string, unknown>>): void {
    this.#socket.send(JSON.stringify(event));
  }

  sendRaw(text: string): void {
    this.#socket.send(text);
  }

  close(): void {
    this.#socket.terminate();
  }

  /** The first event that fits, from an index on; waits for it. */
  async next(type: string | ((event: Event) => boolean), from = 0): Promise<Event> {
    const fits = typeof type === "string" ? (event: Event): boolean => event.type === type : type;
    const end = Date.now() + DEADLINE_MS;
    for (;;) {
      const found = this.events.slice(from).find(fits);
      if (found !== undefined) return found;
      if (this.closed || Date.now() > end)
        throw new Error(`no ${String(type)} after: ${this.events.map((event) => event.type).join(" ")}`);
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
        setTimeout(resolve, DEADLINE_MS).unref();
      });
    }
  }

  /** Resolves when the line is gone. */
  async gone(): Promise<void> {
    while (!this.closed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  types(from = 0): string[] {
    return this.events.slice(from).map(({ type }) => type);
  }

  /** Texts of the events of a type. */
  texts(type: string, field: string, from = 0): string[] {
    return this.events
      .slice(from)
      .filter((event) => event.type === type)
      .map((event) => String(event[field]));
  }

  #end(): void {
    this.closed = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
