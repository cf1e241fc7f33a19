import type { Cancel, SimTime } from "./time.ts";

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
  /** Cuts everything queued; null when nothing was being said. */
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

/** Starts a silent voice at `charsPerSecond` (simulated). */
export function startVoice(time: SimTime, charsPerSecond: number, listener: VoiceListener): Voice {
  const queue: Speech[] = [];
  let waiting: (() => void)[] = [];
  let playedMs = 0; // of the current utterance, up to `since`
  let since: number | null = null; // simulated instant from which it has been playing; null: silent
  let cancelTimer: Cancel = () => undefined;
  let sounding = false; // from the first word until a pause
  let stopped = false;

  const lengthMs = (s: Speech): number => s.media ? s.media.durationMs : (s.text.length * 1000) / charsPerSecond;
  const spokenMs = (): number => playedMs + (since === null ? 0 : time.elapsedMs() - since);
  const chars = (s: Speech): number => Math.min(s.text.length, Math.floor((spokenMs() * charsPerSecond) / 1000));
  const report = (s: Speech, interrupted: boolean): Heard => ({
    text: interrupted ? wholeWords(s.text, chars(s)) : s.text,
    interrupted,
    durationMs: Math.round(Math.min(spokenMs(), lengthMs(s))),
    ...(s.media ? { media: s.media.source } : {}),
  });
  const settle = (): void => {
    if (queue.length > 0 && !stopped) return;
    const done = waiting;
    waiting = [];
    for (const resolve of done) resolve();
  };

  const pause = (finished: boolean): void => {
    sounding = false;
    listener.onPause(finished);
  };

  /** Plays what is there; called whenever text arrives or a stretch has been spoken. */
  const pump = (): void => {
    const s = queue[0];
    if (!s || since !== null) return;
    const restMs = lengthMs(s) - playedMs;
    if (restMs > 0) {
      if (!sounding) { sounding = true; listener.onStart(s); }
      since = time.elapsedMs();
      cancelTimer = time.after(restMs, () => { since = null; playedMs += restMs; pump(); });
      return;
    }
    if (!s.closed) { pause(false); return; }
    const heard = report(s, false);
    queue.shift();
    playedMs = 0;
    if (s.text !== "" || s.media) listener.onHeard(heard);
    if (queue.length === 0) pause(true);
    settle();
    pump();
  };

  const cut = (): Heard | null => {
    const s = queue[0];
    if (!s) return null;
    const heard = report(s, true);
    cancelTimer();
    queue.length = 0;
    since = null;
    playedMs = 0;
    if (heard.text !== "" || heard.media) listener.onHeard(heard);
    pause(true);
    settle();
    return heard;
  };

  /** Text of a new talk cycle may cut a preemptible one that is still being spoken. */
  const open = (options: Omit<SayOptions, "last">): Speech => {
    if (queue[0]?.closed && queue.every((s) => s.preemptible)) cut();
    const s: Speech = { text: "", closed: false, interruptible: options.interruptible, preemptible: options.preemptible ?? false };
    queue.push(s);
    return s;
  };

  return {
    say(text, options) {
      if (stopped) return;
      const tail = queue.at(-1);
      if (text === "" && (!tail || tail.closed)) return; // an empty closing token of nothing
      const s = tail && !tail.closed ? tail : open(options);
      s.text += text;
      if (options.interruptible !== undefined) s.interruptible = options.interruptible;
      if (options.preemptible !== undefined) s.preemptible = options.preemptible;
      s.closed = options.last;
      pump();
    },
    play(source, durationMs, options) {
      if (stopped) return;
      const tail = queue.at(-1);
      if (tail) tail.closed = true;
      const s = open(options);
      s.media = { source, durationMs };
      s.closed = true;
      pump();
    },
    current: () => queue[0] ?? null,
    spoken: () => (queue[0] ? wholeWords(queue[0].text, chars(queue[0])) : ""),
    interrupt: () => cut(),
    drained: () => (queue.length === 0 || stopped ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    stop() {
      if (stopped) return;
      stopped = true;
      cut();
      settle();
    },
  };
}
