import { plusMs } from "../../../shared/clock.ts";
import type { Prepared } from "../../../shared/contracts/conversation.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { crashPoint } from "../../../shared/crash.ts";
import { errorForLog } from "../../../shared/log.ts";
import { lookAgain, notDialled, place, refuse } from "../call/call-state-machine.ts";
import type { CallDoc } from "../call/calls.model.ts";
import { DIAL_TIMEOUT_MS, type DialAnswer, type DialRequest } from "../carriers/carrier-port.ts";
import { ended } from "../call/close-call.ts";
import { isSpent, type Grant } from "./dial-permit.ts";
import { cutLine } from "../call/call-control.ts";
import { isOwnRecording, targetOf } from "../media/media-target.ts";
import { noteAnswer, pausedUntil, reasonOf } from "./carrier-circuit-breaker.ts";
import {
  CARRIER_LIMIT_MARGIN_SECONDS,
  dueAfterPlacing,
  INTENT_DEADLINE_MS,
  LOOKUP_EVERY_MS,
  ringSeconds,
} from "../call/call-deadlines.ts";
import { callbackBase, logCall, type Works } from "../deps.ts";

/** Where the conversation waits for this call. */
export type Media = Prepared;

/** What an attempt may be sent with: its media, its turn, and the monotonic instant from which its intent counts. */
export interface Clearance {
  media: Media;
  grant: Grant | null;
  intentMs: number;
}

/** The carrier's own client gives up at DIAL_TIMEOUT_MS; this much later we do, whatever it does. */
const DIAL_TIMEOUT_MARGIN_MS = 1000;
/** K5 lies in the middle of a request: this long after its start it has left, and nobody has heard of an answer. */
const K5_AFTER_MS = 100;

/** Why the request may not go out any more, at the last moment before it would; null: it may. */
function tooLate(w: Works, { grant, intentMs }: Clearance, ring_seconds: number): string | null {
  if (w.stopping()) return "the dialer is shutting down";
  if (w.clock.monotonicMs() - intentMs > INTENT_DEADLINE_MS)
    return "the process stood still between the intent and the dial";
  if (isSpent(w, grant)) return "the right to place the call ran out";
  return ring_seconds === 0 ? "the calling window closed" : null;
}

function requestOf(w: Works, order: DialJob, call: CallDoc, media: Media, ring_seconds: number): DialRequest {
  return {
    call_ref: call._id,
    to: order.to,
    from: order.from,
    ring_seconds,
    talk_seconds: order.max_call_seconds + CARRIER_LIMIT_MARGIN_SECONDS,
    media: targetOf(media),
    record: order.record && !isOwnRecording(w, call),
    await_beep: order.voicemail_action === "leave_message",
    callback_base: callbackBase(w, order.provider),
  };
}

/** Asks the carrier once, within the time a dial request may take. */
async function askOnce(w: Works, order: DialJob, request: DialRequest): Promise<DialAnswer> {
  const answered = new AbortController();
  const overtime = async (): Promise<DialAnswer> => {
    await w.clock.wait(DIAL_TIMEOUT_MS + DIAL_TIMEOUT_MARGIN_MS, answered.signal);
    return { kind: "uncertain", reason: "the carrier did not answer in time" };
  };
  try {
    const asked = w.carriers.of(order.provider).dial(request);
    if (w.env.CRASH_AT === "K5") {
      await w.clock.wait(K5_AFTER_MS);
      crashPoint(w.env, "K5");
    }
    return await Promise.race([asked, overtime()]);
  } finally {
    answered.abort();
  }
}

async function recordPlaced(w: Works, order: DialJob, call: CallDoc, call_id: string): Promise<void> {
  const now = w.clock.now();
  const moved = await w.calls.run(
    place(call._id, call_id, now, dueAfterPlacing(now, w.env.RING_TIMEOUT_SECONDS, call.dial_until ?? null)),
  );
  if (moved?.hang_up !== undefined) await cutLine(w, moved); // wished for while the carrier was being asked
  await w.bus.call("leads.annotate", {
    lead_id: order.lead_id,
    claim_no: order.claim_no,
    call_id,
    call_initiated_time: (moved?.placed_at ?? now).toISOString(),
  });
}

/** Writes down what became of the request, and ends the attempt where it is over. */
async function record(w: Works, order: DialJob, call: CallDoc, answer: DialAnswer): Promise<void> {
  noteAnswer(w, order.provider, answer);
  const now = w.clock.now();
  if (answer.kind === "placed") {
    await recordPlaced(w, order, call, answer.call_id);
    return;
  }
  if (answer.kind === "uncertain") {
    w.log.warn(
      { lead_id: order.lead_id, call_ref: call._id, reason: answer.reason },
      "it is not known whether the phone rings; the carrier is asked",
    );
    await w.calls.run(lookAgain(call._id, plusMs(now, LOOKUP_EVERY_MS)));
    return;
  }
  const move =
    answer.kind === "not_placed"
      ? notDialled(
          call._id,
          { due_at: pausedUntil(w, order.provider) ?? now, reason: reasonOf(w, order.provider, answer.reason, answer) },
          now,
        )
      : refuse(
          call._id,
          answer.invalid_number ? "invalid_number" : "failed",
          { code: "CALL_REFUSED", carrier_code: answer.carrier_code, message: answer.reason },
          now,
        );
  const over = await w.calls.run(move);
  if (over) await ended(w, over);
}

/** From the intent record on: asks the carrier exactly once, unless that is too late, and writes the answer down. */
export async function placeCall(w: Works, order: DialJob, call: CallDoc, clear: Clearance): Promise<void> {
  const ring_seconds = ringSeconds(w.clock.now(), w.env.RING_TIMEOUT_SECONDS, call.dial_until ?? null);
  const late = tooLate(w, clear, ring_seconds);
  if (late !== null) {
    const now = w.clock.now();
    const over = await w.calls.run(notDialled(call._id, { due_at: now, reason: late }, now));
    if (over) await ended(w, over);
    return;
  }
  crashPoint(w.env, "K4");
  logCall(w, "call.dialling", call, "dialling", { claim_no: order.claim_no });
  const answer = await askOnce(w, order, requestOf(w, order, call, clear.media, ring_seconds));
  crashPoint(w.env, "K6");
  try {
    await record(w, order, call, answer);
  } catch (error) {
    w.log.error(
      { call_ref: call._id, answer: answer.kind, error: errorForLog(error) },
      "the carrier's answer could not be written down; the call is looked up at the carrier",
    );
  }
}
