import type { RawCallback } from "../../../../shared/contracts/dialer.ts";
import type { CarrierEnd } from "../../../../shared/contracts/records/attempt.ts";
import { INBOUND_REFS, malformed } from "../signed-request.ts";
import {
  bareTranslation,
  type AnsweredBy,
  type CallProgress,
  type CarrierRecording,
  type CarrierWords,
  type HangupParty,
  type InboundCall,
  type Price,
  type SignedRequest,
  type Translated,
} from "../carrier-port.ts";
import { listOf, parsed, recordOf, textOf, timeOf } from "../json.ts";

/** One event of Telnyx's, from its callback or its list of events. */
export interface TelnyxEvent {
  id: string | null;
  type: string;
  at: string | null;
  payload: Record<string, unknown>;
}

/** How a call ended, by Telnyx's hangup_cause. `normal_clearing` and words not listed are judged by the network's code. */
const ENDS: Record<string, CarrierEnd> = {
  originator_cancel: "canceled",
  timeout: "no_answer",
  no_answer: "no_answer",
  time_limit: "time_limit",
  user_busy: "busy",
  call_rejected: "rejected",
  not_found: "failed",
};
/** How a call ended, by the SIP status of the far end. */
const SIP_ENDS: Record<string, CarrierEnd> = {
  200: "completed",
  408: "no_answer",
  480: "no_answer",
  486: "busy",
  487: "canceled",
  600: "busy",
  603: "rejected",
};
const VERDICTS: Record<string, AnsweredBy> = {
  human: "human",
  human_residence: "human",
  human_business: "human",
  machine: "machine",
  fax_detected: "machine",
  not_sure: "unknown",
  silence: "unknown",
};
/** Telnyx bills in US dollars where it names no currency. */
const CURRENCY = "USD";
/** Our name of an attempt, as it stands in addresses and in client_state. */
const CALL_REF = /^[0-9a-f-]{36}\.[1-9]\d*$/i;
const E164 = /^\+[1-9]\d{6,14}$/;
/** ANONYMOUS on a keypad: what some networks send for a withheld number. */
const WITHHELD = "+266696687";
/** How many sides apart, by Telnyx's word. */
export const CHANNELS: Record<string, number> = { single: 1, dual: 2 };

/** The reference a client_state carries; null where there is none. */
export const referenceOf = (client_state: unknown): string | null => {
  const text = textOf(client_state);
  return text === null ? null : Buffer.from(text, "base64").toString("utf8");
};

/** An event out of parsed JSON; null when it is none. */
export function readEvent(value: unknown): TelnyxEvent | null {
  const { id, event_type, occurred_at, payload } = recordOf(value);
  const type = textOf(event_type);
  return type === null || typeof payload !== "object" || payload === null
    ? null
    : { id: textOf(id), type, at: timeOf(occurred_at), payload: recordOf(payload) };
}

function endOf(payload: Record<string, unknown>): { end: CarrierEnd; cause: string | null; said: CarrierWords } {
  const [word, sip] = [textOf(payload["hangup_cause"]), textOf(payload["sip_hangup_cause"])];
  const known = sip !== null && /^\d{3}$/.test(sip) ? sip : null;
  const bySip = known === null ? undefined : (SIP_ENDS[known] ?? "failed");
  const end = ENDS[word ?? ""] ?? bySip ?? (word === "normal_clearing" ? "completed" : "failed");
  const said = {
    ...(known === null ? {} : { sip_code: Number(known) }),
    ...(word === null ? {} : { carrier_code: word }),
  };
  return { end, cause: known === null ? word : `sip ${known}`, said };
}

/** Who ended the call, by hangup_cause and hangup_source (callee, caller, unknown); null: it does not say. */
function partyOf(payload: Record<string, unknown>): HangupParty | null {
  const source = payload["hangup_source"];
  if (payload["hangup_cause"] === "time_limit") return "timeout";
  return source === "callee" || source === "caller" ? source : null;
}

/** The step an event reports; empty for the many without one. Duration is not among it: Telnyx gives only the beginning of the call. */
export function progressOf({ type, at, payload }: TelnyxEvent, call_id: string): CallProgress[] {
  const result = textOf(payload["result"]) ?? "";
  switch (type) {
    case "call.initiated":
      return payload["direction"] === "incoming" ? [] : [{ call_id, at, type: "queued" }];
    case "call.answered":
      return [{ call_id, at, type: "answered" }];
    case "call.machine.detection.ended":
    case "call.machine.premium.detection.ended": {
      const verdict = VERDICTS[result];
      return verdict === undefined ? [] : [{ call_id, at, type: "machine", verdict }];
    }
    case "call.machine.greeting.ended":
      return [{ call_id, at, type: "beep" }];
    // a beep before the verdict comes without one
    case "call.machine.premium.greeting.ended":
      return result === "beep_detected"
        ? [
            { call_id, at, type: "machine", verdict: "machine" },
            { call_id, at, type: "beep" },
          ]
        : [];
    case "streaming.failed":
      return [{ call_id, at, type: "media_lost", reason: textOf(payload["failure_reason"]) ?? "the stream failed" }];
    // a text relay is over: by us, by a transfer, or because our socket broke; the event does not say which
    case "call.conversation.ended":
      return [{ call_id, at, type: "media_lost", reason: textOf(payload["reason"]) ?? "the text relay is over" }];
    case "call.hangup":
      return [{ call_id, at, type: "ended", ...endOf(payload), seconds: null, by: partyOf(payload) }];
    default:
      return [];
  }
}

const secondsBetween = (from: unknown, to: unknown): number | null => {
  const [a, b] = [timeOf(from), timeOf(to)];
  return a === null || b === null ? null : Math.max(0, Math.round((Date.parse(b) - Date.parse(a)) / 1000));
};

/** The recording an event reports, null without one. Its links live ten minutes; the id outlives them. */
export function recordingOf({ type, payload }: TelnyxEvent): CarrierRecording | null {
  if (type !== "call.recording.saved" && type !== "call.recording.error") return null;
  const links = [recordOf(payload["recording_urls"]), recordOf(payload["public_recording_urls"])];
  const url = links.flatMap((l) => [textOf(l["wav"]), textOf(l["mp3"])]).find((link) => link !== null) ?? null;
  return {
    recording_id: textOf(payload["recording_id"]) ?? textOf(payload["call_leg_id"]) ?? "",
    url: type === "call.recording.saved" ? url : null,
    seconds: secondsBetween(payload["recording_started_at"], payload["recording_ended_at"]),
    channels: CHANNELS[textOf(payload["channels"]) ?? ""] ?? null,
  };
}

/** What the call cost, null where the event does not say. */
export function costOf({ type, payload }: TelnyxEvent): Price | null {
  const amount = Number(textOf(payload["total_cost"]) ?? Number.NaN);
  if (type !== "call.cost" || payload["status"] === "error" || !Number.isFinite(amount)) return null;
  return {
    amount: Math.abs(amount),
    currency: textOf(recordOf(listOf(payload["cost_parts"])[0])["currency"]) ?? CURRENCY,
  };
}

const noEvent = (path: string, message: string): never =>
  malformed(`The callback is no event of Telnyx's: ${path} ${message}.`, path, message);

/** The event of a callback and the call it is about. VALIDATION_FAILED. */
export function eventOf({ body }: Pick<SignedRequest, "body">): { event: TelnyxEvent; call_id: string } {
  const event =
    readEvent(recordOf(parsed(body))["data"]) ?? noEvent("data", "must be JSON with an event_type and a payload");
  // recordings may be reported by their leg alone
  const call_id =
    textOf(event.payload["call_control_id"]) ??
    textOf(event.payload["call_leg_id"]) ??
    noEvent("data.payload.call_control_id", "is missing");
  return { event, call_id };
}

/**
 * False for an event that was meant for another call's address: Telnyx signs the body, not the path, but the body carries the reference that stands in the path.
 * `ref`: the reference that the event would be applied to, as the gateway read it; reading the path once more could find another. Events without a reference
 * (a transfer's other leg, inbound calls) pass, and so does every event at our numbers' addresses.
 */
export function isAtItsAddress({ ref, body }: Pick<RawCallback, "ref" | "body">): boolean {
  const meant = referenceOf(recordOf(recordOf(recordOf(parsed(body))["data"])["payload"])["client_state"]);
  return meant === null || !CALL_REF.test(meant) || INBOUND_REFS.has(ref) || meant === ref;
}

/** A callback in our words; all of Telnyx's kinds come to one address. */
export function translate(request: SignedRequest): Translated {
  const { event, call_id } = eventOf(request);
  return {
    ...bareTranslation(call_id),
    sequence: event.id,
    progress: progressOf(event, call_id),
    recording: recordingOf(event),
    cost: costOf(event),
  };
}

/** An inbound call, null for every other event. */
export function inboundOf(request: SignedRequest): InboundCall | null {
  const { event, call_id } = eventOf(request);
  if (event.type !== "call.initiated" || event.payload["direction"] !== "incoming") return null;
  const [from, to] = [textOf(event.payload["from"]), textOf(event.payload["to"])];
  if (to === null || !E164.test(to))
    return noEvent("data.payload.to", "must be a phone number with + and country code");
  return { call_id, leg_id: null, from: from !== null && E164.test(from) && from !== WITHHELD ? from : null, to };
}
