import { randomBytes } from "node:crypto";
import { behaviourOf } from "../../people/behaviours.ts";
import type { EndedBy } from "../ledger.ts";
import type { Callbacks } from "./callbacks.ts";
import type { Hook } from "./params.ts";
import { runRelay, SOUND_MS, type RelayEnd, type RelayParts } from "./relay.ts";
import { parseTwiml, TwimlError, type Verb } from "./twiml.ts";
import type { RedirectTarget, TwilioCall } from "./twilio-call.ts";

/** What leading a call through its documents needs. */
export interface ProgramParts extends RelayParts { callbacks: Callbacks }

/** A call that keeps being redirected is cut after so many documents. */
const MAX_DOCUMENTS = 100;
const TONE_MS = 300;
/** A bridged leg rings and talks this long, simulated ms. */
const BRIDGE_RING_MS = 2_000;
const BRIDGE_TALK_MS = 5_000;

/** What an instruction leads to: the next one, another document, or the end. */
type Outcome = { go: "on" } | { go: "to"; target: RedirectTarget } | { go: "end" };
const ON: Outcome = { go: "on" };

const asHook = (url: string, method: string): Hook => ({ url, method: method.toUpperCase() === "GET" ? "GET" : "POST" });

function relayFields(end: RelayEnd): Record<string, string> {
  return {
    SessionId: end.sessionId, SessionStatus: end.status, SessionDuration: String(end.seconds),
    ...(end.handoffData === undefined ? {} : { HandoffData: end.handoffData }),
    ...(end.error ? { ErrorCode: end.error.code, ErrorMessage: end.error.message } : {}),
  };
}

/** Leads an answered call through its call documents. Resolves with who is to be named for the hang-up. */
export async function runProgram(parts: ProgramParts, twilioCall: TwilioCall): Promise<EndedBy> {
  const { time, ledger, callbacks } = parts;
  const { call, params } = twilioCall;
  const { sid, to, from } = call.order;
  let by: EndedBy = "carrier";
  let leave: AbortSignal = call.over;
  const warn = (message: string): void => { ledger.write({ kind: "warning", call_sid: sid, to, from, message }); };

  /** Asks an action URL how to go on; its document replaces the present one. */
  const action = async (url: string | null, method: string, fields: Record<string, string>): Promise<Outcome> => {
    if (url === null) return ON;
    const text = await callbacks.fetchDocument(twilioCall, asHook(url, method), fields);
    return { go: "to", target: { twiml: text } };
  };
  const relay = async (verb: Verb & { verb: "Relay" }): Promise<Outcome> => {
    const end = await runRelay(parts, twilioCall, verb.relay, leave);
    if (end.error) warn(`${end.error.code}: ${end.error.message}`);
    by = end.status === "ended" ? "relay_end" : "carrier";
    if (twilioCall.redirect.leave.signal.aborted) return ON;
    return action(verb.action, verb.method, relayFields(end));
  };
  const dial = async (verb: Verb & { verb: "Dial" }): Promise<Outcome> => {
    const { line } = behaviourOf(verb.number);
    const legSid = `CA${randomBytes(16).toString("hex")}`;
    await time.wait(BRIDGE_RING_MS, leave);
    const status = line === "busy" ? "busy" : line === "ignores" ? "no-answer" : line === "answers" || line === "ignores_first" ? "completed" : "failed";
    ledger.write({ kind: "dial", call_sid: sid, to, from, number: verb.number, leg_sid: legSid, status });
    if (status === "completed") await time.wait(BRIDGE_TALK_MS, leave);
    by = "carrier";
    const duration = status === "completed" ? { DialCallDuration: String(Math.round(BRIDGE_TALK_MS / 1000)), DialBridged: "true" } : { DialBridged: "false" };
    return action(verb.action, verb.method, { DialCallSid: legSid, DialCallStatus: status, ...duration });
  };
  const voiced = async (speak: () => void): Promise<Outcome> => {
    speak();
    await call.line.voice.drained();
    return ON;
  };
  const perform = async (verb: Verb): Promise<Outcome> => {
    const { voice } = call.line;
    switch (verb.verb) {
      case "Relay": return relay(verb);
      case "Dial": return dial(verb);
      case "Say": return voiced(() => { for (let n = 0; n < Math.max(1, verb.loop); n += 1) voice.say(verb.text, { last: true, interruptible: false }); });
      case "Play": return voiced(() => voice.play(verb.source, SOUND_MS * Math.max(1, verb.loop), {}));
      case "PlayDigits": return voiced(() => voice.play(`keys:${verb.digits}`, verb.digits.length * TONE_MS, {}));
      case "Pause": await time.wait(verb.seconds * 1000, leave); return ON;
      case "Redirect": return { go: "to", target: { ...asHook(verb.url, verb.method) } };
      case "Hangup": case "Reject": return { go: "end" };
    }
  };
  const follow = async (target: RedirectTarget): Promise<Outcome> => {
    const text = "twiml" in target ? target.twiml : await callbacks.fetchDocument(twilioCall, target, {});
    if (text.trim() === "") return { go: "end" }; // 204 and the like: nothing more to do
    const { verbs, warnings } = parseTwiml(text);
    for (const message of warnings) warn(message);
    for (const verb of verbs) {
      if (leave.aborted) return ON;
      const outcome = await perform(verb);
      if (outcome.go !== "on") return outcome;
    }
    return { go: "end" };
  };

  let target: RedirectTarget | null = params.twiml === null ? params.answer : { twiml: params.twiml };
  for (let documents = 0; target && documents < MAX_DOCUMENTS && !call.over.aborted; documents += 1) {
    leave = AbortSignal.any([call.over, twilioCall.redirect.leave.signal]);
    let next: RedirectTarget | null = null;
    try {
      const outcome = await follow(target);
      if (outcome.go === "to") next = outcome.target;
    } catch (error) {
      warn(error instanceof TwimlError ? `${error.code}: ${error.message}` : String(error instanceof Error ? error.message : error));
      if (documents === 0 && params.fallback && !call.over.aborted) next = params.fallback;
    }
    const { redirect } = twilioCall;
    if (redirect.leave.signal.aborted) {
      call.line.voice.interrupt();
      next = redirect.next;
      by = "carrier";
      twilioCall.redirect = { leave: new AbortController(), next: null };
    }
    target = next;
  }
  return by;
}
