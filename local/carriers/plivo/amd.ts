import type { Exchange } from "../exchange/exchange.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Callbacks } from "./callbacks.ts";
import { CAUSES } from "./hangup-causes.ts";
import type { PlivoCall } from "./plivo-call.ts";

/** A voicemail greeting goes on; the detector is sure this long after it began, simulated ms. A person's greeting is short. */
const MACHINE_KNOWN_AFTER_MS = 2_500;
const PERSON_KNOWN_AFTER_MS = 1_800;

/** What detection needs. */
export interface AmdDeps {
  exchange: Exchange;
  ledger: Ledger;
  callbacks: Callbacks;
}

/** What detection finds, when it is known, as the request for a document tells it. Only a machine is reported; with an address of its own that happens beside the document. */
export async function detect(
  { exchange, ledger, callbacks }: AmdDeps,
  plivoCall: PlivoCall,
): Promise<Record<string, string>> {
  const {
    call,
    params: { amd },
  } = plivoCall;
  if (!amd || call.direction === "inbound") return {};
  const knownMs = call.machine ? call.machine.startsMs + MACHINE_KNOWN_AFTER_MS : PERSON_KNOWN_AFTER_MS;
  if (!(await call.leg.time.wait(Math.min(knownMs, amd.timeMs), call.over))) return {};
  if (call.machine === null || knownMs > amd.timeMs) return { Machine: "false" };
  ledger.write({
    kind: "amd",
    call_sid: call.order.sid,
    to: call.order.to,
    from: call.order.from,
    answered_by: "machine",
  });
  callbacks.machine(plivoCall);
  if (amd.hangUp) {
    plivoCall.cause = CAUSES.machine;
    exchange.end(call, "completed", "carrier");
  }
  return { Machine: "true" };
}
