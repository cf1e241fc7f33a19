import type { Cancel, SimTime } from "./simulated-time.ts";

/** What was heard of one utterance. `text` is the exact spoken prefix (whole words) when it was cut. */
export interface Heard {
  text: string;
  interrupted: boolean;
  /** How long it was spoken, simulated ms. */
  durationMs: number;
  /** Set when a sound was played instead of speech. */
  media?: string;
}

/** One utterance on its way to the person. `closed`: no more text will be added. */
export interface Speech {
  text: string;
  closed: boolean;
  interruptible: boolean | undefined;
  preemptible: boolean;
  /** A sound's address and its length in simulated ms; such an utterance has no text. */
  media?: { source: string; durationMs: number };
}

/** How text is to be spoken. `last` closes the utterance. */
export interface SayOptions {
  last: boolean;
  interruptible?: boolean | undefined;
  preemptible?: boolean | undefined;
}

/** What the voice tells its line. */
export interface VoiceListener {
  onStart(speech: Speech): void;
  onPause(finished: boolean): void;
  onHeard(heard: Heard): void;
}

/** The agent's voice: text comes in pieces, goes out at speaking speed; positions are computed, not ticked. */
export interface Voice {
  say(text: string, options: SayOptions): void;
  play(source: string, durationMs: number, options: Omit<SayOptions, "last">): void;
  current(): Speech | null;
  /** What has been spoken of the current utterance. */
  spoken(): string;
  /** Cuts everything queued; null when nothing was being said any more. */
  interrupt(): Heard | null;
  /** Resolves when nothing is left to say: all played, cut, or the line is dead. */
  drained(): Promise<void>;
  /** The line is dead: what was heard so far is reported as interrupted, later text goes nowhere. */
  stop(): void;
}

/** Cuts back to whole words, so that the prefix is what a person would say they heard. */
function wholeWords(text: string, chars: number): string {
  if (chars >= text.length) return text;
  const prefix = text.slice(0, chars);
  return /\s/.test(text[chars] ?? " ") ? prefix : prefix.replace(/\S*$/, "").trimEnd();
}

/** A silent voice at `charsPerSecond` (simulated). */
export const startVoice = (time: SimTime, charsPerSecond: number, listener: VoiceListener): Voice =>
  new AgentVoice(time, charsPerSecond, listener);

class AgentVoice implements Voice {
  readonly #time: SimTime;
  readonly #charsPerSecond: number;
  readonly #listener: VoiceListener;
  readonly #queue: Speech[] = [];
  #waiting: (() => void)[] = [];
  /** Spoken of the first utterance up to `#since`, simulated ms. */
  #playedMs = 0;
  /** The simulated instant from which it has been playing; null: silent. */
  #since: number | null = null;
  #cancelTimer: Cancel = () => undefined;
  /** From the first word until a pause. */
  #sounding = false;
  #stopped = false;

  constructor(time: SimTime, charsPerSecond: number, listener: VoiceListener) {
    this.#time = time;
    this.#charsPerSecond = charsPerSecond;
    this.#listener = listener;
  }

  say(text: string, options: SayOptions): void {
    if (this.#stopped) return;
    const tail = this.#queue.at(-1);
    if (text === "" && (!tail || tail.closed)) return; // an empty closing token of nothing
    const speech = tail && !tail.closed ? tail : this.#open(options);
    speech.text += text;
    if (options.interruptible !== undefined) speech.interruptible = options.interruptible;
    if (options.preemptible !== undefined) speech.preemptible = options.preemptible;
    speech.closed = options.last;
    this.#pump();
  }

  play(source: string, durationMs: number, options: Omit<SayOptions, "last">): void {
    if (this.#stopped) return;
    const tail = this.#queue.at(-1);
    if (tail) tail.closed = true;
    const speech = this.#open(options);
    speech.media = { source, durationMs };
    speech.closed = true;
    this.#pump();
  }

  current(): Speech | null {
    return this.#queue[0] ?? null;
  }

  spoken(): string {
    const [speech] = this.#queue;
    return speech ? wholeWords(speech.text, this.#chars(speech)) : "";
  }

  interrupt(): Heard | null {
    const [speech] = this.#queue;
    if (!speech) return null;
    // Its last word is out although its timer has not run yet: that is no interruption.
    const complete = this.#queue.length === 1 && speech.closed && this.#spokenMs() >= this.#lengthMs(speech);
    const heard = this.#report(speech, !complete);
    this.#cancelTimer();
    this.#queue.length = 0;
    this.#since = null;
    this.#playedMs = 0;
    if (heard.text !== "" || heard.media) this.#listener.onHeard(heard);
    this.#pause(true);
    this.#settle();
    return complete ? null : heard;
  }

  drained(): Promise<void> {
    if (this.#queue.length === 0 || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.interrupt();
    this.#settle();
  }

  /** Text of a new turn may cut a preemptible one that is still being spoken. */
  #open({ interruptible, preemptible }: Omit<SayOptions, "last">): Speech {
    if (this.#queue.length > 0 && this.#queue.every((s) => s.closed && s.preemptible)) this.interrupt();
    const speech: Speech = { text: "", closed: false, interruptible, preemptible: preemptible ?? false };
    this.#queue.push(speech);
    return speech;
  }

  /** Plays what is there; called whenever text arrives or a stretch has been spoken. */
  #pump(): void {
    const [speech] = this.#queue;
    if (!speech || this.#since !== null) return;
    const restMs = this.#lengthMs(speech) - this.#playedMs;
    if (restMs > 0) {
      this.#playFor(speech, restMs);
      return;
    }
    if (!speech.closed) {
      this.#pause(false);
      return;
    }
    const heard = this.#report(speech, false);
    this.#queue.shift();
    this.#playedMs = 0;
    if (speech.text !== "" || speech.media) this.#listener.onHeard(heard);
    if (this.#queue.length === 0) this.#pause(true);
    this.#settle();
    this.#pump();
  }

  #playFor(speech: Speech, restMs: number): void {
    if (!this.#sounding) {
      this.#sounding = true;
      this.#listener.onStart(speech);
    }
    this.#since = this.#time.elapsedMs();
    this.#cancelTimer = this.#time.after(restMs, () => {
      this.#since = null;
      this.#playedMs += restMs;
      this.#pump();
    });
  }

  #pause(finished: boolean): void {
    this.#sounding = false;
    this.#listener.onPause(finished);
  }

  #settle(): void {
    if (this.#queue.length > 0 && !this.#stopped) return;
    const done = this.#waiting;
    this.#waiting = [];
    for (const resolve of done) resolve();
  }

  #lengthMs(speech: Speech): number {
    return speech.media ? speech.media.durationMs : (speech.text.length * 1000) / this.#charsPerSecond;
  }

  #spokenMs(): number {
    return this.#playedMs + (this.#since === null ? 0 : this.#time.elapsedMs() - this.#since);
  }

  #chars(speech: Speech): number {
    return Math.min(speech.text.length, Math.floor((this.#spokenMs() * this.#charsPerSecond) / 1000));
  }

  #report(speech: Speech, interrupted: boolean): Heard {
    return {
      text: interrupted ? wholeWords(speech.text, this.#chars(speech)) : speech.text,
      interrupted,
      durationMs: Math.round(Math.min(this.#spokenMs(), this.#lengthMs(speech))),
      ...(speech.media ? { media: speech.media.source } : {}),
    };
  }
}
