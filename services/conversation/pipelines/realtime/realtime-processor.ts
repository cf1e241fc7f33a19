import { ruleBasedEndpointing } from "../../audio/endpointing.ts";
import type { Endpointing, Pcm, Vad, VoiceActivity } from "../../audio/port.ts";
import { energyVad } from "../../audio/vad.ts";
import {
  realtimeConnection,
  type RealtimeAddress,
  type RealtimeConnection,
} from "../../providers/realtime/realtime-connection.ts";
import {
  appendAudio,
  deleteItem,
  truncateItem,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";
import { realtimeErrorCode, serverErrorKind } from "../../providers/realtime/server-errors.ts";
import type { GenerateEffect } from "../port.ts";
import type { ProcessorContext, VoiceProcessor } from "../voice-processor.ts";
import { CallerTurns } from "./caller-turns.ts";
import { VerbatimTexts } from "./verbatim-texts.ts";
import { RealtimeGeneration } from "./realtime-generation.ts";
import { ResponseAudio } from "./response-audio.ts";
import { ResponseQueue, type ModelResponse, type ResponseEnd } from "./response-queue.ts";
import { SessionSync } from "./session-sync.ts";
import { wireAudio, type WireAudio } from "./wire-audio.ts";

/** Errors of the server that are recorded: each code once, and so many at most. */
const MAX_SERVER_ERRORS = 20;
/** A frame of silence that initialises the detector. */
const FRAMES_PER_SECOND = 50;

/** What realtime processors are made with. `preemptive`: the answer is begun before the caller's words are known. `judge`: unfinished turns are waited for. */
export interface RealtimeProcessorOptions {
  address: RealtimeAddress;
  transcription_model: string;
  preemptive: boolean;
  judge?: Endpointing;
  connect?: typeof realtimeConnection;
}

class RealtimeProcessor implements VoiceProcessor {
  readonly #o: RealtimeProcessorOptions;
  readonly #context: ProcessorContext;
  readonly #connection: RealtimeConnection;
  readonly #vad: Vad;
  readonly #wire: WireAudio;
  readonly #session: SessionSync;
  readonly #turns: CallerTurns;
  readonly #responses: ResponseQueue;
  readonly #audio: ResponseAudio;
  readonly #generation: RealtimeGeneration;
  readonly #verbatim: VerbatimTexts;
  readonly #errors = new Set<string>();
  #activity: VoiceActivity;
  /** The connection is of no use any more. */
  #closed = false;

  constructor(o: RealtimeProcessorOptions, context: ProcessorContext) {
    const { format, playout, host } = context;
    this.#o = o;
    this.#context = context;
    this.#wire = wireAudio(format);
    this.#vad = energyVad({ rate: format.rate });
    this.#activity = this.#vad.push(new Int16Array(format.rate / FRAMES_PER_SECOND));
    this.#connection = (o.connect ?? realtimeConnection)(o.address, {
      event: (event) => {
        if (!this.#closed) this.#received(event);
      },
      lost: () => this.#failed("REALTIME_LOST"),
    });
    this.#session = this.#openSession();
    const { bytesPerMs } = this.#wire;
    this.#audio = new ResponseAudio({ playout, bytesPerMs, decoder: () => this.#wire.decoder() });
    this.#responses = this.#openResponses();
    this.#generation = new RealtimeGeneration({
      context,
      session: this.#session,
      responses: this.#responses,
      audio: this.#audio,
    });
    this.#verbatim = new VerbatimTexts(this.#responses, {
      error: (code) => host.recordError(code),
      failed: (code) => this.#failed(code),
    });
    this.#turns = this.#openTurns();
  }

  get hasPendingSpeech(): boolean {
    return this.#activity.speaking || this.#turns.hasPendingSpeech;
  }
  get generating(): boolean {
    return this.#generation.active;
  }
  get speaking(): boolean {
    return this.#responses.speaking;
  }
  get first_token_ms(): number | null {
    return this.#generation.first_token_ms;
  }

  pushAudio(pcm: Pcm, frame: Uint8Array | null): VoiceActivity {
    this.#activity = this.#vad.push(pcm);
    if (this.#closed) return this.#activity;
    const bytes = this.#wire.up(pcm, frame);
    const { buffer, byteOffset, byteLength } = bytes;
    if (byteLength > 0) this.#send(appendAudio(Buffer.from(buffer, byteOffset, byteLength).toString("base64")));
    this.#turns.voiceActivity(this.#activity);
    return this.#activity;
  }

  say(text: string, how: { interruptible: boolean; aside?: boolean }): void {
    // a filler would be one more response of the same model, in the way of the one that is awaited
    if (how.aside || text.trim() === "" || this.#closed) return;
    this.#generation.cancelPreemptive();
    this.#verbatim.say(text.trim(), how);
  }

  generate(effect: GenerateEffect): void {
    if (!this.#closed) this.#generation.generate(effect);
  }

  playAudio(pcm: Pcm): void {
    this.#audio.aside(pcm);
  }

  spokenText(): string {
    return this.#generation.text;
  }

  interrupt(report: (spoken: string) => void): void {
    const { spoken, unfinished } = this.#context.playout.flush();
    this.#generation.interrupt(() => {
      this.#generation.cancelPreemptive();
      this.#responses.cancelAll();
      this.#verbatim.clear();
      for (const { id, answer, heard_ms } of this.#audio.truncate(unfinished)) {
        if (heard_ms > 0) this.#send(truncateItem(id, heard_ms));
        // of one that is still being made, the rest goes once it has ended
        else if (answer.completed) this.#send(deleteItem(id));
      }
      report(spoken);
    });
  }

  discardTurn(): void {
    this.#generation.cancelPreemptive();
    this.#turns.discard();
  }

  cancelGeneration(): void {
    this.#generation.cancelPreemptive();
    this.#generation.cancel();
  }

  tick(): void {
    if (this.#closed) return;
    this.#turns.tick();
    this.#responses.tick();
  }

  close(): void {
    this.#closed = true;
    this.#connection.close();
  }

  #send(event: object): void {
    this.#connection.send(event);
  }

  #openSession(): SessionSync {
    const { address, transcription_model } = this.#o;
    const { language, voice } = this.#context.host.speechSettings;
    const settings = { voice: voice ?? address.voice, audio_format: this.#wire.name, language, transcription_model };
    return new SessionSync({ dialect: address.dialect, settings, send: (event) => this.#send(event) });
  }

  #openResponses(): ResponseQueue {
    const { dialect } = this.#o.address;
    const wire = { dialect, send: (event: object) => this.#send(event), now: () => this.#context.now() };
    return new ResponseQueue(wire, {
      audio: (response, id, audio) => {
        this.#generation.audioArrived(response);
        this.#audio.audio(response, id, Buffer.from(audio, "base64"), this.#isInterruptible(response));
      },
      text: (response, id, text) => {
        this.#generation.outputArrived(response);
        this.#audio.text(response, id, text, this.#isInterruptible(response));
      },
      ended: (response, end) => this.#responseEnded(response, end),
      preemptiveFailed: (response) => this.#generation.preemptiveFailed(response),
    });
  }

  #openTurns(): CallerTurns {
    const { host, events } = this.#context;
    return new CallerTurns({
      judge: this.#o.judge ?? ruleBasedEndpointing(),
      language: host.speechSettings.language,
      now: () => this.#context.now(),
      expectsShort: () => host.dtmfCollection() !== null,
      events: {
        partialTranscript: (text) => events.partialTranscript(text),
        noSpeech: () => {
          this.#generation.cancelPreemptive();
          events.noSpeech();
        },
        turnEnded: (text, timing) => {
          this.#session.transcriptKnown(text);
          events.turnEnded(text, timing);
          // an answer that the turn did not ask for
          this.#generation.cancelPreemptive();
        },
        sttFailed: (code) => {
          this.#generation.cancelPreemptive();
          events.sttFailed(code);
        },
        itemDiscarded: (id) => this.#send(deleteItem(id)),
      },
    });
  }

  #isInterruptible(response: ModelResponse): boolean {
    return this.#verbatim.isInterruptible(response) ?? this.#generation.isInterruptible(response);
  }

  #received(event: RealtimeEvent): void {
    if (event.type === "committed") this.#committed(event.item_id);
    else if (event.type === "transcript_delta") this.#turns.transcriptDelta(event.item_id, event.text);
    else if (event.type === "transcript") this.#turns.transcript(event.item_id, event.text);
    else if (event.type === "transcription_failed") this.#turns.transcriptionFailed(event.item_id);
    else if (event.type === "error") this.#serverError(event.code, event.event_id);
    else this.#responses.receive(event);
  }

  /** The server's endpointing has ended the caller's turn; the answer may begin before its words are known. One begun before does not include them. */
  #committed(item_id: string): void {
    this.#turns.committed(item_id);
    this.#generation.cancelPreemptive();
    const { playout, host } = this.#context;
    const busy = this.#generation.active || this.#responses.speaking || playout.busy;
    if (this.#o.preemptive && !busy && host.listening()) this.#generation.startPreemptive();
  }

  #serverError(code: string, event_id: string | null): void {
    if (this.#responses.refused(code, event_id)) return;
    const kind = serverErrorKind(code, event_id);
    if (kind === "fatal") this.#failed(realtimeErrorCode(code));
    else if (kind === "error" && !this.#errors.has(code) && this.#errors.size < MAX_SERVER_ERRORS) {
      this.#errors.add(code);
      this.#context.host.recordError(realtimeErrorCode(code));
    }
  }

  /** Nothing is heard or said any more. */
  #failed(code: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#generation.clear();
    this.#responses.cancelAll();
    this.#connection.close();
    this.#context.events.ttsFailed(code);
  }

  #responseEnded(response: ModelResponse, end: ResponseEnd): void {
    this.#audio.end(response);
    if (!this.#verbatim.ended(response, end.code)) this.#generation.ended(response, end);
  }
}

/** One speech-to-speech model, over OpenAI's Realtime protocol on a WebSocket. */
export const realtimeProcessor = (o: RealtimeProcessorOptions, context: ProcessorContext): VoiceProcessor =>
  new RealtimeProcessor(o, context);
