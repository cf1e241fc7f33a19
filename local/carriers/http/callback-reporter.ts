import { partiesOf, personOf, type Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import { createSender, type Outgoing, type Sender, type Sent } from "./callback-sender.ts";

/** A callback to the service: how the ledger names it, and the signed request. `sign` is called for each copy; a forged one is the same with a wrong signature. */
export interface Callback {
  what: string;
  status: string | undefined;
  sequence?: string | undefined;
  url: string;
  sign(forged: boolean): Outgoing;
}

/** Delivers callbacks and fetches documents, with the faults that were injected. */
export interface CallbackDelivery {
  /** Callbacks of one call go one after the other; a delayed one goes on its own, so that later ones overtake it. */
  deliver(call: Call, callback: Callback): void;
  /** Asks for a document. Throws when there is no 2xx answer; `failure` is how the carrier names that. */
  fetch(
    call: Call,
    outgoing: Outgoing,
    about: { url: string; failure: string; more: Record<string, string> },
  ): Promise<string>;
  /** Cuts every request under way. */
  close(): void;
}

/** What delivery needs of the simulator. */
export interface CallbackDeps {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
}

/** Ready to deliver. */
export const createCallbackDelivery = (deps: CallbackDeps): CallbackDelivery => new FaultyDelivery(deps);

class FaultyDelivery implements CallbackDelivery {
  readonly #deps: CallbackDeps;
  readonly #sender: Sender;
  readonly #last = new WeakMap<Call, Promise<void>>();

  constructor(deps: CallbackDeps) {
    this.#deps = deps;
    this.#sender = createSender(deps.time.clock);
  }

  deliver(call: Call, callback: Callback): void {
    const delay = this.#deps.faults.take("delay_callbacks", personOf(call));
    if (delay) {
      void this.#sender.pause(delay.seconds * 1000).then(() => this.#send(call, callback));
      return;
    }
    const before = this.#last.get(call) ?? Promise.resolve();
    this.#last.set(
      call,
      before.then(() => this.#send(call, callback)),
    );
  }

  async fetch(
    call: Call,
    outgoing: Outgoing,
    { url, failure, more }: { url: string; failure: string; more: Record<string, string> },
  ): Promise<string> {
    const sent = await this.#sender.send(outgoing);
    this.#deps.ledger.write({
      kind: "fetch",
      ...partiesOf(call),
      url,
      ...replyFacts(sent),
      ...more,
      ...errorFacts(sent),
    });
    if (sent.status === null || sent.status < 200 || sent.status > 299)
      throw new Error(
        `${failure}: ${url} gave ${sent.status === null ? (sent.error ?? "no answer") : `HTTP ${sent.status}`}`,
      );
    return sent.text;
  }

  close(): void {
    this.#sender.close();
  }

  async #send(call: Call, { what, status, sequence, url, sign }: Callback): Promise<void> {
    const { faults, ledger } = this.#deps;
    const person = personOf(call);
    const facts = { kind: "callback" as const, ...partiesOf(call), what, status, sequence, url };
    if (faults.take("lose_callbacks", person)) {
      ledger.write({ ...facts, lost: true, attempts: 0, reply: null });
      return;
    }
    if (faults.take("forge_callbacks", person)) {
      const sent = await this.#sender.send(sign(true));
      ledger.write({ ...facts, ...replyFacts(sent), forged: true, ...errorFacts(sent) });
    }
    const copies = faults.take("duplicate_callbacks", person) ? 2 : 1;
    for (let copy = 1; copy <= copies && !this.#sender.closed.aborted; copy += 1) {
      const sent = await this.#sender.send(sign(false));
      ledger.write({ ...facts, ...replyFacts(sent), ...(copy > 1 ? { duplicate: true } : {}), ...errorFacts(sent) });
    }
  }
}

const replyFacts = ({ status, attempts }: Sent) => ({ reply: status, attempts });
const errorFacts = ({ error }: Sent) => (error ? { error } : {});
