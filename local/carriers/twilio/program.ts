import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { EndedBy } from "../ledger/entries.ts";
import { bridge, playToEnd } from "../exchange/bridged-leg.ts";
import type { Hook } from "../http/callback-sender.ts";
import { runRelay, SOUND_MS, type RelayCall, type RelayEnd, type RelayDeps } from "../relay/relay-session.ts";
import type { RelaySettings } from "../relay/relay-settings.ts";
import { runStream } from "../stream/stream-session.ts";
import type { Callbacks } from "./callbacks.ts";
import { directionOf, shownFrom, type RedirectTarget, type TwilioCall } from "./twilio-call.ts";
import type { RecordParams } from "./params.ts";
import { sign } from "./signature.ts";
import { twilioDialect, urlComplaint } from "./stream.ts";
import { parseTwiml, TwimlError, type Verb } from "./twiml.ts";

/** What leading a call through its documents needs. */
export interface ProgramDeps extends RelayDeps {
  callbacks: Callbacks;
  record(call: TwilioCall, params: RecordParams): void;
}

/** A call that keeps being redirected is cut after so many documents. */
const MAX_DOCUMENTS = 100;
const TONE_MS = 300;

/** What an instruction leads to: the next one, another document, or the end. */
type Outcome = { go: "on" } | { go: "to"; target: RedirectTarget } | { go: "end" };
const ON: Outcome = { go: "on" };

const asHook = (url: string, method: string): Hook => ({
  url,
  method: method.toUpperCase() === "GET" ? "GET" : "POST",
});

function relayFields(end: RelayEnd): Record<string, string> {
  return {
    SessionId: end.sessionId,
    SessionStatus: end.status,
    SessionDuration: String(end.seconds),
    ...(end.handoffData === undefined ? {} : { HandoffData: end.handoffData }),
    ...(end.error ? { ErrorCode: end.error.code, ErrorMessage: end.error.message } : {}),
  };
}

/** Twilio's own part of a relayed call: the signed upgrade and what the first message says. */
function relayed(twilioCall: TwilioCall, settings: RelaySettings): RelayCall {
  const { call, account } = twilioCall;
  return {
    call,
    settings,
    headers: { "x-twilio-signature": sign(account.authToken, settings.url), "user-agent": "TwilioProxy/1.1" },
    setup: {
      type: "setup",
      sessionId: `VX${randomBytes(16).toString("hex")}`,
      accountSid: account.sid,
      callSid: call.order.sid,
      parentCallSid: "",
      from: shownFrom(call),
      to: call.order.to,
      forwardedFrom: "",
      callerName: "",
      callType: "PSTN",
      direction: directionOf(twilioCall),
      callStatus: "IN_PROGRESS",
      customParameters: settings.parameters,
    },
  };
}

/** Leads an answered call through its call documents. Resolves with who is to be named for the hang-up. */
export const runProgram = (parts: ProgramDeps, twilioCall: TwilioCall): Promise<EndedBy> =>
  new Program(parts, twilioCall).run();

class Program {
  readonly #parts: ProgramDeps;
  readonly #twilioCall: TwilioCall;
  #by: EndedBy = "carrier";
  /** Aborts when the call is over or was sent elsewhere. */
  #leave: AbortSignal;

  constructor(parts: ProgramDeps, twilioCall: TwilioCall) {
    this.#parts = parts;
    this.#twilioCall = twilioCall;
    this.#leave = twilioCall.call.over;
  }

  async run(): Promise<EndedBy> {
    const { call, params } = this.#twilioCall;
    let target: RedirectTarget | null = params.twiml === null ? params.answer : { twiml: params.twiml };
    for (let documents = 0; target && documents < MAX_DOCUMENTS && !call.over.aborted; documents += 1) {
      this.#leave = AbortSignal.any([call.over, this.#twilioCall.redirect.leave.signal]);
      setMaxListeners(0, this.#leave);
      let next: RedirectTarget | null = null;
      try {
        const outcome = await this.#follow(target);
        if (outcome.go === "to") next = outcome.target;
      } catch (error) {
        this.#warn(
          error instanceof TwimlError
            ? `${error.code}: ${error.message}`
            : String(error instanceof Error ? error.message : error),
        );
        if (documents === 0) next = params.fallback;
      }
      target = this.#redirected() ?? next;
    }
    return this.#by;
  }

  /** Where an update of the call sends it meanwhile; null when none came. */
  #redirected(): RedirectTarget | null {
    const { redirect, call } = this.#twilioCall;
    if (!redirect.leave.signal.aborted) return null;
    call.leg.voice.interrupt();
    this.#by = "carrier";
    this.#twilioCall.redirect = { leave: new AbortController(), next: null };
    return redirect.next;
  }

  async #follow(target: RedirectTarget): Promise<Outcome> {
    const text =
      "twiml" in target ? target.twiml : await this.#parts.callbacks.fetchDocument(this.#twilioCall, target, {});
    if (text.trim() === "") return { go: "end" }; // 204 and the like: nothing more to do
    const { verbs, warnings } = parseTwiml(text);
    for (const message of warnings) this.#warn(message);
    for (const verb of verbs) {
      if (this.#leave.aborted) return ON;
      const outcome = await this.#perform(verb);
      if (outcome.go !== "on") return outcome;
    }
    return { go: "end" };
  }

  async #perform(verb: Verb): Promise<Outcome> {
    const { voice } = this.#twilioCall.call.leg;
    const fixed = { last: true, interruptible: false };
    switch (verb.verb) {
      case "Record":
        this.#parts.record(this.#twilioCall, verb.record);
        return ON;
      case "Relay":
        return this.#relay(verb);
      case "Stream":
        return this.#stream(verb);
      case "Dial":
        return this.#dial(verb);
      case "Say":
        return this.#voiced(() => {
          for (let n = 0; n < Math.max(1, verb.loop); n += 1) voice.say(verb.text, fixed);
        });
      case "Play":
        return this.#voiced(() => voice.play(verb.source, SOUND_MS * Math.max(1, verb.loop), fixed));
      case "PlayDigits":
        return this.#voiced(() => voice.play(`keys:${verb.digits}`, verb.digits.length * TONE_MS, fixed));
      case "Pause":
        await this.#parts.time.wait(verb.seconds * 1000, this.#leave);
        return ON;
      case "Redirect":
        return { go: "to", target: asHook(verb.url, verb.method) };
      case "Hangup":
      case "Reject":
        return { go: "end" };
    }
  }

  /** Speaks to the end, or until the call goes elsewhere. */
  async #voiced(speak: () => void): Promise<Outcome> {
    await playToEnd(this.#twilioCall.call, this.#leave, speak);
    return ON;
  }

  async #relay(verb: Verb & { verb: "Relay" }): Promise<Outcome> {
    const end = await runRelay(this.#parts, relayed(this.#twilioCall, verb.relay), this.#leave);
    if (end.error) this.#warn(`${end.error.code}: ${end.error.message}`);
    this.#by = end.status === "ended" ? "relay_end" : "carrier";
    if (this.#twilioCall.redirect.leave.signal.aborted) return ON;
    return this.#action(verb.action, verb.method, relayFields(end));
  }

  /** The document goes on when the application closes the socket. */
  async #stream({ stream, action, method }: Verb & { verb: "Stream" }): Promise<Outcome> {
    const words = twilioDialect(this.#twilioCall, stream);
    const tell = (event: string, error?: string): void => {
      const fields = {
        StreamSid: words.id,
        StreamEvent: event,
        ...(stream.name === null ? {} : { StreamName: stream.name }),
        ...(error === undefined ? {} : { StreamError: error }),
      };
      if (stream.statusCallback !== null)
        this.#parts.callbacks.stream(this.#twilioCall, asHook(stream.statusCallback, stream.statusMethod), fields);
    };
    const complaint = urlComplaint(stream.url);
    const end =
      complaint === null
        ? await runStream(this.#parts, this.#twilioCall.call, words, this.#leave, {
            opened: () => tell("stream-started"),
          })
        : { status: "failed" as const, opened: false, error: complaint };
    const error =
      end.error === undefined ? undefined : (complaint ?? `${end.opened ? "31921" : "31920"}: ${end.error}`);
    if (error !== undefined) {
      this.#warn(error);
      tell("stream-error", error);
    }
    if (end.opened) tell("stream-stopped");
    this.#by = end.status === "ended" ? "relay_end" : "carrier";
    if (this.#twilioCall.redirect.leave.signal.aborted) return ON;
    return this.#action(action, method, { StreamSid: words.id });
  }

  async #dial(verb: Verb & { verb: "Dial" }): Promise<Outcome> {
    const sid = `CA${randomBytes(16).toString("hex")}`;
    const { status, seconds } = await bridge(
      this.#parts,
      this.#twilioCall.call,
      { number: verb.number, sid },
      this.#leave,
    );
    this.#by = "carrier";
    if (this.#leave.aborted) return ON;
    const talked =
      status === "completed" ? { DialCallDuration: String(seconds), DialBridged: "true" } : { DialBridged: "false" };
    return this.#action(verb.action, verb.method, { DialCallSid: sid, DialCallStatus: status, ...talked });
  }

  /** Asks an action URL how to go on; its document replaces the present one. */
  async #action(url: string | null, method: string, fields: Record<string, string>): Promise<Outcome> {
    if (url === null) return ON;
    return {
      go: "to",
      target: { twiml: await this.#parts.callbacks.fetchDocument(this.#twilioCall, asHook(url, method), fields) },
    };
  }

  #warn(message: string): void {
    const { sid, to, from } = this.#twilioCall.call.order;
    this.#parts.ledger.write({ kind: "warning", call_sid: sid, to, from, message });
  }
}
