import { startVoice, type Heard, type Speech, type Voice, type VoiceListener } from "./voice.ts";
import type { SimTime } from "./time.ts";

/** Simulated speaking speed of agent and people, characters per second. */
export const SPEECH_CHARS_PER_SECOND = 15;
/** Speech that lasts this long over the agent's voice stops it, simulated ms (voice.md: 300 ms on the phone). */
const BARGE_IN_MS = 300;
/** Recognition delivers its text this long after the person stopped, simulated ms. */
const RECOGNITION_MS = 250;

/** What the carrier's protocol learns from the person's end of the line. Absent: nobody listens to the person. */
export interface AgentSide {
  /** Is this kind of input listened to at all? */
  hears(kind: "speech" | "dtmf"): boolean;
  /** May the person's voice (or a key) stop the agent now? */
  interruptibleBy(kind: "speech" | "dtmf", agentSpeech: Speech): boolean;
  /** Is input reported although it could not interrupt? */
  reportsDuringSpeech(kind: "speech" | "dtmf"): boolean;
  onPartial(text: string): void;
  onSaid(text: string): void;
  onDigit(digit: string): void;
  /** The agent was cut: what the person really heard, and for how long, simulated ms. */
  onInterrupt(heard: Heard): void;
  /** A voice starts or stops: the agent's, the person's. */
  onSpeaking(who: "agent" | "person", speaking: boolean): void;
  /** An utterance was played to its end, or cut. */
  onPlayed(heard: Heard): void;
}

/** What the person notices of the agent. */
export interface PersonSide {
  onAgentStarts(speech: Speech): void;
  /** The agent's words so far have all been spoken; `finished` is false when more was announced but has not come. */
  onAgentPauses(finished: boolean): void;
  onHeard(heard: Heard): void;
}

/** What is written down about the line. */
export interface LineLog {
  heard(heard: Heard): void;
  said(text: string, delivered: boolean): void;
  digit(digit: string, delivered: boolean): void;
}

/** Someone who hears both ends without taking part: a recorder. */
export interface Listener {
  sounding(who: "agent" | "person", on: boolean): void;
  key(digit: string): void;
}

/** One phone call's audio, as text that takes time. */
export interface Line {
  readonly voice: Voice;
  /** The protocol takes the agent's end; null when it leaves. */
  setAgentSide(side: AgentSide | null): void;
  setPersonSide(side: PersonSide): void;
  /** The person speaks. Resolves when the words are out (or the line is dead); `cutAfter` stops after that share of the text. */
  say(text: string, cutAfter?: number): Promise<void>;
  press(digit: string): void;
  personSpeaking(): boolean;
  /** Tells every sound of both ends until the function it gives is called. */
  listen(listener: Listener): () => void;
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}

function withListeners(): Pick<Line, "listen"> & { all: Listener; personSounds(): () => void } {
  const listeners = new Set<Listener>();
  const all: Listener = {
    sounding(who, on) { for (const listener of listeners) listener.sounding(who, on); },
    key(digit) { for (const listener of listeners) listener.key(digit); },
  };
  return {
    all,
    listen(listener) {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
    personSounds() {
      all.sounding("person", true);
      return once(() => all.sounding("person", false));
    },
  };
}

/** Who is at the two ends; null: nobody yet. */
interface Sides { agent: AgentSide | null; person: PersonSide | null }

const voiceListener = (sides: Sides, log: LineLog, all: Listener): VoiceListener => ({
  onStart(speech) { all.sounding("agent", true); sides.agent?.onSpeaking("agent", true); sides.person?.onAgentStarts(speech); },
  onPause(finished) {
    all.sounding("agent", false);
    if (finished) sides.agent?.onSpeaking("agent", false);
    sides.person?.onAgentPauses(finished);
  },
  onHeard(heard) {
    log.heard(heard);
    sides.agent?.onPlayed(heard);
    sides.person?.onHeard(heard);
  },
});

/** Opens the audio of one call; the signal is the call's end. */
export function openLine(time: SimTime, log: LineLog, signal: AbortSignal): Line {
  const sides: Sides = { agent: null, person: null };
  let mouthOpen = 0;
  const { listen, all, personSounds } = withListeners();
  const voice = startVoice(time, SPEECH_CHARS_PER_SECOND, voiceListener(sides, log, all));
  signal.addEventListener("abort", () => voice.stop(), { once: true });

  /** True when the input may reach the agent; stops the agent's voice where that is allowed. */
  const breakIn = (kind: "speech" | "dtmf"): boolean => {
    const speech = voice.current();
    if (!sides.agent?.hears(kind)) return false;
    if (!speech) return true;
    if (!sides.agent.interruptibleBy(kind, speech)) return sides.agent.reportsDuringSpeech(kind);
    const heard = voice.interrupt();
    if (heard) sides.agent.onInterrupt(heard);
    return true;
  };

  return {
    voice,
    setAgentSide(side) { sides.agent = side; },
    setPersonSide(side) { sides.person = side; },
    personSpeaking: () => mouthOpen > 0,
    listen,
    async say(text, cutAfter = 1) {
      const totalMs = (text.length * cutAfter * 1000) / SPEECH_CHARS_PER_SECOND;
      mouthOpen += 1;
      const fallSilent = personSounds();
      try {
        if (!await time.wait(Math.min(BARGE_IN_MS, totalMs), signal)) return;
        sides.agent?.onSpeaking("person", true);
        let reaches = breakIn("speech");
        if (!await time.wait(Math.max(0, totalMs - BARGE_IN_MS) / 2, signal)) return;
        if (reaches) sides.agent?.onPartial(text.slice(0, Math.ceil(text.length / 2)).replace(/\s\S*$/, ""));
        if (!await time.wait(Math.max(0, totalMs - BARGE_IN_MS) / 2, signal)) return;
        fallSilent();
        sides.agent?.onSpeaking("person", false);
        if (cutAfter < 1) return;
        reaches ||= breakIn("speech");
        if (!await time.wait(RECOGNITION_MS, signal)) return;
        log.said(text, reaches && sides.agent !== null);
        if (reaches) sides.agent?.onSaid(text);
      } finally {
        fallSilent();
        mouthOpen -= 1;
      }
    },
    press(digit) {
      if (signal.aborted) return;
      all.key(digit);
      const reaches = breakIn("dtmf");
      log.digit(digit, reaches);
      if (reaches) sides.agent?.onDigit(digit);
    },
  };
}
