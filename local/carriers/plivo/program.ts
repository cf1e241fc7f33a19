import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { Exchange } from "../exchange/exchange.ts";
import type { Faults } from "../exchange/faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EndedBy } from "../ledger/entries.ts";
import { bridge, playToEnd } from "../exchange/bridged-leg.ts";
import type { Hook } from "../http/callback-sender.ts";
import { runStream } from "../stream/stream-session.ts";
import type { SimTime } from "../exchange/simulated-time.ts";
import type { Callbacks } from "./callbacks.ts";
import { CAUSES } from "./hangup-causes.ts";
import { DocumentError, parseDocument, type Verb } from "./plivo-xml.ts";
import { gather, voice, type Input } from "./input-collection.ts";
import type { Cause, PlivoCall } from "./plivo-call.ts";
import { plivoDialect, type StreamSettings } from "./stream.ts";

/** What leading a call through its documents needs. */
export interface ProgramDeps {
  exchange: Exchange;
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  callbacks: Callbacks;
}

/** A call that keeps being redirected is cut after so many documents. */
const MAX_DOCUMENTS = 1_000;
/** How often silence is looked for, simulated ms. */
const SILENCE_STEP_MS = 200;
const TONE_MS = 300;

/** Where the next document comes from, and what Plivo calls the request for it. */
interface Target {
  hook: Hook;
  event: string;
  fields: Record<string, string>;
}

/** What an instruction leads to: the next one, another document, or the end. */
type Outcome = { go: "on" } | { go: "to"; target: Target } | { go: "end"; cause: Cause };
const ON: Outcome = { go: "on" };

const asHook = (url: string, method: string): Hook => ({
  url,
  method: method.toUpperCase() === "GET" ? "GET" : "POST",
});

/** Leads an answered call through its documents. Resolves with who is to be named for the hang-up; why it ended stands in the call's cause. */
export const runProgram = (parts: ProgramDeps, plivoCall: PlivoCall, more: Record<string, string>): Promise<EndedBy> =>
  new Program(parts, plivoCall).run(more);

class Program {
  readonly #parts: ProgramDeps;
  readonly #plivoCall: PlivoCall;
  /** Aborts when the call is over or was sent elsewhere. */
  #leave: AbortSignal;

  constructor(parts: ProgramDeps, plivoCall: PlivoCall) {
    this.#parts = parts;
    this.#plivoCall = plivoCall;
    this.#leave = plivoCall.call.over;
  }

  async run(more: Record<string, string>): Promise<EndedBy> {
    const { call, params, document } = this.#plivoCall;
    let fetched = document;
    let target: Target | null = { hook: params.answer, event: "StartApp", fields: more };
    for (let documents = 0; target && documents < MAX_DOCUMENTS && !call.over.aborted; documents += 1) {
      this.#leave = AbortSignal.any([call.over, this.#plivoCall.redirect.leave.signal]);
      setMaxListeners(0, this.#leave);
      const outcome = await this.#follow(target, fetched);
      fetched = null;
      target = this.#redirected() ?? (outcome.go === "to" ? outcome.target : null);
      if (target === null && !call.over.aborted)
        this.#plivoCall.cause ??= outcome.go === "end" ? outcome.cause : CAUSES.endOfXml;
    }
    return "api";
  }

  /** Where a transfer sends the call meanwhile; null when none came. */
  #redirected(): Target | null {
    const { redirect, call } = this.#plivoCall;
    if (!redirect.leave.signal.aborted) return null;
    call.leg.voice.interrupt();
    this.#plivoCall.redirect = { leave: new AbortController(), next: null };
    return redirect.next ? { hook: redirect.next, event: "Transfer", fields: {} } : null;
  }

  async #follow({ hook, event, fields }: Target, fetched: string | null): Promise<Outcome> {
    let text: string;
    try {
      text = fetched ?? (await this.#parts.callbacks.fetchDocument(this.#plivoCall, hook, event, fields));
    } catch (error) {
      this.#warn(error instanceof Error ? error.message : String(error));
      return { go: "end", cause: CAUSES.answerUrl };
    }
    try {
      const { verbs, warnings } = text.trim() === "" ? { verbs: [], warnings: [] } : parseDocument(text);
      for (const message of warnings) this.#warn(message);
      for (const verb of verbs) {
        if (this.#leave.aborted) return ON;
        const outcome = await this.#perform(verb);
        if (outcome.go !== "on") return outcome;
      }
      return { go: "end", cause: CAUSES.endOfXml };
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.#warn(error.message);
      return { go: "end", cause: CAUSES.badXml };
    }
  }

  async #perform(verb: Verb): Promise<Outcome> {
    const { call } = this.#plivoCall;
    switch (verb.verb) {
      case "Speak":
      case "Play":
        await playToEnd(call, this.#leave, () => voice(call, verb, false));
        return ON;
      case "DTMF":
        await playToEnd(call, this.#leave, () =>
          call.leg.voice.play(`keys:${verb.digits}`, verb.digits.length * TONE_MS, { interruptible: false }),
        );
        return ON;
      case "Stream":
        return this.#streamed(verb.stream);
      case "GetInput":
        return this.#input(verb);
      case "Wait":
        await this.#pause(verb);
        return ON;
      case "Redirect":
        return { go: "to", target: { hook: asHook(verb.url, verb.method), event: "Redirect", fields: {} } };
      case "Dial":
        return this.#dial(verb);
      case "Hangup":
        if (verb.schedule === null) return { go: "end", cause: CAUSES.normalByXml };
        this.#schedule(verb.schedule);
        return ON;
    }
  }

  /** The end is set by the service, which lives in real time: it is not compressed. */
  #schedule(seconds: number): void {
    const { call } = this.#plivoCall;
    const cancel = this.#parts.time.after(
      seconds * 1000,
      () => this.#parts.exchange.end(call, "completed", "timeout"),
      seconds * 1000,
    );
    call.over.addEventListener("abort", cancel, { once: true });
  }

  /** With keepCallAlive the document goes on when the stream is over, else at once. */
  async #streamed(settings: StreamSettings): Promise<Outcome> {
    const stream = this.#stream(settings);
    if (settings.keepCallAlive) await stream;
    else stream.catch((error: unknown) => this.#warn(String(error)));
    return ON;
  }

  async #stream(settings: StreamSettings): Promise<void> {
    const { time, callbacks } = this.#parts;
    const plivoCall = this.#plivoCall;
    const words = plivoDialect(plivoCall, settings);
    const tell = (event: string): void => {
      if (settings.statusCallback !== null)
        callbacks.stream(plivoCall, asHook(settings.statusCallback, settings.statusMethod), {
          Event: event,
          StreamID: words.id,
          ServiceURL: settings.url,
          Timestamp: new Date().toISOString(),
        });
    };
    const enough = new AbortController();
    const cancel = time.after(0, () => enough.abort(), settings.timeoutSeconds * 1000);
    const end = await runStream(this.#parts, plivoCall.call, words, AbortSignal.any([this.#leave, enough.signal]), {
      opened: () => tell("StartStream"),
    });
    cancel();
    if (end.error !== undefined) this.#warn(end.error);
    tell(end.status === "failed" ? "DroppedStream" : "StopStream");
  }

  async #input({ input }: Verb & { verb: "GetInput" }): Promise<Outcome> {
    const given = await gather(this.#parts.time, this.#plivoCall.call, input, this.#leave);
    if (given === null) return ON;
    const target: Target = { hook: asHook(input.action, input.method), event: "GetInput", fields: inputFields(given) };
    if (input.redirect) return { go: "to", target };
    await this.#parts.callbacks
      .fetchDocument(this.#plivoCall, target.hook, target.event, target.fields)
      .catch((error: unknown) => this.#warn(String(error)));
    return ON;
  }

  /** Waits the time the service set, in its real time; silence and a machine's beep are the far end's and end it sooner. */
  async #pause({ seconds, minSilenceMs, beep }: Verb & { verb: "Wait" }): Promise<void> {
    const { call, answeredSimMs } = this.#plivoCall;
    const { time } = call.leg;
    const beepInMs = beep && call.machine ? call.machine.beepEndsMs - (time.elapsedMs() - answeredSimMs) : null;
    if (beepInMs !== null && beepInMs >= 0 && beepInMs <= seconds * 1000) {
      await time.wait(beepInMs, this.#leave);
      return;
    }
    if (minSilenceMs === null) {
      await time.wait(seconds * 1000, this.#leave, seconds * 1000);
      return;
    }
    let quietMs = 0;
    for (let waitedMs = 0; waitedMs < seconds * 1000 && quietMs < minSilenceMs; waitedMs += SILENCE_STEP_MS) {
      if (!(await time.wait(SILENCE_STEP_MS, this.#leave))) return;
      quietMs = call.leg.personSpeaking() ? 0 : quietMs + SILENCE_STEP_MS;
    }
  }

  async #dial(verb: Verb & { verb: "Dial" }): Promise<Outcome> {
    const sid = randomUUID();
    const number = verb.number.startsWith("+") ? verb.number : `+${verb.number}`;
    const { status } = await bridge(this.#parts, this.#plivoCall.call, { number, sid }, this.#leave);
    if (this.#leave.aborted || verb.action === null) return ON;
    const fields = {
      DialStatus: status,
      DialBLegUUID: sid,
      DialALegUUID: this.#plivoCall.call.order.sid,
      DialRingStatus: "true",
    };
    return { go: "to", target: { hook: asHook(verb.action, verb.method), event: "Redirect", fields } };
  }

  #warn(message: string): void {
    const { sid, to, from } = this.#plivoCall.call.order;
    this.#parts.ledger.write({ kind: "warning", call_sid: sid, to, from, message });
  }
}

/** The parameters of a GetInput's action request. */
const inputFields = (given: NonNullable<Input>): Record<string, string> =>
  "speech" in given
    ? { InputType: "speech", Speech: given.speech, SpeechConfidenceScore: "0.92", BilledAmount: "0.01800", Digits: "" }
    : { InputType: "dtmf", Digits: given.digits, Speech: "" };
