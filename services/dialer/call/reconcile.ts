import type { Verdict } from "../../../shared/contracts/dialer.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/log.ts";
import { cut, isLive, tend } from "./call-state-machine.ts";
import type { CallDoc } from "./calls.model.ts";
import { ended } from "./close-call.ts";
import { conversationLost, factsOf } from "./call-facts.ts";
import { cutLine } from "./call-control.ts";
import { look } from "./poll-carrier.ts";
import type { Works } from "../deps.ts";

/** Lease of a lead whose carrier can't be asked at the moment. */
const SHORT_LEASE_SECONDS = 10;

const live = (lease_seconds: number): Verdict => ({ verdict: "live", lease_seconds });

/** Facts of an ended call; where a node held the talk and went silent, what it left behind goes with them. */
async function endedVerdict(w: Works, call: CallDoc): Promise<Verdict> {
  if (call.ended === "not_dialled") return { verdict: "never_dialled" };
  if (call.holder === undefined) return { verdict: "ended", facts: factsOf(call, null) };
  const { talk } = await w.bus.call("conversation.salvage", { call_ref: call._id });
  const facts = factsOf(call, talk);
  return { verdict: "ended", facts: { ...facts, error: facts.error ?? conversationLost() } };
}

/** A talk whose holder went silent: the phone must not stay in a dead conversation. */
async function cutOrphan(w: Works, call: CallDoc): Promise<CallDoc | null> {
  await cutLine(w, call);
  const over = await w.calls.run(cut(call._id, "completed", conversationLost(), w.clock.now()));
  if (over) w.background.run("closing a call that lost its conversation", () => ended(w, over));
  return over ?? w.calls.find(call._id);
}

/**
 * What became of an attempt whose holder went silent. Where nothing was dialled a tombstone makes sure that nothing will be.
 * While the carrier can't be asked the answer is "live" with a short lease, never a guess.
 */
export async function reconcile(w: Works, lead_id: string, claim_no: number): Promise<Verdict> {
  const ref = callRef(lead_id, claim_no);
  const found = await w.calls.findOrVoid(ref, { lead_id, claim_no }, w.clock.now());
  if (found.state === "VOID") {
    w.background.run("freeing the number of an attempt that was never dialled", () => w.together.letLineGo(ref));
    return { verdict: "never_dialled" };
  }
  let call: CallDoc | null = found;
  if (isLive(found)) {
    try {
      await look(w, found);
      call = await w.calls.find(ref);
      if (call && isLive(call) && call.holder !== undefined) call = await cutOrphan(w, call);
    } catch (error) {
      w.log.warn(
        { call_ref: ref, error: errorForLog(error) },
        "the carrier can't be asked about a call whose holder went silent; asking again soon",
      );
      return live(SHORT_LEASE_SECONDS);
    }
  }
  if (!call || isLive(call)) {
    await w.calls.run(tend(ref, w.nodeId));
    return live(w.env.LEASE_SECONDS);
  }
  return endedVerdict(w, call);
}
