import { addressOf } from "../recordings/expect-recording.ts";
import { placedOf } from "./tell-placed.ts";
import type { Verdict } from "../../../shared/contracts/dialer.ts";
import { isFailure } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive, ownLease } from "./call-state-machine.ts";
import type { CallDoc } from "./calls.model.ts";
import { conversationLost, factsOf } from "./call-facts.ts";
import { endCall } from "./call-control.ts";
import { pollCall } from "./poll-carrier.ts";
import type { DialerParts } from "../deps.ts";

/** Lease of a lead whose carrier can't be asked at the moment. */
const SHORT_LEASE_SECONDS = 10;

const live = (lease_seconds: number): Verdict => ({ verdict: "live", lease_seconds });

/** A node that leads a conversation answers within this long, ms; it is asked so often, for one message may be lost. */
const ALIVE_MS = 2000;
const ALIVE_TRIES = 3;

/**
 * Whether the node that leads a call's conversation lives, and has that conversation or its end in hand. Its silence counts as its death only to a process that has itself had bus and
 * database for a whole lease: after an outage of either every owner is late with its lease, and most live.
 */
async function ownerOf(deps: DialerParts, call: CallDoc, holder: string): Promise<"alive" | "gone" | "unknown"> {
  for (let tries = 1; ; tries++)
    try {
      const how = { node: holder, timeout_ms: ALIVE_MS };
      return (await deps.bus.call("conversation.alive", { call_ref: call._id }, how)).alive ? "alive" : "gone";
    } catch (error) {
      deps.log.warn({ call_ref: call._id, holder, error: errorForLog(error) }, "the node of a conversation is silent");
      if (tries < ALIVE_TRIES && isFailure(error, "TIMEOUT")) continue;
      return deps.trust.trusted() ? "gone" : "unknown";
    }
}

/** The verdict where the node that leads the conversation lives, or may live; null: it is gone. */
async function withOwner(deps: DialerParts, holder: string, call: CallDoc): Promise<Verdict | null> {
  const owner = await ownerOf(deps, call, holder);
  return owner === "gone" ? null : live(owner === "alive" ? deps.env.LEASE_SECONDS : SHORT_LEASE_SECONDS);
}

/**
 * A conversation whose node is gone: its call is to end, so that the callee is not left in silence; that is owed from here on. The attempt is over
 * with the facts that its node left.
 */
async function endOrphan(deps: DialerParts, call: CallDoc): Promise<Verdict> {
  await endCall(deps, call._id, "conversation_lost");
  const { talk } = await deps.bus.call("conversation.salvage", { call_ref: call._id });
  const ended_at = deps.clock.now().toISOString();
  return {
    verdict: "ended",
    facts: { ...factsOf(call, talk), ended: "completed", ended_at, error: conversationLost() },
  };
}

/** The verdict on a call that the carrier holds live. */
async function liveVerdict(deps: DialerParts, call: CallDoc): Promise<Verdict> {
  if (call.holder === undefined) {
    await deps.calls.apply(ownLease(call._id, deps.nodeId));
    return live(deps.env.LEASE_SECONDS);
  }
  return (await withOwner(deps, call.holder, call)) ?? endOrphan(deps, call);
}

/**
 * The verdict on a call that is over. Whoever led its conversation settles the attempt with all that was said, however late; only where that node is gone
 * do the facts count that it left.
 */
async function endedVerdict(deps: DialerParts, call: CallDoc): Promise<Verdict> {
  if (call.ended === "not_dialled") return { verdict: "never_dialled" };
  const placed = placedOf(call, addressOf(deps, call));
  if (call.holder === undefined) return { verdict: "ended", facts: factsOf(call, null), ...(placed && { placed }) };
  const owned = await withOwner(deps, call.holder, call);
  if (owned) return owned;
  const { talk } = await deps.bus.call("conversation.salvage", { call_ref: call._id });
  const facts = factsOf(call, talk);
  const error = facts.error ?? conversationLost();
  return { verdict: "ended", facts: { ...facts, error }, ...(placed && { placed }) };
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
    } catch (error) {
      deps.log.warn(
        { call_ref: ref, error: errorForLog(error) },
        "the carrier can't be asked about a call whose holder went silent; asking again soon",
      );
      return live(SHORT_LEASE_SECONDS);
    }
  }
  return call === null || isLive(call) ? liveVerdict(deps, call ?? found) : endedVerdict(deps, call);
}
