import { createHmac, randomUUID } from "node:crypto";
import { createCallbackDelivery, type CallbackDeps } from "../http/callback-reporter.ts";
import { formTo, type Hook, type Outgoing } from "../http/callback-sender.ts";
import { causeOf, networkCause, statusOf } from "./hangup-causes.ts";
import type { PlivoCall, PlivoRecording } from "./plivo-call.ts";
import {
  bare,
  billedSeconds,
  RATE_PER_MINUTE,
  shownFrom,
  answeredSeconds,
  totalCost,
  utcTime,
} from "./call-resource.ts";
import { sign } from "./signature.ts";

/** Requests to the service: reports, and documents asked for. */
export interface Callbacks {
  ring(call: PlivoCall): void;
  hangup(call: PlivoCall): void;
  /** Voicemail answered. A person is not reported. */
  machine(call: PlivoCall): void;
  recorded(recording: PlivoRecording, hook: Hook): void;
  /** A step of a stream of sound. */
  stream(call: PlivoCall, hook: Hook, fields: Record<string, string>): void;
  /** Asks for a document, with the call's parameters and more. Throws when there is no 2xx answer. */
  fetchDocument(call: PlivoCall, hook: Hook, event: string, more: Record<string, string>): Promise<string>;
  /** Cuts every request under way. */
  close(): void;
}

/** The parameters that every request about a call carries. */
function callFields({ call, requestUuid, account }: PlivoCall): Record<string, string> {
  const { sid, to } = call.order;
  return {
    BillRate: RATE_PER_MINUTE.toFixed(5),
    CallStatus: statusOf(call),
    CallUUID: sid,
    CountryCode: "US",
    Direction: call.direction,
    From: shownFrom(call),
    ParentAuthID: account.authId,
    ...(requestUuid === null ? {} : { ALegRequestUUID: requestUuid, ALegUUID: sid, RequestUUID: requestUuid }),
    SessionStart: `${call.createdAt.toISOString().slice(0, 23).replace("T", " ")}000`,
    STIRAttestation: "Not Applicable",
    STIRVerification: "Not Applicable",
    To: bare(to),
  };
}

function endFields(plivoCall: PlivoCall): Record<string, string> {
  const { call } = plivoCall;
  const cause = causeOf(plivoCall);
  return {
    AnswerTime: utcTime(call.answeredAt),
    BillDuration: String(billedSeconds(call)),
    Duration: String(answeredSeconds(call)),
    EndTime: utcTime(call.endedAt),
    HangupCause: networkCause(cause),
    HangupCauseCode: String(cause.code),
    HangupCauseName: cause.name,
    HangupSource: cause.source,
    StartTime: utcTime(call.startedAt ?? call.createdAt),
    TotalCost: totalCost(call),
  };
}

function request({ account }: PlivoCall, hook: Hook, fields: Record<string, string>, forged: boolean): Outgoing {
  const nonce = randomUUID();
  return formTo(hook, fields, (url, form) => ({
    "x-plivo-signature-v3": sign(forged ? `not ${account.authToken}` : account.authToken, url, form, nonce),
    "x-plivo-signature-v3-nonce": nonce,
    "user-agent": "Plivo",
    // the main account's signature is the account's own
    "x-plivo-signature-ma-v3": forged
      ? createHmac("sha256", "forged").update(nonce).digest("base64")
      : sign(account.authToken, url, form, nonce),
  }));
}

/** Ready to send. */
export function createCallbacks(deps: CallbackDeps): Callbacks {
  const delivery = createCallbackDelivery(deps);
  const deliver = (plivoCall: PlivoCall, hook: Hook, what: string, fields: Record<string, string>): void =>
    delivery.deliver(plivoCall.call, {
      what,
      status: fields["CallStatus"],
      url: hook.url,
      sign: (forged) => request(plivoCall, hook, fields, forged),
    });

  return {
    ring(plivoCall) {
      const { ring } = plivoCall.params;
      if (ring) deliver(plivoCall, ring, "ringing", { ...callFields(plivoCall), Event: "Ring" });
    },
    hangup: (plivoCall) =>
      deliver(plivoCall, plivoCall.params.hangup, "completed", {
        ...callFields(plivoCall),
        ...endFields(plivoCall),
        Event: "Hangup",
      }),
    machine(plivoCall) {
      const { amd } = plivoCall.params;
      if (amd?.hook)
        deliver(plivoCall, amd.hook, "amd", {
          ...callFields(plivoCall),
          Event: "MachineDetection",
          Machine: "true",
          IfMachine: amd.hangUp ? "hangup" : "continue",
        });
    },
    recorded({ call: plivoCall, apiId, id, startedAt, recorder, url }, hook) {
      const { seconds } = recorder.stop();
      deliver(plivoCall, hook, "recording", {
        api_id: apiId,
        call_uuid: plivoCall.call.order.sid,
        record_url: url,
        recording_id: id,
        recording_duration: String(seconds),
        recording_duration_ms: String(seconds * 1000),
        recording_start_ms: String(startedAt.getTime()),
        recording_end_ms: String(startedAt.getTime() + seconds * 1000),
      });
    },
    stream: (plivoCall, hook, fields) =>
      deliver(plivoCall, hook, fields["Event"] ?? "stream", { ...callFields(plivoCall), ...fields }),
    fetchDocument: (plivoCall, hook, event, more) =>
      delivery.fetch(
        plivoCall.call,
        request(plivoCall, hook, { ...callFields(plivoCall), Event: event, ...more }, false),
        { url: hook.url, failure: event, more },
      ),
    close: () => delivery.close(),
  };
}
