import { behaviourOf } from "../../people/behaviours.ts";
import type { Call } from "./call.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { SimTime } from "./simulated-time.ts";

/** A bridged leg rings and stays answered this long, simulated ms. */
const BRIDGE_RING_MS = 2_000;
const BRIDGE_ANSWERED_MS = 5_000;

/** Speaks to the end, or until the call goes elsewhere. */
export async function playToEnd({ leg: { voice } }: Call, leave: AbortSignal, speak: () => void): Promise<void> {
  const cut = (): void => {
    voice.interrupt();
  };
  leave.addEventListener("abort", cut, { once: true });
  speak();
  await voice.drained();
  leave.removeEventListener("abort", cut);
}

/** What became of a bridged leg; `seconds`: how long it talked. */
export interface Bridged {
  status: "completed" | "busy" | "no-answer" | "failed";
  seconds: number;
}

/** A bridged leg, as far as the ledger needs it: it rings, is answered for a while and ends. */
export async function bridge(
  { time, ledger }: { time: SimTime; ledger: Ledger },
  call: Call,
  leg: { number: string; sid: string },
  leave: AbortSignal,
): Promise<Bridged> {
  const { sid, to, from } = call.order;
  const { line } = behaviourOf(leg.number);
  await time.wait(BRIDGE_RING_MS, leave);
  const status =
    line === "busy"
      ? "busy"
      : line === "ignores"
        ? "no-answer"
        : line === "answers" || line === "ignores_first"
          ? "completed"
          : "failed";
  ledger.write({ kind: "dial", call_sid: sid, to, from, number: leg.number, leg_sid: leg.sid, status });
  if (status === "completed") await time.wait(BRIDGE_ANSWERED_MS, leave);
  return { status, seconds: status === "completed" ? Math.round(BRIDGE_ANSWERED_MS / 1000) : 0 };
}
