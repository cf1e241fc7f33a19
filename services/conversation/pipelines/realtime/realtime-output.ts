import type { Pcm } from "../../audio/port.ts";
import {
  deleteItem,
  truncateItem,
  type Dialect,
  type RealtimeEvent,
} from "../../providers/realtime/realtime-dialect.ts";
import type { GenerateEffect } from "../port.ts";
import type { ProcessorContext } from "../voice-processor.ts";
import { RealtimeGeneration } from "./realtime-generation.ts";
import { ResponseAudio } from "./response-audio.ts";
import { type ModelResponse } from "./model-response.ts";
import { ResponseQueue, type ResponseEnd } from "./response-queue.ts";
import type { SessionSync } from "./session-sync.ts";
import { VerbatimTexts } from "./verbatim-texts.ts";
import type { WireAudio } from "../../providers/realtime/wire-audio.ts";

/** Dependencies of an output. `failed`: speech is no longer possible. */
export interface RealtimeOutputDeps {
  readonly context: ProcessorContext;
  readonly dialect: Dialect;
  readonly wire: WireAudio;
  readonly session: SessionSync;
  send(event: object): void;
  failed(code: string): void;
}

/** The realtime model's speech: answers to the dialogue and verbatim texts, on their way through the playout. */
export class RealtimeOutput {
  readonly #deps: RealtimeOutputDeps;
  readonly #responses: ResponseQueue;
  readonly #audio: ResponseAudio;
  readonly #generation: RealtimeGeneration;
  readonly #verbatim: VerbatimTexts;

  constructor(deps: RealtimeOutputDeps) {
    const { context, session, wire, dialect } = deps;
    const { bytesPerMs } = wire;
    this.#deps = deps;
    const audio = new ResponseAudio({ playout: context.playout, bytesPerMs, decoder: () => wire.decoder() });
    const responses = new ResponseQueue(
      { dialect, send: (event) => deps.send(event), now: () => context.now() },
      {
        audio: (response, id, base64) => {
          this.#generation.audioArrived(response);
          audio.audio(response, id, Buffer.from(base64, "base64"), this.#isInterruptible(response));
        },
        text: (response, id, text) => {
          this.#generation.outputArrived(response);
          audio.text(response, id, text, this.#isInterruptible(response));
        },
        ended: (response, end) => this.#ended(response, end),
        preemptiveFailed: (response) => this.#generation.preemptiveFailed(response),
      },
    );
    this.#audio = audio;
    this.#responses = responses;
    this.#generation = new RealtimeGeneration({ context, session, responses, audio });
    this.#verbatim = new VerbatimTexts(responses, {
      error: (code) => context.host.recordError(code),
      failed: (code) => deps.failed(code),
    });
  }

  /** Speech is in progress or queued. */
  get speaking(): boolean {
    return this.#responses.speaking;
  }
  get generating(): boolean {
    return this.#generation.active;
  }
  get first_token_ms(): number | null {
    return this.#generation.first_token_ms;
  }
  /** The part of the current generation that was handed to speech. */
  get text(): string {
    return this.#generation.text;
  }

  say(text: string, how: { interruptible: boolean }): void {
    this.#generation.cancelPreemptive();
    this.#verbatim.say(text, how);
  }

  generate(effect: GenerateEffect): void {
    this.#generation.generate(effect);
  }

  playAudio(pcm: Pcm): void {
    this.#audio.aside(pcm);
  }

  /** Falls silent; the server's conversation keeps of each item what the caller has heard. */
  interrupt(report: (spoken: string) => void): void {
    const { spoken, unfinished } = this.#deps.context.playout.flush();
    this.#generation.interrupt(() => {
      this.#generation.cancelPreemptive();
      this.#responses.cancelAll();
      this.#verbatim.clear();
      for (const { id, response, heard_ms } of this.#audio.truncate(unfinished)) {
        if (heard_ms > 0) this.#deps.send(truncateItem(id, heard_ms));
        // of one that is in progress, the rest goes once it has ended
        else if (response.completed) this.#deps.send(deleteItem(id));
      }
      report(spoken);
    });
  }

  /** Begins the answer to a turn whose words are not known yet, where nothing else is under way. */
  startPreemptive(): void {
    const { playout, host } = this.#deps.context;
    const busy = this.generating || this.speaking || playout.busy;
    if (!busy && host.listening()) this.#generation.startPreemptive();
  }

  cancelPreemptive(): void {
    this.#generation.cancelPreemptive();
  }

  cancel(): void {
    this.#generation.cancelPreemptive();
    this.#generation.cancel();
  }

  receive(event: RealtimeEvent): void {
    this.#responses.receive(event);
  }

  /** An error of the server; true: it was about a response in progress, and is handled. */
  refused(code: string, event_id: string | null): boolean {
    return this.#responses.refused(code, event_id);
  }

  /** To be called regularly: time limits. */
  tick(): void {
    this.#responses.tick();
  }

  /** The connection is gone. */
  clear(): void {
    this.#generation.clear();
    this.#responses.cancelAll();
  }

  #isInterruptible(response: ModelResponse): boolean {
    return this.#verbatim.isInterruptible(response) ?? this.#generation.isInterruptible(response);
  }

  #ended(response: ModelResponse, end: ResponseEnd): void {
    this.#audio.end(response);
    if (!this.#verbatim.ended(response, end.code)) this.#generation.ended(response, end);
  }
}
