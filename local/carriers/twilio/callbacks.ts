import { randomUUID } from "node:crypto";
import { createCallbackDelivery, type CallbackDeps } from "../http/callback-reporter.ts";
import { formTo, type Hook, type Outgoing } from "../http/callback-sender.ts";
import { shownFrom, type TwilioCall } from "./twilio-call.ts";
import { recordingUrl, type TwilioRecording } from "./recording-resource.ts";
import { API_VERSION, rfc2822, statusOf, answeredSeconds } from "./call-resource.ts";
import type { StatusEvent } from "./params.ts";
import { sign } from "./signature.ts";

/** Requests to the service: reports, and documents asked for. */
export interface Callbacks {
  /** Reports the call's present status, if that event was asked for. */
  status(call: TwilioCall, event: StatusEvent): void;
  amd(call: TwilioCall, answeredBy: string, durationMs: number): void;
  /** Reports a recording's present status, if that event was asked for. */
  recording(recording: TwilioRecording): void;
  /** Reports a step of a stream of sound. */
  stream(call: TwilioCall, hook: Hook, fields: Record<string, string>): void;
  /** Asks for a document, with the call's parameters and more. Throws when there is no 2xx answer. */
  fetchDocument(call: TwilioCall, hook: Hook, more: Record<string, string>): Promise<string>;
  /** Cuts every request under way. */
  close(): void;
}

/** The parameters that every request about a call carries. */
export function callFields({ call, answeredBy }: TwilioCall): Record<string, string> {
  const { sid, account, to } = call.order;
  const from = shownFrom(call);
  return {
    CallSid: sid,
    AccountSid: account,
    From: from,
    To: to,
    Caller: from,
    Called: to,
    Direction: call.direction === "inbound" ? "inbound" : "outbound-api",
    ApiVersion: API_VERSION,
    CallStatus: call.phase === "initiated" ? "initiated" : statusOf(call),
    ...(answeredBy === null ? {} : { AnsweredBy: answeredBy }),
  };
}

const AGENT = "TwilioProxy/1.1";

function request(
  { account }: TwilioCall,
  hook: Hook,
  fields: Record<string, string>,
  token: string,
  forged: boolean,
): Outgoing {
  const key = forged ? `not ${account.authToken}` : account.authToken;
  return formTo(hook, fields, (url, form) => ({
    "x-twilio-signature": sign(key, url, form),
    "i-twilio-idempotency-token": token,
    "user-agent": AGENT,
  }));
}

function statusFields(twilioCall: TwilioCall, event: StatusEvent, sequence: number): Record<string, string> {
  const { call } = twilioCall;
  const fields = {
    ...callFields(twilioCall),
    Timestamp: rfc2822(new Date()),
    CallbackSource: "call-progress-events",
    SequenceNumber: String(sequence),
  };
  if (event !== "completed") return fields;
  const seconds = answeredSeconds(call);
  return {
    ...fields,
    CallDuration: String(seconds),
    Duration: String(Math.ceil(seconds / 60)),
    ...(call.sipCode === null ? {} : { SipResponseCode: String(call.sipCode) }),
  };
}

function recordingFields(recording: TwilioRecording): Record<string, string> {
  const { sid, twilioCall, params, status, made, startedAt } = recording;
  return {
    AccountSid: twilioCall.account.sid,
    CallSid: twilioCall.call.order.sid,
    RecordingSid: sid,
    RecordingUrl: recordingUrl(recording),
    RecordingStatus: status,
    RecordingChannels: String(params.channels),
    RecordingDuration: made ? String(made.seconds) : "-1",
    RecordingStartTime: rfc2822(startedAt),
    RecordingSource: params.source,
    RecordingTrack: "both",
    ErrorCode: "0",
  };
}

/** Ready to send. */
export function createCallbacks(deps: CallbackDeps): Callbacks {
  const delivery = createCallbackDelivery(deps);
  const deliver = (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): void =>
    delivery.deliver(twilioCall.call, {
      what,
      status: fields["CallStatus"] ?? fields["AnsweredBy"],
      sequence: fields["SequenceNumber"],
      url: hook.url,
      sign: (forged) => request(twilioCall, hook, fields, randomUUID(), forged),
    });

  return {
    status(twilioCall, event) {
      const { status, statusEvents } = twilioCall.params;
      if (!status || !statusEvents.includes(event)) return;
      deliver(twilioCall, status, statusFields(twilioCall, event, twilioCall.sequence++), event);
    },
    amd(twilioCall, answeredBy, durationMs) {
      const hook = twilioCall.params.amd?.hook;
      const { sid, account } = twilioCall.call.order;
      const MachineDetectionDuration = String(Math.round(durationMs));
      const fields = { CallSid: sid, AccountSid: account, AnsweredBy: answeredBy, MachineDetectionDuration };
      if (hook) deliver(twilioCall, hook, fields, "amd");
    },
    recording(recording) {
      const { hook, events } = recording.params;
      if (!hook || !events.includes(recording.status)) return;
      deliver(recording.twilioCall, hook, recordingFields(recording), `recording ${recording.status}`);
    },
    stream(twilioCall, hook, more) {
      const { sid } = twilioCall.call.order;
      const fields = { AccountSid: twilioCall.account.sid, CallSid: sid, Timestamp: new Date().toISOString(), ...more };
      deliver(twilioCall, hook, fields, more["StreamEvent"] ?? "stream");
    },
    fetchDocument: (twilioCall, hook, more) =>
      delivery.fetch(
        twilioCall.call,
        request(twilioCall, hook, { ...callFields(twilioCall), ...more }, randomUUID(), false),
        { url: hook.url, failure: "11200", more },
      ),
    close: () => delivery.close(),
  };
}
