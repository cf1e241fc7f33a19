import { personOf, type Call } from "../exchange/call.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createSender, type Outgoing } from "./callback-sender.ts";

/** A report to the service: how the ledger names it, and the signed request. `sign` is called for each copy; a forged one is the same with a wrong signature. */
export interface Report {
  what: string;
  status: string | undefined;
  sequence?: string | undefined;
  url: string;
  sign(forged: boolean): Outgoing;
}

/** Reports to the service and documents asked of it, with whatever faults were asked for. */
export interface Reporter {
  /** Reports of one call go one after the other; a delayed one goes on its own, so that later ones overtake it. */
  report(call: Call, report: Report): void;
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
export interface ReporterParts {
  ledger: Ledger;
  faults: Faults;
}

/** Ready to report. */
export function createReporter({ ledger, faults }: ReporterParts): Reporter {
  const sender = createSender();
  const lastReport = new WeakMap<Call, Promise<void>>();
  const whose = ({ order: { sid, to, from } }: Call) => ({ call_sid: sid, to, from });

  const send = async (call: Call, { what, status, sequence, url, sign }: Report): Promise<void> => {
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
    report(call, report) {
      const delay = faults.take("delay_callbacks", personOf(call));
      if (delay) {
        void sender.pause(delay.seconds * 1000).then(() => send(call, report));
        return;
      }
      lastReport.set(
        call,
        (lastReport.get(call) ?? Promise.resolve()).then(() => send(call, report)),
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
