import type { Clock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { LAST_TURN_MS, type PipelineHost } from "./port.ts";
import type { VoiceProcessor } from "./voice-processor.ts";

/** What they say as they hang up, over audio: it is recognised once they are gone. */
export class LastTurn {
  #begun = false;
  #words = "";

  /** Recognises what was heard of the turn under way, within a time limit; "": nothing. */
  async finish(
    clock: Clock,
    processor: Pick<VoiceProcessor, "finishTurn" | "hasPendingSpeech">,
    host: Pick<PipelineHost, "dispatch">,
  ): Promise<string> {
    this.#begun = true;
    await within(clock, LAST_TURN_MS, processor.finishTurn());
    if (processor.hasPendingSpeech) host.dispatch({ type: "fault", code: "TRANSCRIPTION_TIMEOUT" });
    return this.#words;
  }

  /** True once they are gone: then these are their last words. */
  takes(text: string): boolean {
    if (this.#begun) this.#words = text;
    return this.#begun;
  }
}

/** The judgement of what they said last, once they are gone: it has a time limit. */
export class LastJudgement {
  readonly #clock: Clock;
  readonly #host: Pick<PipelineHost, "dispatch">;
  readonly #over = new AbortController();
  #stop: (() => void) | null = null;

  constructor(clock: Clock, host: Pick<PipelineHost, "dispatch">) {
    this.#clock = clock;
    this.#host = host;
  }

  /** It has begun. */
  begin(): void {
    this.#stop ??= startTimer(this.#clock, LAST_TURN_MS, () => this.#host.dispatch({ type: "time_up" }));
  }

  /** The dialogue has come to its end. */
  end(): void {
    this.#stop?.();
    this.#over.abort();
  }

  /** Resolves when none is under way any more. */
  async over(): Promise<void> {
    if (this.#stop !== null) await this.#clock.wait(2 * LAST_TURN_MS, this.#over.signal);
  }
}
