import type { Faults } from "../faults.ts";
import type { Ledger } from "../ledger.ts";
import { API_VERSION, rfc2822, statusOf, talkSeconds } from "./resource.ts";
import type { Hook, StatusEvent } from "./params.ts";
import { sign } from "./signature.ts";
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

/** Twilio waits this long for an answer, real ms. */
const REQUEST_TIMEOUT_MS = 15_000;
/** One more try after a connection failure or a 5xx, this much later, real ms. */
const MAX_ATTEMPTS = 2;
const RETRY_AFTER_MS = 250;
const MAX_DOCUMENT_CHARS = 64_000;

/** The parameters that every request about a call carries. */
export function callFields({ call, answeredBy }: TwilioCall): Record<string, string> {
  const { sid, account, to, from } = call.order;
  return {
    CallSid: sid, AccountSid: account, From: from, To: to, Caller: from, Called: to, Direction: "outbound-api", ApiVersion: API_VERSION,
    CallStatus: call.phase === "initiated" ? "initiated" : statusOf(call), ...(answeredBy === null ? {} : { AnsweredBy: answeredBy }),
  };
}

interface Sent { status: number | null; text: string; attempts: number; error?: string }

/** What the requests need. */
export interface CallbackParts { ledger: Ledger; faults: Faults }

/** Ready to send. */
export function createCallbacks({ ledger, faults }: CallbackParts): Callbacks {
  const closing = new AbortController();
  const waiting = new Set<NodeJS.Timeout>();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => {
    const timer = setTimeout(() => { waiting.delete(timer); resolve(); }, ms);
    waiting.add(timer);
  });

  const once = async (hook: Hook, form: URLSearchParams, authToken: string): Promise<{ status: number; text: string }> => {
    const get = hook.method === "GET";
    const url = get ? `${hook.url}${hook.url.includes("?") ? "&" : "?"}${form}` : hook.url;
    const response = await fetch(url, {
      method: hook.method, redirect: "follow", signal: AbortSignal.any([closing.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      headers: {
        "x-twilio-signature": sign(authToken, url, get ? undefined : form), "user-agent": "TwilioProxy/1.1", accept: "*/*",
        ...(get ? {} : { "content-type": "application/x-www-form-urlencoded; charset=utf-8" }),
      },
      ...(get ? {} : { body: form.toString() }),
    });
    return { status: response.status, text: (await response.text()).slice(0, MAX_DOCUMENT_CHARS) };
  };

  const send = async (hook: Hook, fields: Record<string, string>, authToken: string): Promise<Sent> => {
    const form = new URLSearchParams(fields);
    let last: Sent = { status: null, text: "", attempts: 0 };
    for (let attempt = 1; attempt <= MAX_ATTEMPTS && !closing.signal.aborted; attempt += 1) {
      if (attempt > 1) await pause(RETRY_AFTER_MS);
      try {
        last = { ...await once(hook, form, authToken), attempts: attempt };
        if (last.status !== null && last.status < 500) return last;
      } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
        last = { status: null, text: "", attempts: attempt, error: cause };
      }
    }
    return last;
  };

  /** Sends one report and writes it down, with whatever faults were asked for. */
  const report = async (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): Promise<void> => {
    const { sid, to, from } = twilioCall.call.order;
    const facts = { kind: "callback" as const, call_sid: sid, to, from, what, status: fields["CallStatus"] ?? fields["AnsweredBy"], sequence: fields["SequenceNumber"], url: hook.url };
    if (faults.take("lose_callbacks", to)) { ledger.write({ ...facts, lost: true, attempts: 0, reply: null }); return; }
    const copies = faults.take("duplicate_callbacks", to) ? 2 : 1;
    for (let copy = 1; copy <= copies && !closing.signal.aborted; copy += 1) {
      const sent = await send(hook, fields, twilioCall.account.authToken);
      ledger.write({ ...facts, reply: sent.status, attempts: sent.attempts, ...(copy > 1 ? { duplicate: true } : {}), ...(sent.error ? { error: sent.error } : {}) });
    }
  };
  /** A delayed report goes on its own, so that later ones overtake it. */
  const deliver = (twilioCall: TwilioCall, hook: Hook, fields: Record<string, string>, what: string): void => {
    const delay = faults.take("delay_callbacks", twilioCall.call.order.to);
    if (delay) { void pause(delay.seconds * 1000).then(() => report(twilioCall, hook, fields, what)); return; }
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
      const sent = await send(hook, { ...callFields(twilioCall), ...more }, twilioCall.account.authToken);
      ledger.write({ kind: "fetch", call_sid: sid, to, from, url: hook.url, reply: sent.status, attempts: sent.attempts, ...more, ...(sent.error ? { error: sent.error } : {}) });
      if (sent.status === null || sent.status < 200 || sent.status > 299) throw new Error(`11200: ${hook.url} gave ${sent.status === null ? sent.error ?? "no answer" : `HTTP ${sent.status}`}`);
      return sent.text;
    },
    close() {
      closing.abort();
      for (const timer of waiting) clearTimeout(timer);
      waiting.clear();
    },
  };
}
