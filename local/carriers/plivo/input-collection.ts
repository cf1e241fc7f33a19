import type { Call } from "../exchange/call.ts";
import type { AgentSide } from "../exchange/call-leg.ts";
import type { Cancel, SimTime } from "../exchange/simulated-time.ts";
import type { InputSettings, Sound } from "./plivo-xml.ts";

/** What the person gave. null: nothing in time, or the call went elsewhere. */
export type Input = { speech: string } | { digits: string } | null;

/** With "auto" the carrier takes speech as over after this much silence, simulated ms. */
const AUTO_SPEECH_END_MS = 500;
/** A played sound lasts this long, simulated ms; its real length is not known here. */
const SOUND_MS = 3_000;

/** Puts a sound into the agent's mouth. */
export function voice({ leg }: Call, sound: Sound, interruptible: boolean): void {
  for (let n = 0; n < Math.max(1, sound.loop); n += 1) {
    if (sound.verb === "Speak") leg.voice.say(sound.text, { last: true, interruptible });
    else leg.voice.play(sound.source, SOUND_MS, { interruptible });
  }
}

/** Plays what there is to play and listens meanwhile and afterwards; what is detected first counts. Resolves null when `leave` aborts. */
export function gather(time: SimTime, call: Call, settings: InputSettings, leave: AbortSignal): Promise<Input> {
  return new Promise((resolve) => new Gathering(time, call, settings, leave, resolve).begin());
}

class Gathering {
  readonly #time: SimTime;
  readonly #call: Call;
  readonly #settings: InputSettings;
  readonly #leave: AbortSignal;
  readonly #resolve: (input: Input) => void;
  #cancel: Cancel = () => undefined;
  #digits = "";
  #speech = "";
  #over = false;
  readonly #onLeave = (): void => this.#finish(null);

  constructor(time: SimTime, call: Call, settings: InputSettings, leave: AbortSignal, resolve: (input: Input) => void) {
    this.#time = time;
    this.#call = call;
    this.#settings = settings;
    this.#leave = leave;
    this.#resolve = resolve;
  }

  begin(): void {
    const { leg } = this.#call;
    this.#leave.addEventListener("abort", this.#onLeave, { once: true });
    if (this.#leave.aborted) {
      this.#onLeave();
      return;
    }
    leg.setAgentSide(this.#side());
    for (const sound of this.#settings.sounds) voice(this.#call, sound, true);
    void this.#listenOn();
  }

  async #listenOn(): Promise<void> {
    const { leg } = this.#call;
    await leg.voice.drained();
    if (!this.#over && !leg.personSpeaking()) this.#wait();
  }

  #isEmpty(): boolean {
    return this.#digits === "" && this.#speech === "";
  }

  #side(): AgentSide {
    const { speech, keys } = this.#settings;
    return {
      hears: (kind) => (kind === "speech" ? speech : keys),
      interruptibleBy: () => true,
      reportsDuringSpeech: () => true,
      onPartial: () => undefined,
      onSaid: (text) => this.#onSaid(text),
      onDigit: (digit) => this.#onDigit(digit),
      onInterrupt: () => undefined,
      onSpeaking: (who, on) => {
        if (who === "person" && speech && this.#digits === "") {
          if (on) this.#cancel();
          else this.#wait();
        }
      },
      onPlayed: () => undefined,
    };
  }

  /** No input comes: the limit is set by the service, which lives in real time, so it is not compressed. */
  #wait(): void {
    if (this.#call.leg.voice.current() !== null || !this.#isEmpty()) return;
    const ms = this.#settings.executionSeconds * 1000;
    this.#after(ms, () => this.#finish(null), ms);
  }

  #after(simMs: number, act: () => void, floorRealMs = 0): void {
    this.#cancel();
    this.#cancel = this.#time.after(simMs, act, floorRealMs);
  }

  #onSaid(text: string): void {
    if (this.#digits !== "") return; // keys came first
    this.#speech = `${this.#speech} ${text}`.trim();
    const { speechEndSeconds } = this.#settings;
    this.#after(speechEndSeconds === null ? AUTO_SPEECH_END_MS : speechEndSeconds * 1000, () =>
      this.#finish({ speech: this.#speech }),
    );
  }

  #onDigit(digit: string): void {
    const { finishOnKey, numDigits, digitEndSeconds } = this.#settings;
    if (this.#speech !== "") return; // speech came first
    if (digit !== finishOnKey) this.#digits += digit;
    if (digit === finishOnKey || this.#digits.length >= numDigits) {
      this.#finish(this.#digits === "" ? null : { digits: this.#digits });
      return;
    }
    this.#after(digitEndSeconds * 1000, () => this.#finish({ digits: this.#digits }));
  }

  #finish(input: Input): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancel();
    this.#leave.removeEventListener("abort", this.#onLeave);
    this.#call.leg.setAgentSide(null);
    this.#call.leg.voice.interrupt();
    this.#resolve(input);
  }
}
