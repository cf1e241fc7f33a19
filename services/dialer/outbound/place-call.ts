import { MS_PER_SECOND, plusMs } from "../../../shared/time/clock.ts";
import type { Prepared } from "../../../shared/contracts/conversation.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { pollAgain, notDialled, place, refuse } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import {
  callbackBase,
  DIAL_TIMEOUT_MS,
  type CarrierPort,
  type DialAnswer,
  type DialRequest,
} from "../carriers/carrier-port.ts";
import { finishCall } from "../call/close-call.ts";
import type { HeldPermit } from "./dial-permit.ts";
import type { Release } from "./early-stop.ts";
import { hangUpAtCarrier } from "../call/call-control.ts";
import { isOwnRecording, targetOf } from "../media/media-target.ts";
import {
  CARRIER_LIMIT_MARGIN_SECONDS,
  dueAfterPlacing,
  INTENT_DEADLINE_MS,
  FIND_EVERY_MS,
  ringSeconds,
} from "../call/call-deadlines.ts";
import { tellPlaced } from "../call/tell-placed.ts";
import { logCall } from "../call/call-log.ts";
import type { DialerParts } from "../deps.ts";

/** What came of a request that left, or that the carrier's side of the line refused. */
type SentAnswer = Exclude<DialAnswer, { kind: "not_sent" }>;

/** What a call is placed with: the address of its conversation, its permit, and the monotonic instant from which its intent counts. */
export interface Clearance {
  media: Prepared;
  permit: HeldPermit;
  intentMs: number;
}

/** The carrier's own client gives up at DIAL_TIMEOUT_MS; this much later we do, whatever it does. */
const DIAL_TIMEOUT_MARGIN_MS = 1000;
/** K5 lies in the middle of a request: this long after its first byte has left the carrier has it, and no answer is known. */
const K5_AFTER_MS = 400;

/** Why the request may not go out any more, at the last moment before it would; null: it may. */
function tooLate(deps: DialerParts, { intentMs }: Clearance, ring_seconds: number): string | null {
  if (deps.draining.aborted) return "the dialer is shutting down";
  if (deps.clock.monotonicMs() - intentMs > INTENT_DEADLINE_MS)
    return "the process stood still between the intent and the dial";
  return ring_seconds === 0 ? "the calling window closed" : null;
}

function requestOf(
  deps: Pick<DialerParts, "env">,
  order: DialJob,
  call: CallDoc,
  media: Prepared,
  ring_seconds: number,
  mayLeave: () => boolean,
): DialRequest {
  return {
    call_ref: call._id,
    to: order.to,
    from: order.from,
    ring_seconds,
    talk_seconds: order.max_call_seconds + CARRIER_LIMIT_MARGIN_SECONDS,
    media: targetOf(media),
    record: order.record && !isOwnRecording(deps, call),
    await_beep: order.voicemail_action === "leave_message",
    callback_base: callbackBase(deps.env, order.provider),
    may_leave: mayLeave,
  };
}

/** K5: the process dies once the request has left. */
async function dieInTheMiddle(deps: DialerParts, carrier: CarrierPort, request: DialRequest): Promise<DialAnswer> {
  const left = Promise.withResolvers<void>();
  const may_leave = (): boolean => {
    const may = request.may_leave?.() ?? true;
    if (may) left.resolve();
    return may;
  };
  const asked = carrier.dial({ ...request, may_leave });
  await Promise.race([left.promise, asked]);
  await deps.clock.wait(K5_AFTER_MS);
  crashPoint(deps.env, "K5");
  return asked;
}

/** Asks the carrier once, within the time a dial request may take. */
async function askOnce(deps: DialerParts, order: DialJob, request: DialRequest): Promise<DialAnswer> {
  const answered = new AbortController();
  const overtime = async (): Promise<DialAnswer> => {
    await deps.clock.wait(DIAL_TIMEOUT_MS + DIAL_TIMEOUT_MARGIN_MS, answered.signal);
    return { kind: "uncertain", reason: "the carrier did not answer in time" };
  };
  try {
    const carrier = deps.carriers.of(order.provider);
    const asked = deps.env.CRASH_AT === "K5" ? dieInTheMiddle(deps, carrier, request) : carrier.dial(request);
    return await Promise.race([asked, overtime()]);
  } finally {
    answered.abort();
  }
}

async function recordPlaced(deps: DialerParts, call: CallDoc, call_id: string, placed_at: Date): Promise<void> {
  const due_at = dueAfterPlacing(deps.clock.now(), deps.env.RING_TIMEOUT_SECONDS, call.dial_until ?? null);
  const moved = await deps.calls.apply(place(call._id, call_id, placed_at, due_at));
  if (moved?.hang_up !== undefined) await hangUpAtCarrier(deps, moved); // the hang-up was requested while the carrier was being asked
  deps.background.run("telling of a placed call", () => tellPlaced(deps, call._id));
}

/** Writes down what became of the request, answered at `now`, and ends the attempt where it is over. */
async function record(deps: DialerParts, order: DialJob, call: CallDoc, answer: SentAnswer, now: Date): Promise<void> {
  if (answer.kind === "placed") {
    await recordPlaced(deps, call, answer.call_id, now);
    return;
  }
  if (answer.kind === "uncertain") {
    await deps.calls.apply(pollAgain(call._id, plusMs(now, FIND_EVERY_MS)));
    return;
  }
  const move =
    answer.kind === "not_placed"
      ? notDialled(
          call._id,
          {
            due_at: deps.breakers.openUntil(order.provider) ?? now,
            reason: deps.breakers.reasonOf(order.provider, answer.reason, answer),
          },
          now,
        )
      : refuse(
          call._id,
          answer.invalid_number ? "invalid_number" : "failed",
          { code: "CALL_REFUSED", carrier_code: answer.carrier_code, message: answer.reason },
          now,
        );
  const over = await deps.calls.apply(move);
  if (over) await finishCall(deps, over);
}

/** Asks the carrier once, at an instant that the permits allow; a request that was held back at the last moment, as they had run out, is asked with others. What the lead is released for where it may not be asked. */
async function askInTime(
  deps: DialerParts,
  order: DialJob,
  call: CallDoc,
  clear: Clearance,
): Promise<SentAnswer | Release> {
  for (let tries = 0; ; tries++) {
    const ends = await clear.permit.ready();
    const ring_seconds = ringSeconds(deps.clock.now(), deps.env.RING_TIMEOUT_SECONDS, call.dial_until ?? null);
    const late = tooLate(deps, clear, ring_seconds);
    if (late !== null) return { kind: "release", due_at: deps.clock.now(), reason: late };
    if (ends) return ends;
    crashPoint(deps.env, "K4");
    // a request that was held back is not said twice: the phone is dialled once
    if (tries === 0) logCall(deps, "call.dialling", call, "dialling", { claim_no: order.claim_no });
    const mayLeave = (): boolean => tooLate(deps, clear, ring_seconds) === null && clear.permit.mayLeave();
    const request = requestOf(deps, order, call, clear.media, ring_seconds, mayLeave);
    const leftAt = deps.clock.now();
    const answer = await askOnce(deps, order, request);
    if (answer.kind === "not_sent") continue;
    if (order.due_at !== undefined) {
      const waited = Math.max(0, leftAt.getTime() - Date.parse(order.due_at)) / MS_PER_SECOND;
      deps.metrics.observe("callagent_due_to_dial_seconds", { provider: order.provider }, waited);
    }
    return answer;
  }
}

/** Ends an attempt whose request never left. */
async function recordUnsent(deps: DialerParts, call: CallDoc, release: Release): Promise<void> {
  const over = await deps.calls.apply(notDialled(call._id, release, deps.clock.now()));
  if (over) await finishCall(deps, over);
}

/** From the intent record on: asks the carrier exactly once, unless that is too late, and writes the answer down. */
export async function placeCall(deps: DialerParts, order: DialJob, call: CallDoc, clear: Clearance): Promise<void> {
  const answer = await askInTime(deps, order, call, clear);
  const said = answer.kind === "release" ? "not_sent" : answer.kind;
  deps.metrics.count("callagent_dials_total", { provider: order.provider, answer: said });
  if (answer.kind === "release") {
    const unsent = (): Promise<void> => recordUnsent(deps, call, answer);
    await Promise.all([deps.unwritten.write(call._id, "nothing was dialled", unsent), clear.permit.unused()]);
    return;
  }
  crashPoint(deps.env, "K6");
  if (answer.kind === "placed") deps.permitPace.placed();
  if (answer.kind === "uncertain")
    deps.log.warn(
      { lead_id: order.lead_id, call_ref: call._id, reason: answer.reason },
      "it is not known whether the phone rings; the carrier is asked",
    );
  deps.breakers.record(order.provider, answer);
  const now = deps.clock.now();
  await deps.unwritten.write(call._id, "the carrier's answer", () => record(deps, order, call, answer, now));
}
