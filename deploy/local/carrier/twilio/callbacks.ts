import type { Faults } from "../faults.ts";
import type { Ledger } from "../ledger.ts";
import { shownFrom } from "./inbound.ts";
import { API_VERSION, rfc2822, statusOf, talkSeconds } from "./resource.ts";
import type { Hook, StatusEvent } from "./params.ts";
import { createSender } from "./sender.ts";
import type { TwilioCall } from "./twilio-call.ts";

/** Requests to the service: reports, and documents asked for. */
export interface Callbacks {
  /** Reports the call's present status, if that event was asked for. */
  status(call: TwilioCall, event: StatusEvent): void;
  amd(call: TwilioCall, answeredBy: string, durationMs: number): void;
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
    CallSid: sid, AccountSid: account, From: from, To: to, Caller: from, Called: to, Direction: call.direction === "inbound" ? "inbound" : "outbound-api", ApiVersion: API_VERSION,
    CallStatus: call.phase === "initiated" ? "initiated" : statusOf(call), ...(answeredBy === null ? {} : { AnsweredBy: answeredBy }),
  };
}

/** What the requests need. */
export interface CallbackParts { ledger: Ledger; faults: Faults }

/** Ready to send. */
export function createCallbacks({ ledger, faults }: CallbackParts): Callbacks {
  const sender = createSender();

  /** Sends one report and writes it down, with whatever faults were asked for. */
  const report = async (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): Promise<void> => {
    const { sid, to, from } = twilioCall.call.order;
    const facts = { kind: "callback" as const, call_sid: sid, to, from, what, status: fields["CallStatus"] ?? fields["AnsweredBy"], sequence: fields["SequenceNumber"], url: hook.url };
    if (faults.take("lose_callbacks", to)) { ledger.write({ ...facts, lost: true, attempts: 0, reply: null }); return; }
    const copies = faults.take("duplicate_callbacks", to) ? 2 : 1;
    for (let copy = 1; copy <= copies && !sender.closed.aborted; copy += 1) {
      const sent = await sender.send(hook, fields, twilioCall.account.authToken);
      ledger.write({ ...facts, reply: sent.status, attempts: sent.attempts, ...(copy > 1 ? { duplicate: true } : {}), ...(sent.error ? { error: sent.error } : {}) });
    }
  };
  /** A delayed report goes on its own, so that later ones overtake it. */
  const deliver = (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): void => {
    const delay = faults.take("delay_callbacks", twilioCall.call.order.to);
    if (delay) { void sender.pause(delay.seconds * 1000).then(() => report(twilioCall, hook, fields, what)); return; }
    twilioCall.lastCallback = twilioCall.lastCallback.then(() => report(twilioCall, hook, fields, what));
  };

  return {
    status(twilioCall, event) {
      const { params, call } = twilioCall;
      if (!params.status || !params.statusEvents.includes(event)) return;
      const fields: Record<string, string> = {
        ...callFields(twilioCall), Timestamp: rfc2822(new Date()), CallbackSource: "call-progress-events", SequenceNumber: String(twilioCall.sequence),
      };
      twilioCall.sequence += 1;
      if (event === "completed") {
        const seconds = talkSeconds(call);
        Object.assign(fields, { CallDuration: String(seconds), Duration: String(Math.ceil(seconds / 60)) });
        if (call.sipCode !== null) fields["SipResponseCode"] = String(call.sipCode);
      }
      deliver(twilioCall, params.status, fields, event);
    },
    amd(twilioCall, answeredBy, durationMs) {
      const hook = twilioCall.params.amd?.hook;
      const { sid, account } = twilioCall.call.order;
      if (hook) deliver(twilioCall, hook, { CallSid: sid, AccountSid: account, AnsweredBy: answeredBy, MachineDetectionDuration: String(Math.round(durationMs)) }, "amd");
    },
    async fetchDocument(twilioCall, hook, more) {
      const { sid, to, from } = twilioCall.call.order;
      const sent = await sender.send(hook, { ...callFields(twilioCall), ...more }, twilioCall.account.authToken);
      ledger.write({ kind: "fetch", call_sid: sid, to, from, url: hook.url, reply: sent.status, attempts: sent.attempts, ...more, ...(sent.error ? { error: sent.error } : {}) });
      if (sent.status === null || sent.status < 200 || sent.status > 299) throw new Error(`11200: ${hook.url} gave ${sent.status === null ? sent.error ?? "no answer" : `HTTP ${sent.status}`}`);
      return sent.text;
    },
    close: () => sender.close(),
  };
}
