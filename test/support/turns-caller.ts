import type { Bus } from "../../shared/bus.ts";
import type { Turn, TurnReply } from "../../shared/contracts/conversation.ts";
import type { Prepared } from "./talk-world.ts";

/** The carrier's end of a call led by documents: it asks what comes next, over the bus as the dialler does. */
export class TurnsCaller {
  /** All documents in order. */
  readonly replies: TurnReply[] = [];
  readonly #bus: Bus;
  readonly #turn: Turn;

  constructor(bus: Bus, p: Prepared) {
    this.#bus = bus;
    this.#turn = {
      call_ref: p.call_ref,
      provider: "PROVIDER_TWO",
      call_id: "req-1",
      token: p.token,
      heard: null,
      digits: null,
      follows: 0,
    };
  }

  /** The phone is answered. */
  answer(): Promise<TurnReply> {
    return this.ask({});
  }
  /** The customer speaks; nothing while `words` is null. */
  says(words: string | null): Promise<TurnReply> {
    return this.ask({ token: null, heard: words, follows: this.#last });
  }
  keys(digits: string): Promise<TurnReply> {
    return this.ask({ token: null, digits, follows: this.#last });
  }

  async ask(over: Partial<Turn>): Promise<TurnReply> {
    const reply = await this.#bus.call("conversation.turn", { ...this.#turn, ...over }, { node: "services" });
    this.replies.push(reply);
    return reply;
  }

  /** Follows documents that only ask for patience, to the first that does not. */
  async through(reply: Promise<TurnReply>): Promise<TurnReply> {
    let now = await reply;
    while (now.next.kind === "again") now = await this.says(null);
    return now;
  }

  get #last(): number {
    return this.replies.at(-1)?.turn ?? 0;
  }
  /** Everything said so far. */
  get heard(): string[] {
    return this.replies.flatMap((r) => r.say.map((s) => s.text));
  }
}
