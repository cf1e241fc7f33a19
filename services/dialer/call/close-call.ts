import { errorForLog } from "../../../shared/process/log.ts";
import { attemptKey, callKey, errorCodeOf } from "../../../shared/tracing/spans.ts";
import { close } from "./call-state-machine.ts";
import type { CallDoc } from "./calls.model.ts";
import { nextPricePoll } from "../billing/charge.ts";
import { factsOf } from "./call-facts.ts";
import { addressOf, afterCall } from "../recordings/expect-recording.ts";
import { settleSpend } from "../spend/spend-settlement.ts";
import { logCall } from "./call-log.ts";
import { placedOf } from "./tell-placed.ts";
import type { DialerParts } from "../deps.ts";

const attemptOf = ({ lead_id, claim_no }: CallDoc) => ({ lead_id, claim_no });

/** Signals the conversation's node to stop; best effort, for a dead node gets no signal. */
export async function signalConversation(
  deps: DialerParts,
  call: CallDoc,
  reason: "machine" | "beep" | "carrier_ended" | "window_closed",
): Promise<void> {
  if (call.holder === undefined) return;
  try {
    await deps.bus.call("conversation.stop", { call_ref: call._id, reason }, { node: call.holder });
  } catch (error) {
    deps.log.warn(
      { call_ref: call._id, holder: call.holder, error: errorForLog(error) },
      "the node that leads the talk could not be told to stop",
    );
  }
}

/** The lead's side of an end: released, settled, or, where a conversation has the lease, only signalled. */
async function settleLead(deps: DialerParts, call: CallDoc): Promise<void> {
  const baton = attemptOf(call);
  if (call.ended === "not_dialled") {
    const { due_at, reason, fault }: NonNullable<CallDoc["release"]> = call.release ?? {
      due_at: deps.clock.now(),
      reason: "nothing was dialled",
    };
    await deps.bus.call("leads.release", {
      ...baton,
      due_at: new Date(due_at).toISOString(),
      reason,
      ...(fault === undefined ? {} : { fault }),
    });
    return;
  }
  if (call.holder === undefined) {
    const placed = placedOf(call, addressOf(deps, call));
    await deps.bus.call("leads.settle", { ...baton, facts: factsOf(call, null), ...(placed && { placed }) });
    return;
  }
  await signalConversation(deps, call, "carrier_ended");
  const { call_id, ended_at } = factsOf(call, null);
  await deps.bus.call("leads.annotate", {
    ...baton,
    ...(call_id === null ? {} : { call_id }),
    ...(ended_at === null ? {} : { call_end_time: ended_at }),
  });
}

/** Settles the lead, then releases the number slot, then counts what the call took. Idempotent. Throws if any of them is unreachable; the call stays scheduled for retry. */
export async function closeCall(deps: DialerParts, call: CallDoc): Promise<void> {
  if (call.state !== "ENDED" || call.closed_at) return;
  await afterCall(deps, call);
  await settleLead(deps, call);
  await deps.peers.releaseSlot(call._id);
  const priced_at = nextPricePoll(deps, call);
  await settleSpend(deps, call, priced_at !== null);
  await deps.calls.apply(close(call._id, deps.clock.now(), priced_at));
}

/** The call in its lead's trace. */
function traceCall({ traces, clock }: DialerParts, call: CallDoc): void {
  const { _id, lead_id, claim_no, ended, error } = call;
  traces.span(call.order?.trace, {
    name: "call",
    key: callKey(_id),
    parent: attemptKey(_id),
    began: call.created_at,
    ended: call.ended_at ?? clock.now(),
    attributes: {
      lead_id,
      claim_no,
      provider: call.provider,
      ended,
      answered: call.answered_at !== undefined,
      machine: call.machine === undefined ? undefined : call.machine !== "human",
    },
    error: errorCodeOf(error),
  });
}

/** After the transition that ended a call: announces the end and closes the call. */
export async function finishCall(deps: DialerParts, call: CallDoc): Promise<void> {
  logCall(deps, "call.ended", call, "the call ended", {
    ended: call.ended,
    cause: call.cause,
    hang_up: call.hang_up,
  });
  const ended = { provider: call.provider ?? "", answered: call.answered_at === undefined ? "no" : "yes" };
  deps.metrics.count("callagent_calls_ended_total", ended);
  traceCall(deps, call);
  deps.bus.broadcast("call.ended", { call_ref: call._id });
  await closeCall(deps, call);
}
