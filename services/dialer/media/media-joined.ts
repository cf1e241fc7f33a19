import type { PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import { endsForVoicemail, isLive, joinMedia } from "../call/call-state-machine.ts";
import { isSession, type CallDoc } from "../call/calls.model.ts";
import { endCall } from "../call/call-control.ts";
import { addressOf, expectRecording } from "../recordings/expect-recording.ts";
import { dueAfterJoin } from "../call/call-deadlines.ts";
import { logCall } from "../call/call-log.ts";
import { notePlaced, placedOf } from "../call/tell-placed.ts";
import type { DialerParts } from "../deps.ts";

/** The answer to a conversation node when media joined. */
export interface MediaJoinedAnswer {
  go: boolean;
  reason: string | null;
  answered_at: string | null;
  machine: boolean;
  beep: boolean;
  tells_beep: boolean;
  placed?: PlacedCall;
}

const no = (reason: string): MediaJoinedAnswer => ({
  go: false,
  reason,
  answered_at: null,
  machine: false,
  beep: false,
  tells_beep: false,
});
const withPlaced = (placed: PlacedCall | undefined) => (placed === undefined ? {} : { placed });

/** AMD results from before the conversation joined go with the answer: they reached no node. */
const yes = (deps: DialerParts, call: CallDoc): MediaJoinedAnswer => ({
  ...withPlaced(placedOf(call, addressOf(deps, call))),
  go: true,
  reason: null,
  answered_at: call.answered_at?.toISOString() ?? null,
  machine: call.machine === "machine",
  beep: call.beep_at !== undefined,
  tells_beep: call.provider !== undefined && deps.carriers.of(call.provider).capabilities.beep,
});

const isHeldBy = (call: CallDoc, node: string): boolean =>
  isLive(call) && call.holder === node && call.hang_up === undefined;

/** Why no conversation may run on a call, in one word. Pure. */
export function refusalReason(call: CallDoc, now: Date): string {
  if (!isLive(call)) return "ended";
  if (call.machine === "machine" && endsForVoicemail(call)) return "machine";
  if (call.hang_up !== undefined) return call.hang_up;
  if (call.holder !== undefined) return "taken";
  return call.dial_until !== undefined && call.dial_until <= now ? "window_closed" : "ended";
}

/** The lead's record names the room of a session that was joined, and when. */
async function tellOfSession(
  deps: DialerParts,
  { lead_id, claim_no, carrier_call_id, joined_at }: CallDoc,
): Promise<void> {
  if (carrier_call_id === undefined || joined_at === undefined) return;
  const call_initiated_time = joined_at.toISOString();
  await deps.bus.call("leads.annotate", { lead_id, claim_no, call_id: carrier_call_id, call_initiated_time });
}

/** The fence at answer: hands the lease to the node whose media joined, or refuses with the reason and ends the call. The same node may ask again. `tells_placed`: it tells the lead of its call. */
export async function mediaJoined(
  deps: DialerParts,
  ref: string,
  node: string,
  tells_placed: boolean,
): Promise<MediaJoinedAnswer> {
  const call = await deps.calls.find(ref);
  if (!call) return no("unknown_call");
  if (isHeldBy(call, node)) return yes(deps, call);

  const now = deps.clock.now();
  const moved = await deps.calls.apply(joinMedia(ref, node, now, dueAfterJoin(now, call.order?.max_call_seconds ?? 0)));
  if (moved) {
    if (call.state !== "ANSWERED") logCall(deps, "call.answered", moved, "somebody or something answered");
    const placed = tells_placed ? undefined : placedOf(moved, addressOf(deps, moved));
    if (placed) deps.background.run("telling of a call", () => notePlaced(deps, moved, placed));
    if (isSession(moved)) deps.background.run("telling of a session", () => tellOfSession(deps, moved));
    deps.background.run("expecting a recording", () => expectRecording(deps, moved));
    return yes(deps, moved);
  }
  const after = (await deps.calls.find(ref)) ?? call;
  // the request of this node before, whose answer was lost, was still under way
  if (isHeldBy(after, node)) return yes(deps, after);
  const reason = refusalReason(after, now);
  if (reason === "machine" || reason === "window_closed")
    deps.background.run("ending a call that may not be talked on", () => endCall(deps, ref, reason));
  return no(reason);
}
