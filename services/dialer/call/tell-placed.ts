import type { PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import type { DialerParts } from "../deps.ts";
import { isLive } from "./call-state-machine.ts";
import { isSession, type CallDoc } from "./calls.model.ts";

/**
 * How long after the carrier took a call its lead is told. Most phones ring by then, which is told by the same write; and what was answered or is over is told by the write of that. So a
 * call costs its lead one write less, mostly, than if each were told at once.
 */
export const TOLD_AFTER_MS = 3000;

/** The call as its lead may not have been told of it yet, with the address of its recording; undefined: no carrier took it for us, or it is a session's. */
export function placedOf(call: CallDoc, recording_url?: string): PlacedCall | undefined {
  // its first callback may come before the carrier's answer
  const { carrier_call_id: call_id, created_at, placed_at = created_at, ringing_at } = call;
  if (call_id === undefined || call.direction === "INBOUND" || isSession(call)) return undefined;
  return {
    call_id,
    placed_at: placed_at.toISOString(),
    ringing_at: ringing_at?.toISOString() ?? null,
    ...(recording_url === undefined ? {} : { recording_url }),
  };
}

/** Whether the call is so new that `tellPlaced` has yet to come. */
export const isUntold = ({ placed_at }: CallDoc, now: Date): boolean =>
  placed_at !== undefined && now.getTime() - placed_at.getTime() < TOLD_AFTER_MS;

/** Tells the lead of its call, by a write of its own. Throws when leads can't be reached. */
export async function notePlaced({ bus }: Pick<DialerParts, "bus">, call: CallDoc, placed: PlacedCall): Promise<void> {
  const { call_id, placed_at, ringing_at, recording_url } = placed;
  await bus.call("leads.annotate", {
    lead_id: call.lead_id,
    claim_no: call.claim_no,
    call_id,
    call_initiated_time: placed_at,
    ...(ringing_at === null ? {} : { ringing_at }),
    ...(recording_url === undefined ? {} : { recording_url }),
  });
}

/**
 * Waits, or until this process leaves, then tells the lead of its call, unless its answer or its end has or will. Where the process dies before, those tell of it.
 */
export async function tellPlaced(
  { bus, calls, clock, leaving }: Pick<DialerParts, "bus" | "calls" | "clock" | "leaving">,
  ref: string,
): Promise<void> {
  await clock.wait(TOLD_AFTER_MS, leaving);
  const call = await calls.find(ref);
  const placed = call && isLive(call) && call.holder === undefined ? placedOf(call) : undefined;
  if (call && placed !== undefined) await notePlaced({ bus }, call, placed);
}
