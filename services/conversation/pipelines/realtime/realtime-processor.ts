import type { Pcm, VoiceActivity, VoiceModel } from "../../audio/port.ts";
import { energyVad, type Vad } from "../../audio/vad.ts";
import {
  realtimeConnection,
  type RealtimeAddress,
  type RealtimeConnection,
} from "../../providers/realtime/realtime-connection.ts";
import {
  appendAudio,
  deleteItem,
  type RealtimeAudioFormat,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";
import { realtimeErrorCode, serverErrorKind } from "../../providers/realtime/server-errors.ts";
import type { GenerateEffect } from "../port.ts";
import type { ProcessorContext, VoiceProcessor } from "../voice-processor.ts";
import { CallerTurns, type TurnEvents } from "./caller-turns.ts";
import { RealtimeOutput } from "./realtime-output.ts";
import { SessionSync } from "./session-sync.ts";
import { wireAudio, type WireAudio } from "../../providers/realtime/wire-audio.ts";

/** Errors of the server that are recorded: each code once, and so many at most. */
const MAX_SERVER_ERRORS = 20;
/** Sound may be words for so long until the server says that it is none, ms. */
const FRESH_MS = 3000;
/** Silence after which the server has ended a turn: 600 ms of frames. */
const END_SILENCE_FRAMES = 30;
/** A frame of silence that initialises the detector. */
const FRAMES_PER_SECOND = 50;

/** What realtime processors are made with. `preemptive`: the answer is begun before the caller's words are known. */
export interface RealtimeProcessorOptions {
  address: RealtimeAddress;
  transcription_model: string;
  preemptive: boolean;
  voices?: VoiceModel | undefined;
  connect?: typeof realtimeConnection;
}

/** Opens the server's session with the conversation's language and voice. */
function openSession(
  { address, transcription_model }: RealtimeProcessorOptions,
  { host }: ProcessorContext,
  audio_format: RealtimeAudioFormat,
  send: (event: object) => void,
): SessionSync {
  const { language, voice } = host.speechSettings;
  const settings = { voice: voice ?? address.voice, audio_format, language, transcription_model };
  return new SessionSync({ dialect: address.dialect, settings, send });
}

class RealtimeProcessor implements VoiceProcessor {
  readonly #o: RealtimeProcessorOptions;
  readonly #context: ProcessorContext;
  readonly #connection: RealtimeConnection;
  readonly #vad: Vad;
  readonly #wire: WireAudio;
  readonly #session: SessionSync;
  readonly #turns: CallerTurns;
  readonly #output: RealtimeOutput;
  readonly #errors = new Set<string>();
  #activity: VoiceActivity;
  /** The connection is unusable. */
  #closed = false;

  constructor(o: RealtimeProcessorOptions, context: ProcessorContext) {
    const { format, host } = context;
    const { dialect } = o.address;
    this.#o = o;
    this.#context = context;
    this.#wire = wireAudio(format);
    const { sensitivity } = host.speechSettings.listening;
    this.#vad = energyVad({ rate: format.rate, sensitivity, model: o.voices });
    this.#activity = this.#vad.push(new Int16Array(format.rate / FRAMES_PER_SECOND));
    const failed = (code: string): void => this.#failed(code);
    this.#connection = (o.connect ?? realtimeConnection)(o.address, {
      event: (event) => {
        if (!this.#closed) this.#received(event);
      },
      lost: () => failed("REALTIME_LOST"),
    });
    const send = (event: object): void => this.#connection.send(event);
    this.#session = openSession(o, context, this.#wire.name, send);
    this.#output = new RealtimeOutput({ context, dialect, wire: this.#wire, session: this.#session, send, failed });
    this.#turns = new CallerTurns({
      language: host.speechSettings.language,
      listening: host.speechSettings.listening,
      now: () => context.now(),
      expectsShort: () => host.dtmfCollection() !== null,
      events: this.#turnEvents(send),
    });
  }

  get hasPendingSpeech(): boolean {
    return this.#activity.speaking || this.#turns.hasPendingSpeech;
  }
  get hasPendingWords(): boolean {
    return this.#turns.hasPendingWords;
  }
  get mayBeWords(): boolean {
    const { speaking, speech_ms } = this.#activity;
    return this.#turns.hasPendingSpeech || (speaking && speech_ms < FRESH_MS);
  }
  get generating(): boolean {
    return this.#output.generating;
  }
  get speaking(): boolean {
    return this.#output.speaking;
  }
  get first_token_ms(): number | null {
    return this.#output.first_token_ms;
  }

  pushAudio(pcm: Pcm, frame: Uint8Array | null): VoiceActivity {
    this.#activity = this.#vad.push(pcm);
    if (this.#closed) return this.#activity;
    const { buffer, byteOffset, byteLength } = this.#wire.up(pcm, frame);
    if (byteLength > 0)
      this.#connection.send(appendAudio(Buffer.from(buffer, byteOffset, byteLength).toString("base64")));
    this.#turns.voiceActivity(this.#activity);
    return this.#activity;
  }

  forgetTalker(): void {
    this.#vad.forgetTalker();
  }

  say(text: string, how: { interruptible: boolean; aside?: boolean }): void {
    // a filler would be one more response of the same model and would delay the awaited one
    if (how.aside || text.trim() === "" || this.#closed) return;
    this.#output.say(text.trim(), how);
  }

  generate(effect: GenerateEffect): void {
    if (!this.#closed) this.#output.generate(effect);
  }

  playAudio(pcm: Pcm): void {
    this.#output.playAudio(pcm);
  }

  spokenText(): string {
    return this.#output.text;
  }

  interrupt(report: (spoken: string) => void): void {
    this.#output.interrupt(report);
  }

  /** The server hears the silence that ends their turn. */
  finishTurn(): Promise<void> {
    const { speaking } = this.#activity;
    if (this.#closed || !(speaking || this.#turns.hasPendingSpeech)) return Promise.resolve();
    const finished = this.#turns.finish(speaking);
    const frame = new Int16Array(this.#context.format.rate / FRAMES_PER_SECOND);
    for (let frames = 0; frames < END_SILENCE_FRAMES; frames++) this.pushAudio(frame, null);
    this.#activity = { ...this.#activity, speaking: false };
    return finished;
  }

  discardTurn(): void {
    this.#output.cancelPreemptive();
    this.#turns.discard();
  }

  cancelGeneration(): void {
    this.#output.cancel();
  }

  tick(): void {
    if (this.#closed) return;
    this.#turns.tick();
    this.#output.tick();
  }

  close(): void {
    this.#closed = true;
    this.#connection.close();
  }

  #turnEvents(send: (event: object) => void): TurnEvents {
    const { events } = this.#context;
    return {
      partialTranscript: (text) => events.partialTranscript(text),
      noSpeech: () => {
        this.#vad.judged(false);
        this.#output.cancelPreemptive();
        events.noSpeech();
      },
      turnEnded: (text, timing) => {
        this.#vad.judged(true);
        this.#session.transcriptKnown(text);
        events.turnEnded(text, timing);
        // an answer that the turn did not ask for
        this.#output.cancelPreemptive();
      },
      sttFailed: (code) => {
        this.#output.cancelPreemptive();
        events.sttFailed(code);
      },
      itemDiscarded: (id) => send(deleteItem(id)),
    };
  }

  #received(event: RealtimeEvent): void {
    if (event.type === "committed") this.#committed(event.item_id);
    else if (event.type === "transcript_delta") this.#turns.transcriptDelta(event.item_id, event.text);
    else if (event.type === "transcript") this.#turns.transcript(event.item_id, event.text);
    else if (event.type === "transcription_failed") this.#turns.transcriptionFailed(event.item_id);
    else if (event.type === "error") this.#serverError(event.code, event.event_id);
    else this.#output.receive(event);
  }

  /** The server's endpointing has ended the caller's turn. An answer begun before does not include it; one may begin before its words are known. */
  #committed(item_id: string): void {
    this.#turns.committed(item_id);
    this.#output.cancelPreemptive();
    if (this.#o.preemptive) this.#output.startPreemptive();
  }

  #serverError(code: string, event_id: string | null): void {
    if (this.#output.refused(code, event_id)) return;
    const kind = serverErrorKind(code, event_id);
    if (kind === "fatal") this.#failed(realtimeErrorCode(code));
    if (kind !== "error" || this.#errors.has(code) || this.#errors.size >= MAX_SERVER_ERRORS) return;
    this.#errors.add(code);
    this.#context.host.recordError(realtimeErrorCode(code));
  }

  /** Stops input and output. */
  #failed(code: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#output.clear();
    this.#connection.close();
    this.#context.events.ttsFailed(code);
  }
}

/** One speech-to-speech model, over OpenAI's Realtime protocol on a WebSocket. */
export const realtimeProcessor = (o: RealtimeProcessorOptions, context: ProcessorContext): VoiceProcessor =>
  new RealtimeProcessor(o, context);
