import type { Socket } from "node:net";
import { Budget } from "../budget.ts";
import { isOutOfBounds } from "../bson/bson-reader.ts";
import { answer, ConnectionDropped, errorReply } from "../commands/command-table.ts";
import type { Engine } from "../commands/context.ts";
import { StoreError } from "../bson/errors.ts";
import type { GroupCommit } from "./group-commit.ts";
import { frameReply, messageLength, parseMessage, WireError } from "./messages.ts";
import type { Request } from "./messages.ts";

/** Answers of a connection not yet taken by the network, bytes: beyond it, no further request is read. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Speaks the wire protocol with one client. Messages are answered in order; answers to a turn that wrote leave after its commit. */
export class Connection {
  private readonly engine: Engine;
  private readonly socket: Socket;
  private readonly commits: GroupCommit;
  private readonly id: number;
  private chunks: Buffer[] = [];
  private buffered = 0;

  constructor(engine: Engine, turn: GroupCommit, socket: Socket, id: number) {
    this.engine = engine;
    this.commits = turn;
    this.socket = socket;
    this.id = id;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => this.receive(chunk));
    // A client that goes away is no fault of the store's.
    socket.on("error", () => socket.destroy());
    socket.on("drain", () => socket.resume());
  }

  private receive(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.buffered += chunk.length;
    try {
      this.readMessages();
    } catch (error) {
      if (!(error instanceof WireError) && !isOutOfBounds(error)) throw error;
      this.socket.destroy();
    }
  }

  private readMessages(): void {
    let buf = this.chunks.length === 1 ? (this.chunks[0] ?? Buffer.alloc(0)) : undefined;
    if (buf === undefined) {
      const length = this.chunks[0] === undefined ? undefined : messageLength(this.chunks[0]);
      // Chunks of a long message are joined once, when it is complete.
      if (length !== undefined && this.buffered < length) return;
      buf = Buffer.concat(this.chunks);
    }
    let at = 0;
    for (;;) {
      const length = messageLength(buf.subarray(at));
      if (length === undefined || buf.length - at < length) break;
      this.handle(buf.subarray(at, at + length));
      if (this.socket.destroyed) return;
      at += length;
    }
    this.chunks = at === buf.length ? [] : [buf.subarray(at)];
    this.buffered = buf.length - at;
  }

  private handle(message: Buffer): void {
    let request: Request;
    try {
      request = parseMessage(message);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.send({ requestId: message.readInt32LE(4), opcode: message.readInt32LE(12) }, errorReply(error));
      return;
    }
    const { command } = request;
    const db = command["$db"];
    const call = {
      engine: this.engine,
      command,
      db: typeof db === "string" ? db : "",
      sequences: request.sequences,
      now: new Date(),
      connectionId: this.id,
      budget: new Budget(this.engine.held),
    };
    try {
      const body = this.commits.run(() => answer(call));
      if (request.wantsReply) this.commits.after((failure) => this.send(request, failure ?? body));
    } catch (error) {
      if (error instanceof ConnectionDropped) {
        this.socket.destroy();
        return;
      }
      const failure = this.commits.fail(error);
      if (request.wantsReply) this.send(request, failure);
    }
  }

  private send(request: Pick<Request, "requestId" | "opcode">, body: Uint8Array): void {
    if (this.socket.destroyed) return;
    this.socket.write(frameReply(request, body));
    if (this.socket.writableLength > MAX_UNSENT_BYTES) this.socket.pause();
  }
}
