import type { Clock } from "../../../shared/time/clock.ts";
import { beepDetector } from "../audio/beep-detector.ts";
import { beepWait, type BeepWait } from "./beep-wait.ts";

/** The wait for voicemail's beep on an audio leg. `signals_beep`: the carrier reports the beep, else it is detected in the audio. */
export class VoicemailBeep {
  readonly #clock: Clock;
  readonly #signalsBeep: boolean;
  readonly #detector: ReturnType<typeof beepDetector>;
  readonly #beeped: () => void;
  #wait: BeepWait | null = null;

  constructor(clock: Clock, signals_beep: boolean, rate: number, beeped: () => void) {
    this.#clock = clock;
    this.#signalsBeep = signals_beep;
    this.#detector = beepDetector(rate);
    this.#beeped = beeped;
  }

  /** True from the first wait on: there is no dialogue any more. */
  get awaited(): boolean {
    return this.#wait !== null;
  }

  /** Begins to wait. `speaking`: the greeting is being played. */
  await(speaking: boolean): void {
    this.#wait = beepWait(this.#clock, this.#signalsBeep, this.#beeped);
    this.#wait.speechChanged(speaking);
  }

  speechChanged(speaking: boolean): void {
    this.#wait?.speechChanged(speaking);
  }

  /** True where the beep was in this audio. */
  detect(pcm: Int16Array): boolean {
    if (!this.#wait || this.#signalsBeep || !this.#detector.push(pcm)) return false;
    this.#wait.stop();
    this.#beeped();
    return true;
  }

  stop(): void {
    this.#wait?.stop();
  }
}
