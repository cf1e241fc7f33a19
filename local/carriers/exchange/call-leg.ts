import { setMaxListeners } from "node:events";
import { startLegTime, type LegTime } from "./leg-time.ts";
import {
  openAudioLeg,
  type AudioLeg,
  type AudioListener,
  type AudioPort,
  type AudioStream,
  type TurnFacts,
} from "../stream/sound-leg.ts";
import { startVoice, type Heard, type Speech, type Voice, type VoiceListener } from "./agent-voice.ts";
import type { SimTime } from "./simulated-time.ts";

/** Simulated speaking speed of agent and people, characters per second. */
export const SPEECH_CHARS_PER_SECOND = 15;
/** Speech that lasts this long over the agent's voice stops it, simulated ms. */
const BARGE_IN_MS = 300;
/** Recognition delivers its text this long after the person stopped, simulated ms. */
const RECOGNITION_MS = 250;

/** What the carrier's protocol learns from the person's end of the leg. Absent: the person is not listened to. */
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
export interface LegLog {
  heard(heard: Heard): void;
  said(text: string, delivered: boolean): void;
  digit(digit: string, delivered: boolean): void;
  /** On a line with sound: how long the person waited for the agent's answer. */
  turn(facts: TurnFacts): void;
}

/** Someone who hears both ends without taking part: a recorder. */
export interface Listener {
  sounding(who: "agent" | "person", on: boolean): void;
  key(digit: string): void;
  /** A frame of real sound; `sounding` is not told of it. `follows`: nothing was between it and that side's last one. */
  frame?(who: "agent" | "person", pcm: Int16Array, rate: number, follows: boolean): void;
}

/** One phone call's audio: text that takes time, and from when a stream comes real sound in real time. */
export interface CallLeg {
  /** The call's own time: compressed, but real where there is sound. */
  readonly time: LegTime;
  readonly voice: Voice;
  /** A stream is on its way: from now on the line carries sound. What the person is saying begins again. */
  expectAudio(): void;
  /** The stream is here. */
  attachAudio(port: AudioPort): AudioStream;
  /** The person's end makes a sound without words. */
  noise(kind: "cough" | "beep", ms: number): Promise<void>;
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

function withListeners(): Pick<CallLeg, "listen"> & { all: Required<Listener>; personSounds(): () => void } {
  const listeners = new Set<Listener>();
  const all: Required<Listener> = {
    sounding(who, on) {
      for (const listener of listeners) listener.sounding(who, on);
    },
    key(digit) {
      for (const listener of listeners) listener.key(digit);
    },
    frame(...sound) {
      for (const listener of listeners) listener.frame?.(...sound);
    },
  };
  return {
    all,
    listen(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
    personSounds() {
      all.sounding("person", true);
      return once(() => all.sounding("person", false));
    },
  };
}

/** The parties at the two ends; null: not there yet. */
interface Sides {
  agent: AgentSide | null;
  person: PersonSide | null;
}

const voiceListener = (sides: Sides, log: LegLog, all: Listener): VoiceListener => ({
  onStart(speech) {
    all.sounding("agent", true);
    sides.agent?.onSpeaking("agent", true);
    sides.person?.onAgentStarts(speech);
  },
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

/** Who learns of real sound: the person of the agent's, the book of everything. */
const soundListener = (sides: Sides, log: LegLog, all: Required<Listener>): AudioListener => ({
  voice: {
    onStart: (speech) => sides.person?.onAgentStarts(speech),
    onPause: (finished) => sides.person?.onAgentPauses(finished),
    onHeard(heard) {
      log.heard(heard);
      sides.person?.onHeard(heard);
    },
  },
  turn: (facts) => log.turn(facts),
  frame: (...sound) => all.frame(...sound),
});

/** The agent's voice, whichever way it comes: said to the carrier as text, or heard as sound. */
const eitherVoice = (text: Voice, sound: () => AudioLeg | null): Voice => ({
  say: (words, options) => text.say(words, options),
  play: (source, durationMs, options) => text.play(source, durationMs, options),
  current: () => sound()?.current() ?? text.current(),
  spoken: () => (sound()?.current() ? (sound()?.spoken() ?? "") : text.spoken()),
  interrupt: () => text.interrupt(),
  drained: () => text.drained(),
  stop: () => text.stop(),
});

/** What one line's parts share. */
interface Wires {
  time: LegTime;
  log: LegLog;
  sides: Sides;
  all: Required<Listener>;
  text: Voice;
  over: AbortSignal;
}

/** True when the input may reach the agent; stops the agent's voice where that is allowed. */
function breakIn({ text, sides: { agent } }: Wires, kind: "speech" | "dtmf"): boolean {
  const speech = text.current();
  if (!agent?.hears(kind)) return false;
  if (!speech) return true;
  if (!agent.interruptibleBy(kind, speech)) return agent.reportsDuringSpeech(kind);
  const heard = text.interrupt();
  if (heard) agent.onInterrupt(heard);
  return true;
}

/** Words as text; false when `quiet` aborted before they were out. */
async function sayText(
  wires: Wires,
  text: string,
  cutAfter: number,
  quiet: AbortSignal,
  fallSilent: () => void,
): Promise<boolean> {
  const { time, sides, log } = wires;
  const totalMs = (text.length * cutAfter * 1000) / SPEECH_CHARS_PER_SECOND;
  if (!(await time.wait(Math.min(BARGE_IN_MS, totalMs), quiet))) return false;
  sides.agent?.onSpeaking("person", true);
  let reaches = breakIn(wires, "speech");
  if (!(await time.wait(Math.max(0, totalMs - BARGE_IN_MS) / 2, quiet))) return false;
  if (reaches) sides.agent?.onPartial(text.slice(0, Math.ceil(text.length / 2)).replace(/\s\S*$/, ""));
  if (!(await time.wait(Math.max(0, totalMs - BARGE_IN_MS) / 2, quiet))) return false;
  fallSilent();
  sides.agent?.onSpeaking("person", false);
  if (cutAfter < 1) return true;
  reaches ||= breakIn(wires, "speech");
  if (!(await time.wait(RECOGNITION_MS, wires.over))) return true;
  log.said(text, reaches && sides.agent !== null);
  if (reaches) sides.agent?.onSaid(text);
  return true;
}

/** A key of the person's: to the stream where there is one, else to the agent that listens for keys. */
function pressKey(wires: Wires, sound: AudioLeg | null, digit: string): void {
  if (wires.over.aborted) return;
  wires.all.key(digit);
  const reaches = breakIn(wires, "dtmf") || sound?.attached() === true;
  wires.log.digit(digit, reaches);
  if (sound?.attached()) sound.digit(digit);
  else if (reaches) wires.sides.agent?.onDigit(digit);
}

/** Opens the audio of one call; the signal is the call's end. */
export function openLeg(simTime: SimTime, log: LegLog, signal: AbortSignal): CallLeg {
  const time = startLegTime(simTime);
  const sides: Sides = { agent: null, person: null };
  const { listen, all, personSounds } = withListeners();
  const text = startVoice(time, SPEECH_CHARS_PER_SECOND, voiceListener(sides, log, all));
  const wires: Wires = { time, log, sides, all, text, over: signal };
  const toSound = new AbortController();
  let quiet: AbortSignal | null = null;
  let sound: AudioLeg | null = null;
  let utterances = 0;
  signal.addEventListener("abort", () => text.stop(), { once: true });
  const withSound = (): AudioLeg => {
    sound ??= openAudioLeg(soundListener(sides, log, all), signal, time.clock);
    time.switchToRealTime();
    toSound.abort();
    return sound;
  };
  return {
    time,
    listen,
    voice: eitherVoice(text, () => sound),
    expectAudio: () => {
      withSound();
    },
    attachAudio: (port) => withSound().attach(port),
    setAgentSide(side) {
      sides.agent = side;
    },
    setPersonSide(side) {
      sides.person = side;
    },
    personSpeaking: () => utterances > 0,
    async noise(kind, ms) {
      await (sound ? sound.utter({ noise: kind, ms }) : time.wait(ms, signal));
    },
    async say(words, cutAfter = 1) {
      utterances += 1;
      const fallSilent = sound ? () => undefined : personSounds();
      try {
        if (!quiet) {
          quiet = AbortSignal.any([signal, toSound.signal]);
          setMaxListeners(0, quiet);
        }
        if (!sound && (await sayText(wires, words, cutAfter, quiet, fallSilent))) return;
        fallSilent();
        if (signal.aborted || !sound || !(await sound.utter({ words }, cutAfter)) || cutAfter < 1) return;
        log.said(words, sound.attached());
      } finally {
        fallSilent();
        utterances -= 1;
      }
    },
    press: (digit) => pressKey(wires, sound, digit),
  };
}
