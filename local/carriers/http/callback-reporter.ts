import { personOf, type Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createSender, type Outgoing } from "./callback-sender.ts";

/** A report to the service: how the ledger names it, and the signed request. `sign` is called for each copy; a forged one is the same with a wrong signature. */
export interface Callback {
  what: string;
  status: string | undefined;
  sequence?: string | undefined;
  url: string;
  sign(forged: boolean): Outgoing;
}

/** Reports to the service and documents asked of it, with whatever faults were asked for. */
export interface CallbackDelivery {
  /** Reports of one call go one after the other; a delayed one goes on its own, so that later ones overtake it. */
  deliver(call: Call, report: Callback): void;
  /** Asks for a document. Throws when there is no 2xx answer; `failure` is how the carrier names that. */
  fetch(
    call: Call,
    outgoing: Outgoing,
    about: { url: string; failure: string; more: Record<string, string> },
  ): Promise<string>;
  /** Cuts every request under way. */
  close(): void;
}

/** What reporting stands on. */
export interface CallbackDeps {
  ledger: Ledger;
  faults: Faults;
}

/** Ready to report. */
export function createCallbackDelivery({ ledger, faults }: CallbackDeps): CallbackDelivery {
  const sender = createSender();
  const lastDelivery = new WeakMap<Call, Promise<void>>();
  const whose = ({ order: { sid, to, from } }: Call) => ({ call_sid: sid, to, from });

  const send = async (call: Call, { what, status, sequence, url, sign }: Callback): Promise<void> => {
    const person = personOf(call);
    const facts = { kind: "callback" as const, ...whose(call), what, status, sequence, url };
    if (faults.take("lose_callbacks", person)) {
      ledger.write({ ...facts, lost: true, attempts: 0, reply: null });
      return;
    }
    if (faults.take("forge_callbacks", person)) {
      const sent = await sender.send(sign(true));
      ledger.write({
        ...facts,
        reply: sent.status,
        attempts: sent.attempts,
        forged: true,
        ...(sent.error ? { error: sent.error } : {}),
      });
    }
    const copies = faults.take("duplicate_callbacks", person) ? 2 : 1;
    for (let copy = 1; copy <= copies && !sender.closed.aborted; copy += 1) {
      const sent = await sender.send(sign(false));
      ledger.write({
        ...facts,
        reply: sent.status,
        attempts: sent.attempts,
        ...(copy > 1 ? { duplicate: true } : {}),
        ...(sent.error ? { error: sent.error } : {}),
      });
    }
  };

  return {
    deliver(call, report) {
      const delay = faults.take("delay_callbacks", personOf(call));
      if (delay) {
        void sender.pause(delay.seconds * 1000).then(() => send(call, report));
        return;
      }
      lastDelivery.set(
        call,
        (lastDelivery.get(call) ?? Promise.resolve()).then(() => send(call, report)),
      );
    },
    async fetch(call, outgoing, { url, failure, more }) {
      const sent = await sender.send(outgoing);
      ledger.write({
        kind: "fetch",
        ...whose(call),
        url,
        reply: sent.status,
        attempts: sent.attempts,
        ...more,
        ...(sent.error ? { error: sent.error } : {}),
      });
      if (sent.status === null || sent.status < 200 || sent.status > 299)
        throw new Error(
          `${failure}: ${url} gave ${sent.status === null ? (sent.error ?? "no answer") : `HTTP ${sent.status}`}`,
        );
      return sent.text;
    },
    close: () => sender.close(),
  };
}
