import { behaviourOf } from "../../people/behaviours.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Callbacks } from "./callbacks.ts";
import type { AmdParams } from "./params.ts";
import type { TwilioCall } from "./twilio-call.ts";

/** A person's greeting is short, and silence follows: Twilio knows after about this long, simulated ms. */
const HUMAN_AFTER_MS = 1_800;

/** What detection will find and when, simulated ms after the answer. Pure. */
export function amdVerdict({ call }: TwilioCall, amd: AmdParams): { answeredBy: string; afterMs: number } {
  const { machine } = call;
  const found = machine
    ? amd.mode === "Enable"
      ? { answeredBy: "machine_start", afterMs: machine.startsMs + amd.speechThresholdMs }
      : { answeredBy: "machine_end_beep", afterMs: machine.beepEndsMs }
    : behaviourOf(call.order.to).temper === "silent"
      ? { answeredBy: "unknown", afterMs: amd.silenceTimeoutMs }
      : { answeredBy: "human", afterMs: HUMAN_AFTER_MS };
  return found.afterMs > amd.timeoutMs ? { answeredBy: "unknown", afterMs: amd.timeoutMs } : found;
}

/** Listens who answered, reports it, and resolves when it is known or the call is over. */
export async function detect(
  twilioCall: TwilioCall,
  amd: AmdParams,
  parts: { ledger: Ledger; callbacks: Callbacks },
): Promise<void> {
  const { sid, to, from } = twilioCall.call.order;
  const { answeredBy, afterMs } = amdVerdict(twilioCall, amd);
  if (!(await twilioCall.call.leg.time.wait(afterMs, twilioCall.call.over))) return;
  twilioCall.answeredBy = answeredBy;
  parts.ledger.write({ kind: "amd", call_sid: sid, to, from, answered_by: answeredBy });
  if (amd.async) parts.callbacks.amd(twilioCall, answeredBy, afterMs);
}
