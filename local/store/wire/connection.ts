import type { Socket } from "node:net";
import { Budget, type Slices } from "../budget.ts";
import { isOutOfBounds } from "../bson/bson-reader.ts";
import { answer, ConnectionDropped, errorReply, writes } from "../commands/command-table.ts";
import type { Engine } from "../commands/context.ts";
import { StoreError } from "../bson/errors.ts";
import type { GroupCommit } from "./group-commit.ts";
import { frameReply, MAX_MESSAGE_BYTES, messageLength, parseMessage, WireError } from "./messages.ts";
import type { Request } from "./messages.ts";
import type { TurnQueue } from "./turn-queue.ts";

/** Answers of a connection not yet taken by the network, bytes: beyond it, no further request is read. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Messages not yet looked at, bytes: beyond it, a connection whose command is at work is not read. */
const MAX_UNREAD_BYTES = 2 * MAX_MESSAGE_BYTES;

/** A command at work. */
interface Running {
  request: Request;
  budget: Budget;
  slices: Slices<Uint8Array>;
}

/** Speaks the wire protocol with one client. Messages are answered in order; answers to a turn that wrote leave after its commit. */
export class Connection {
  private readonly engine: Engine;
  private readonly socket: Socket;
  private readonly commits: GroupCommit;
  private readonly id: number;
  private chunks: Buffer[] = [];
  private buffered = 0;
  private readonly turns: TurnQueue;
  private current: Running | undefined;
  /** Stands in the queue of those that go on in a later turn. */
  private queued = false;

  constructor(engine: Engine, turn: GroupCommit, turns: TurnQueue, socket: Socket, id: number) {
    this.turns = turns;
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
    if (this.buffered > MAX_UNREAD_BYTES) this.socket.pause();
    if (this.queued || this.step()) return;
    this.queued = true;
    this.turns.add(() => {
      this.queued = !this.step();
      if (!this.queued) this.socket.resume();
      return !this.queued;
    });
  }

  /** The next whole message, if it is there. Errors: WireError. */
  private message(): Buffer | undefined {
    const [first] = this.chunks;
    const length = first === undefined ? undefined : messageLength(first);
    // Chunks of a long message are joined once, when it is complete.
    if (length === undefined ? this.chunks.length < 2 : this.buffered < length) return undefined;
    const all = this.chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.chunks);
    const end = length ?? messageLength(all);
    if (end === undefined || all.length < end) {
      this.chunks = [all];
      return undefined;
    }
    this.chunks = all.length === end ? [] : [all.subarray(end)];
    this.buffered -= end;
    return all.subarray(0, end);
  }

  /** Does a slice of the command at hand, or of the next one; true when there is nothing left to do. */
  private step(): boolean {
    try {
      const message = this.current === undefined ? this.message() : undefined;
      if (message !== undefined) this.current = this.begin(message);
      else if (this.current === undefined) return true;
      if (this.current !== undefined && this.advance(this.current)) this.current = undefined;
      return this.current === undefined && this.chunks.length === 0;
    } catch (error) {
      if (!(error instanceof WireError) && !isOutOfBounds(error)) throw error;
      this.socket.destroy();
      return true;
    }
  }

  private begin(message: Buffer): Running | undefined {
    let request: Request;
    try {
      request = parseMessage(message);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.send({ requestId: message.readInt32LE(4), opcode: message.readInt32LE(12) }, errorReply(error));
      return undefined;
    }
    const { command } = request;
    const db = command["$db"];
    const budget = new Budget(this.engine.held);
    const slices = answer({
      engine: this.engine,
      command,
      db: typeof db === "string" ? db : "",
      sequences: request.sequences,
      now: this.engine.now(),
      connectionId: this.id,
      budget,
    });
    return { request, budget, slices };
  }

  /** Does one slice; true when the command has been answered. */
  private advance({ request, budget, slices }: Running): boolean {
    const answered = (body: Uint8Array): void => {
      if (request.wantsReply) this.commits.after((failure) => this.send(request, failure ?? body));
    };
    if (this.socket.destroyed && !writes(request.command)) {
      // Nobody waits for it.
      this.commits.run(() => slices.return(new Uint8Array()));
      return true;
    }
    budget.resume();
    try {
      const step = this.commits.run(() => slices.next());
      if (step.done === true) answered(step.value);
      return step.done === true;
    } catch (error) {
      if (error instanceof ConnectionDropped) this.socket.destroy();
      else answered(this.commits.refusal(error));
      return true;
    }
  }

  private send(request: Pick<Request, "requestId" | "opcode">, body: Uint8Array): void {
    if (this.socket.destroyed) return;
    this.socket.write(frameReply(request, body));
    if (this.socket.writableLength > MAX_UNSENT_BYTES) this.socket.pause();
  }
}
