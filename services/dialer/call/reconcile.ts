import type { Verdict } from "../../../shared/contracts/dialer.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { endLocally, isLive, ownLease } from "./call-state-machine.ts";
import type { CallDoc } from "./calls.model.ts";
import { finishCall } from "./close-call.ts";
import { conversationLost, factsOf } from "./call-facts.ts";
import { hangUpAtCarrier } from "./call-control.ts";
import { pollCall } from "./poll-carrier.ts";
import type { DialerParts } from "../deps.ts";

/** Lease of a lead whose carrier can't be asked at the moment. */
const SHORT_LEASE_SECONDS = 10;

const live = (lease_seconds: number): Verdict => ({ verdict: "live", lease_seconds });

/** Facts of an ended call; where the conversation's node went silent, the facts it left are included. */
async function endedVerdict(deps: DialerParts, call: CallDoc): Promise<Verdict> {
  if (call.ended === "not_dialled") return { verdict: "never_dialled" };
  if (call.holder === undefined) return { verdict: "ended", facts: factsOf(call, null) };
  const { talk } = await deps.bus.call("conversation.salvage", { call_ref: call._id });
  const facts = factsOf(call, talk);
  return { verdict: "ended", facts: { ...facts, error: facts.error ?? conversationLost() } };
}

/** A conversation whose node went silent: hang up so that the caller is not left in silence. */
async function endOrphan(deps: DialerParts, call: CallDoc): Promise<CallDoc | null> {
  await hangUpAtCarrier(deps, call);
  const over = await deps.calls.apply(endLocally(call._id, "completed", conversationLost(), deps.clock.now()));
  if (over) deps.background.run("closing a call that lost its conversation", () => finishCall(deps, over));
  return over ?? deps.calls.find(call._id);
}

/**
 * Result of an attempt whose lease owner went silent. Where nothing was dialled a tombstone guarantees that nothing will be.
 * While the carrier can't be asked the answer is "live" with a short lease, never a guess.
 */
export async function reconcile(deps: DialerParts, lead_id: string, claim_no: number): Promise<Verdict> {
  const ref = callRef(lead_id, claim_no);
  const found = await deps.calls.findOrVoid(ref, { lead_id, claim_no }, deps.clock.now());
  if (found.state === "VOID") {
    deps.background.run("freeing the number of an attempt that was never dialled", () =>
      deps.peers.releaseSlotEventually(ref),
    );
    return { verdict: "never_dialled" };
  }
  let call: CallDoc | null = found;
  if (isLive(found)) {
    try {
      await pollCall(deps, found);
      call = await deps.calls.find(ref);
      if (call && isLive(call) && call.holder !== undefined) call = await endOrphan(deps, call);
    } catch (error) {
      deps.log.warn(
        { call_ref: ref, error: errorForLog(error) },
        "the carrier can't be asked about a call whose holder went silent; asking again soon",
      );
      return live(SHORT_LEASE_SECONDS);
    }
  }
  if (!call || isLive(call)) {
    await deps.calls.apply(ownLease(ref, deps.nodeId));
    return live(deps.env.LEASE_SECONDS);
  }
  return endedVerdict(deps, call);
}
