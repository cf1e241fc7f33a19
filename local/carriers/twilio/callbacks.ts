import { randomUUID } from "node:crypto";
import { createCallbackDelivery, type CallbackDeps } from "../http/callback-reporter.ts";
import { formTo, type Hook } from "../http/callback-sender.ts";
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

/** Ready to send. */
export function createCallbacks(parts: CallbackDeps): Callbacks {
  const reporter = createCallbackDelivery(parts);

  const request = (
    twilioCall: TwilioCall,
    hook: Hook,
    fields: Record<string, string>,
    token: string,
    forged: boolean,
  ) =>
    formTo(hook, fields, (url, form) => ({
      "x-twilio-signature": sign(
        forged ? `not ${twilioCall.account.authToken}` : twilioCall.account.authToken,
        url,
        form,
      ),
      "i-twilio-idempotency-token": token,
      "user-agent": AGENT,
    }));
  const deliver = (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): void =>
    reporter.deliver(twilioCall.call, {
      what,
      status: fields["CallStatus"] ?? fields["AnsweredBy"],
      sequence: fields["SequenceNumber"],
      url: hook.url,
      sign: (forged) => request(twilioCall, hook, fields, randomUUID(), forged),
    });

  return {
    status(twilioCall, event) {
      const { params, call } = twilioCall;
      if (!params.status || !params.statusEvents.includes(event)) return;
      const fields: Record<string, string> = {
        ...callFields(twilioCall),
        Timestamp: rfc2822(new Date()),
        CallbackSource: "call-progress-events",
        SequenceNumber: String(twilioCall.sequence),
      };
      twilioCall.sequence += 1;
      if (event === "completed") {
        const seconds = answeredSeconds(call);
        Object.assign(fields, { CallDuration: String(seconds), Duration: String(Math.ceil(seconds / 60)) });
        if (call.sipCode !== null) fields["SipResponseCode"] = String(call.sipCode);
      }
      deliver(twilioCall, params.status, fields, event);
    },
    amd(twilioCall, answeredBy, durationMs) {
      const hook = twilioCall.params.amd?.hook;
      const { sid, account } = twilioCall.call.order;
      if (hook)
        deliver(
          twilioCall,
          hook,
          {
            CallSid: sid,
            AccountSid: account,
            AnsweredBy: answeredBy,
            MachineDetectionDuration: String(Math.round(durationMs)),
          },
          "amd",
        );
    },
    recording(recording) {
      const {
        sid,
        twilioCall,
        params: { hook, events, channels, source },
        status,
        made,
        startedAt,
      } = recording;
      if (!hook || !events.includes(status)) return;
      deliver(
        twilioCall,
        hook,
        {
          AccountSid: twilioCall.account.sid,
          CallSid: twilioCall.call.order.sid,
          RecordingSid: sid,
          RecordingUrl: recordingUrl(recording),
          RecordingStatus: status,
          RecordingChannels: String(channels),
          RecordingDuration: made ? String(made.seconds) : "-1",
          RecordingStartTime: rfc2822(startedAt),
          RecordingSource: source,
          RecordingTrack: "both",
          ErrorCode: "0",
        },
        `recording ${status}`,
      );
    },
    stream(twilioCall, hook, fields) {
      deliver(
        twilioCall,
        hook,
        {
          AccountSid: twilioCall.account.sid,
          CallSid: twilioCall.call.order.sid,
          Timestamp: new Date().toISOString(),
          ...fields,
        },
        fields["StreamEvent"] ?? "stream",
      );
    },
    fetchDocument: (twilioCall, hook, more) =>
      reporter.fetch(
        twilioCall.call,
        request(twilioCall, hook, { ...callFields(twilioCall), ...more }, randomUUID(), false),
        { url: hook.url, failure: "11200", more },
      ),
    close: () => reporter.close(),
  };
}
