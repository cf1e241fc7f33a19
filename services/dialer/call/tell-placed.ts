import type { PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import type { DialerParts } from "../deps.ts";
import { isLive } from "./call-state-machine.ts";
import { isSession, type CallDoc } from "./calls.model.ts";

/**
 * How long after the carrier took a call its lead is told. Most phones ring by then, which is told by the same write; and what was answered or is over is told by the write of that. So a
 * call costs its lead one write less, mostly, than if each were told at once.
 */
export const TOLD_AFTER_MS = 3000;

/** The call as its lead may not have been told of it yet; undefined: no carrier took it for us, or it is a session's. */
export function placedOf(call: CallDoc): PlacedCall | undefined {
  // its first callback may come before the carrier's answer
  const { carrier_call_id: call_id, created_at, placed_at = created_at, ringing_at } = call;
  if (call_id === undefined || call.direction === "INBOUND" || isSession(call)) return undefined;
  return { call_id, placed_at: placed_at.toISOString(), ringing_at: ringing_at?.toISOString() ?? null };
}

/** Whether the call is so new that `tellPlaced` has yet to come. */
export const isUntold = ({ placed_at }: CallDoc, now: Date): boolean =>
  placed_at !== undefined && now.getTime() - placed_at.getTime() < TOLD_AFTER_MS;

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
  if (!call || placed === undefined) return;
  await bus.call("leads.annotate", {
    lead_id: call.lead_id,
    claim_no: call.claim_no,
    call_id: placed.call_id,
    call_initiated_time: placed.placed_at,
    ...(placed.ringing_at === null ? {} : { ringing_at: placed.ringing_at }),
  });
}
