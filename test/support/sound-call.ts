import { createDecoder, decodeSpeech, encodeSpeech } from "../../deploy/local/speech/modem.ts";
import { cascadeMind } from "../../services/conversation/engines/cascade/cascade-mind.ts";
import type { SpeechEffect, TalkHost, TurnTiming, Voice } from "../../services/conversation/engines/port.ts";
import type { MindGround } from "../../services/conversation/engines/sound/mind.ts";
import { soundEngine, type SoundParts } from "../../services/conversation/engines/sound/sound-voice.ts";
import { step } from "../../services/conversation/flow/brain.ts";
import { collectionOf, type Flow } from "../../services/conversation/flow/flow.ts";
import { newTalk, type Effect, type TalkEvent, type TalkState } from "../../services/conversation/flow/state.ts";
import { memoryLeg, type FarEnd } from "../../services/conversation/media/legs/memory-leg.ts";
import { metronome } from "../../services/conversation/media/metronome.ts";
import { FRAME_MS } from "../../services/conversation/media/port.ts";
import {
  ModelFault,
  type ChatModel,
  type ChatRequest,
  type ModelAnswer,
  type SpeechModel,
  type TalkModels,
  type TranscriptionModel,
} from "../../services/conversation/models/port.ts";
import { codecFor } from "../../services/conversation/speech/g711.ts";
import { ruleJudge } from "../../services/conversation/speech/turn-judge.ts";
import { PAYLOAD } from "./talk-template.ts";
import { virtualClock, type VirtualClock } from "./virtual-clock.ts";

const RATE = 8000;
const FORMAT = { codec: "pcmu", rate: RATE } as const;
const BEAT_MS = 5;
/** Sound of the model that speaks comes in pieces of this length, much faster than it is heard. */
const PIECE = RATE / 10;

/** What the models of a call do, and how long they take, ms. */
export interface Delays {
  stt: number;
  first_token: number;
  token: number;
  first_audio: number;
}
/** A reply of the language model. */
export interface SimReply {
  text?: string;
  calls?: { id: string; name: string; arguments: string }[];
  fail?: true;
}

/** A whole call in virtual time: a caller at a leg in memory, the real engine and brain, models that do as the test says. */
export interface SoundCall {
  clock: VirtualClock;
  far: FarEnd;
  voice: Voice;
  told: TalkEvent[];
  faults: string[];
  timings: TurnTiming[];
  keys: string[];
  /** Questions the language model was asked, and those that were taken back. */
  asked: ChatRequest[];
  aborted: { chat: number; speech: number };
  /** Sentences that were to be spoken. */
  spoken: string[];
  state(): TalkState;
  transcript(): string[];
  /** Time passes; the caller is silent. */
  pass(ms: number): Promise<void>;
  /** The caller makes this sound while time passes. */
  sound(pcm: Int16Array): Promise<void>;
  say(text: string): Promise<void>;
  /** The network stands still for so long; what the carrier sends meanwhile comes at once then. */
  stall(ms: number): void;
  /** From now on the carrier sends nothing where the caller is silent. */
  mute(): void;
  /** Words the caller has heard so far, and when the last sound of ours was heard, ms. */
  heard(): string;
  lastSoundAt(): number | null;
  /** When something of ours was first heard after the instant. */
  firstSoundAfter(at: number): number | null;
  until(what: () => boolean, ms?: number): Promise<void>;
  tell(event: TalkEvent): void;
}

/** How often the caller has spoken, as the model sees it. */
export const turnsIn = ({ messages }: ChatRequest): number => messages.filter((m) => m.role === "user").length;

/** How a call is set up. `mind`: another than the cascade's. */
export interface SoundCallOptions {
  flow: Flow;
  reply(turns: number): SimReply;
  delays?: Partial<Delays>;
  preemptive?: boolean;
  fillers?: readonly string[];
  idle_ms?: number;
  tells_beep?: boolean;
  voicemail?: "hangup" | "leave_message";
  speech?: Partial<Pick<SpeechModel, "speak">>;
  transcription?: TranscriptionModel;
  more?: Partial<SoundParts>;
  mind?(ground: MindGround): ReturnType<SoundParts["mind"]>;
  payload?: Record<string, unknown>;
}

const NO_DELAYS: Delays = { stt: 0, first_token: 0, token: 0, first_audio: 0 };
const aborted = (): ModelFault => new ModelFault("MODEL_ABORTED", "taken back", false);

function models(
  clock: VirtualClock,
  o: SoundCallOptions,
  log: Pick<SoundCall, "asked" | "aborted" | "spoken">,
): TalkModels {
  const delays = { ...NO_DELAYS, ...o.delays };
  const wait = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (ms > 0) await clock.wait(ms, signal);
    if (signal.aborted) throw aborted();
  };
  const chat: ChatModel = {
    async answer(request, { signal, onText }): Promise<ModelAnswer> {
      log.asked.push(request);
      const noteAbort = (): void => {
        log.aborted.chat++;
      };
      signal.addEventListener("abort", noteAbort, { once: true });
      await wait(delays.first_token, signal);
      const { text = "", calls = [], fail } = o.reply(turnsIn(request));
      if (fail) throw new ModelFault("MODEL_ERROR", "it broke", true);
      for (const token of text.match(/\S+\s*/g) ?? []) {
        onText(token);
        await wait(delays.token, signal);
      }
      signal.removeEventListener("abort", noteAbort);
      return {
        text,
        calls,
        first_token_ms: delays.first_token,
        total_ms: 0,
        prompt_tokens: 1,
        completion_tokens: 1,
        tries: 1,
      };
    },
  };
  const speech: SpeechModel = {
    rate: RATE,
    signature: "fake",
    async *speak(text, signal) {
      log.spoken.push(text);
      const noteAbort = (): void => {
        log.aborted.speech++;
      };
      signal.addEventListener("abort", noteAbort, { once: true });
      await wait(delays.first_audio, signal);
      const pcm = encodeSpeech(text, RATE);
      for (let at = 0; at < pcm.length; at += PIECE) {
        yield pcm.slice(at, at + PIECE);
        if (signal.aborted) throw aborted();
      }
      signal.removeEventListener("abort", noteAbort);
    },
    ...o.speech,
  };
  const transcription: TranscriptionModel = o.transcription ?? {
    open() {
      const heard: Int16Array[] = [];
      return {
        push: (pcm) => {
          heard.push(pcm);
        },
        async text(signal) {
          const all = new Int16Array(heard.reduce((n, p) => n + p.length, 0));
          let at = 0;
          for (const pcm of heard) {
            all.set(pcm, at);
            at += pcm.length;
          }
          await wait(delays.stt, signal);
          return decodeSpeech(all, RATE);
        },
        close: () => undefined,
      };
    },
  };
  return { chat, speech, transcription };
}

/** The brain as the session runs it, without anything of the service around it. */
function hostOf(
  o: SoundCallOptions,
  call: Pick<SoundCall, "told" | "faults" | "timings" | "keys">,
): { host: TalkHost; attach(voice: Voice): void; state(): TalkState; tell(event: TalkEvent): void } {
  let state = newTalk(o.payload ?? PAYLOAD, o.voicemail ?? "hangup");
  let voice: Voice | null = null;
  const queue: TalkEvent[] = [];
  const withSaid = (event: TalkEvent): TalkEvent =>
    event.said === undefined && voice ? { ...event, said: voice.said() } : event;
  const perform = (effect: Effect): void => {
    if (effect.type === "note_error") call.faults.push(effect.code);
    else if (effect.type !== "http" && effect.type !== "transfer") voice?.perform(effect satisfies SpeechEffect);
    else if (effect.type === "http") voice?.waits?.();
  };
  const drain = (): void => {
    if (!voice) return;
    for (let event = queue[0]; event; event = queue[0]) {
      const made = step(o.flow, state, event);
      state = made.state;
      for (const effect of made.effects) perform(effect);
      queue.shift();
    }
  };
  const tell = (event: TalkEvent): void => {
    call.told.push(event);
    if (queue.push(withSaid(event)) === 1) drain();
  };
  const host: TalkHost = {
    ready: () => tell({ type: "started" }),
    tell,
    listening: () => state.mode === "listening" && state.node !== "",
    collection: () => collectionOf(o.flow, state.node),
    press: (digits) => {
      call.keys.push(digits);
    },
    tells_beep: o.tells_beep ?? true,
    idle_ms: o.idle_ms ?? 8000,
    foresee: (event) => step(o.flow, state, withSaid(event)).effects,
    manner: { language: "en-US", voice: null },
    timed: (t) => call.timings.push(t),
    thought: () => undefined,
    fault: (code) => {
      call.faults.push(code);
    },
  };
  return {
    host,
    attach(v) {
      voice = v;
      drain();
    },
    state: () => state,
    tell,
  };
}

/** Answers the phone: the talk begins. */
export function soundCall(o: SoundCallOptions): SoundCall {
  const clock = virtualClock();
  const log = { asked: [] as ChatRequest[], aborted: { chat: 0, speech: 0 }, spoken: [] as string[] };
  const notes = { told: [] as TalkEvent[], faults: [] as string[], timings: [] as TurnTiming[], keys: [] as string[] };
  const { host, attach, state, tell } = hostOf(o, notes);
  const { leg, far } = memoryLeg("CA1", FORMAT);
  const codec = codecFor(FORMAT);
  const talkModels = models(clock, o, log);
  const engine = soundEngine({
    clock,
    metronome: metronome(clock),
    keys: "sound",
    fillers: o.fillers ?? [],
    mind:
      o.mind ??
      ((ground) => cascadeMind({ models: talkModels, judge: ruleJudge(), preemptive: o.preemptive ?? true }, ground)),
    ...o.more,
  });
  const words: string[] = [];
  const sounds: number[] = [];
  const ear = createDecoder(RATE, { heard: (text) => words.push(text) });
  const queue: Int16Array[] = [];
  const late: Int16Array[] = [];
  let [frames, stalledUntil, muted] = [0, 0, false];

  const beat = async (): Promise<void> => {
    if (frames++ % (FRAME_MS / BEAT_MS) === 0) {
      const [played] = far.play(1);
      const pcm = played ? codec.decode(played) : new Int16Array(RATE / 50);
      if (pcm.some((v) => Math.abs(v) > 300)) sounds.push(clock.monotonicMs());
      ear.push(pcm);
      const sent = queue.shift() ?? (muted ? null : new Int16Array(RATE / 50));
      if (sent) late.push(sent);
      if (clock.monotonicMs() >= stalledUntil) for (const frame of late.splice(0)) far.speak(codec.encode(frame));
    }
    await clock.advance(BEAT_MS);
  };
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= BEAT_MS) await beat();
  };
  const sound = async (pcm: Int16Array): Promise<void> => {
    for (let at = 0; at < pcm.length; at += RATE / 50) {
      const frame = new Int16Array(RATE / 50);
      frame.set(pcm.subarray(at, at + RATE / 50));
      queue.push(frame);
    }
    await pass((pcm.length * 1000) / RATE);
  };
  const voice = engine.open(leg, host);
  attach(voice);
  return {
    clock,
    far,
    voice,
    ...notes,
    ...log,
    state,
    tell,
    pass,
    sound,
    transcript: () => state().transcript.map((l) => `${l.role}: ${l.content}`),
    stall: (ms) => {
      stalledUntil = clock.monotonicMs() + ms;
    },
    mute: () => {
      muted = true;
    },
    say: (text) => sound(encodeSpeech(text, RATE)),
    heard: () => words.join(" "),
    lastSoundAt: () => sounds.at(-1) ?? null,
    firstSoundAfter: (at) => sounds.find((s) => s >= at) ?? null,
    async until(what, ms = 20_000) {
      for (let left = ms; left > 0 && !what(); left -= BEAT_MS) await beat();
      if (!what()) throw new Error(`it did not happen within ${ms} ms of the call`);
    },
  };
}
