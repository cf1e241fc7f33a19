import { errorForLog } from "../../../shared/process/log.ts";
import { handleOf } from "../call/calls.model.ts";
import { progress } from "../call/call-state-machine.ts";
import type { DialerParts } from "../deps.ts";

/**
 * Whether voicemail answered a call whose conversation can't tell. The carrier's callback may have met a gateway that restarted, and not every carrier sends it
 * again: where none has come, the carrier's list is looked into. Null: nobody says.
 */
export async function missedVerdict(deps: DialerParts, ref: string): Promise<boolean | null> {
  const call = await deps.calls.find(ref);
  if (call?.machine !== undefined) return call.machine === "machine";
  const handle = call ? handleOf(call) : null;
  if (call?.provider === undefined || handle === null) return null;
  const carrier = deps.carriers.of(call.provider);
  if (!carrier.capabilities.machine_detection) return null;
  try {
    const seen = await carrier.fetch(handle);
    const step = seen?.progress.find(({ type }) => type === "machine");
    if (step?.type !== "machine") return null;
    const now = deps.clock.now();
    await deps.calls.apply(progress(ref, step, now, now));
    return step.verdict === "machine";
  } catch (error) {
    deps.log.warn({ call_ref: ref, error: errorForLog(error) }, "a carrier can't be asked who answered a call");
    return null;
  }
}
