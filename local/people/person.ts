import { between, choose } from "../carriers/exchange/seeded-random.ts";
import { SPEECH_CHARS_PER_SECOND, type CallLeg } from "../carriers/exchange/call-leg.ts";
import type { LegTime } from "../carriers/exchange/leg-time.ts";
import type { Cancel } from "../carriers/exchange/simulated-time.ts";
import { behaviourOf, type Temperament } from "./behaviours.ts";
import { play, type Step } from "./step-script.ts";
import { scriptFor, type Cue } from "./phrases.ts";
import { FRESH, react, type Memory } from "./temperaments.ts";
import { gistOf } from "./gist.ts";

/** A delay in simulated ms with the least it takes in real ms: the service's own speed is not compressed, so waiting for it must not be either. */
interface Wait {
  simMs: number;
  realMs: number;
}

const THINKING_MS = { least: 400, most: 1_000 };
/** The agent has stopped although no question was put, or in mid-sentence. */
const PAUSE: Wait = { simMs: 600, realMs: 600 };
/** Nothing is heard: "Hello?", and then enough. These waits for the service are longer where a machine is short of time (`patience`). */
const HELLO_AFTER: Wait = { simMs: 8_000, realMs: 6_000 };
const GIVES_UP_AFTER: Wait = { simMs: 20_000, realMs: 15_000 };
/** All is said, and the agent neither goes on nor leaves. */
const CLOSES_AFTER: Wait = { simMs: 8_000, realMs: 4_000 };
/** Between the agent's goodbye and the receiver going down. */
const LEAVES_AFTER: Wait = { simMs: 2_500, realMs: 1_500 };
/** The longest a person stays on the call. */
const MAX_CONVERSATION: Wait = { simMs: 240_000, realMs: 60_000 };
const MOST_ANSWERS = 15;
const HANGS_UP_AT_ONCE_MS = { least: 300, most: 900 };
/** How far into the agent's sentence the impatient listener breaks in, characters. */
const BARGE_IN_CHARS = { least: 15, most: 40 };
/** How far into the agent's first sentence they cough, or say "uh-huh". */
const HUMS_AFTER_MS = { least: 700, most: 1_300 };
const COUGH_MS = 350;
const DROPS_AFTER_MS = { least: 1_000, most: 2_000 };
const DROPS_IN_MID_WORD = 0.6;
const MAILBOX_STARTS_MS = 500;
const BEEP_MS = 600;
const MAILBOX_LISTENS: Wait = { simMs: 12_000, realMs: 8_000 };

/** Where a person stands and what they can do. */
export interface Meeting {
  number: string;
  /** Seed of what is said: run seed and how often this number has rung. */
  ringSeed: string;
  time: LegTime;
  line: CallLeg;
  over: AbortSignal;
  /** So many times longer than in life they wait for the service, where it is slow because its machine is. */
  patience: number;
  /** What a test tells them to do; null: they behave by their number. */
  script: readonly Step[] | null;
  hangUp(): void;
  /** The connection breaks without a hang-up. */
  drop(): void;
}

/** When a machine answered: the instants, simulated ms after the answer, at which its greeting starts and its beep has ended. */
export interface MachineTimes {
  startsMs: number;
  beepEndsMs: number;
}

/** The answering machine's times, null when a person answers. */
export function machineTimes(number: string, turnSeed: string): MachineTimes | null {
  if (behaviourOf(number).temper !== "voicemail") return null;
  const greeting = choose(scriptFor("").voicemail, turnSeed, number, 0);
  return {
    startsMs: MAILBOX_STARTS_MS,
    beepEndsMs: MAILBOX_STARTS_MS + (greeting.length * 1000) / SPEECH_CHARS_PER_SECOND + BEEP_MS,
  };
}

/** A person (or their mailbox) picks up and lives through the call until it is over. */
export function meetPerson(meeting: Meeting): void {
  const { number, ringSeed, time, over, hangUp } = meeting;
  const { temper } = behaviourOf(number);
  if (meeting.script) {
    void play(meeting, meeting.script);
    return;
  }
  if (temper === "silent") return;
  if (temper === "voicemail") {
    mailbox(meeting);
    return;
  }
  if (temper === "hangs_up") {
    const soon = time.after(between(HANGS_UP_AT_ONCE_MS.least, HANGS_UP_AT_ONCE_MS.most, ringSeed, number), hangUp);
    over.addEventListener("abort", soon, { once: true });
    return;
  }
  new Person(meeting, temper).pickUp();
}

class Person {
  readonly #m: Meeting;
  readonly #temper: Temperament;
  #memory: Memory = FRESH;
  #turn = 0;
  /** Heard since they last spoke. */
  #heard = "";
  /** All they heard, to know what it is about. */
  #talk = "";
  #day = "";
  /** Has the one who interrupts, coughs or hums done so? */
  #brokenIn = false;
  #saidHello = false;
  #next: Cancel = () => undefined;

  constructor(meeting: Meeting, temper: Temperament) {
    this.#m = meeting;
    this.#temper = temper;
  }

  pickUp(): void {
    const { line, over, time, hangUp, patience } = this.#m;
    line.setPersonSide({
      onAgentStarts: () => this.#onAgentStarts(),
      onAgentPauses: (finished) => {
        if (over.aborted || line.personSpeaking()) return;
        if (this.#temper !== "drops") this.#considerReply(finished);
      },
      onHeard: (piece) => {
        this.#talk = `${this.#talk} ${piece.text}`;
        if (!(line.personSpeaking() && piece.interrupted)) this.#heard = `${this.#heard} ${piece.text}`;
      },
    });
    over.addEventListener("abort", () => this.#next(), { once: true });
    const enough = time.after(MAX_CONVERSATION.simMs, hangUp, MAX_CONVERSATION.realMs * patience);
    over.addEventListener("abort", enough, { once: true });
    this.#waitForAgent();
  }

  #plan(wait: Wait, act: () => void): void {
    this.#next();
    if (!this.#m.over.aborted) this.#next = this.#m.time.after(wait.simMs, act, wait.realMs);
  }

  /** The same, for what they do when the service is silent for too long. */
  #await({ simMs, realMs }: Wait, act: () => void): void {
    this.#plan({ simMs, realMs: realMs * this.#m.patience }, act);
  }

  #between(least: number, most: number): number {
    return between(least, most, this.#m.ringSeed, this.#m.number, this.#turn);
  }

  #words(cue: Cue): string {
    const text = choose(scriptFor(this.#talk)[cue], this.#m.ringSeed, this.#m.number, this.#turn);
    if (cue === "day") this.#day = text;
    return text.replace("{day}", this.#day);
  }

  async #speak(cue: Cue, cutAfter?: number): Promise<void> {
    this.#next();
    this.#heard = "";
    this.#turn += 1;
    await this.#m.line.say(this.#words(cue), cutAfter);
  }

  #onAgentStarts(): void {
    if (this.#m.line.personSpeaking()) return;
    this.#next();
    if (this.#temper === "drops") {
      this.#plan({ simMs: this.#between(DROPS_AFTER_MS.least, DROPS_AFTER_MS.most), realMs: 0 }, () => {
        void this.#speak("dropping", DROPS_IN_MID_WORD).then(this.#m.drop);
      });
    } else if (this.#temper === "barges_in" && !this.#brokenIn) {
      const afterMs = (this.#between(BARGE_IN_CHARS.least, BARGE_IN_CHARS.most) * 1000) / SPEECH_CHARS_PER_SECOND;
      this.#plan({ simMs: afterMs, realMs: 0 }, () => {
        this.#brokenIn = true;
        void this.#speak("barge_in").then(() => this.#listenOn());
      });
    } else if ((this.#temper === "coughs" || this.#temper === "hums") && this.#m.time.real && !this.#brokenIn) {
      this.#plan({ simMs: this.#between(HUMS_AFTER_MS.least, HUMS_AFTER_MS.most), realMs: 0 }, () => this.#hum());
    }
  }

  /** A sound over the agent's voice that means nothing: they listen on. Where there is no sound it is not made. */
  #hum(): void {
    const { line } = this.#m;
    this.#brokenIn = true;
    if (line.voice.current() === null) return;
    if (this.#temper === "coughs") void line.noise("cough", COUGH_MS);
    else void line.say(choose(scriptFor("").hum, this.#m.ringSeed, this.#m.number)).then(() => this.#listenOn());
  }

  /** Silence: how long until they ask, close, or give up. */
  #waitForAgent(): void {
    const { hangUp } = this.#m;
    if (this.#memory.decided)
      this.#await(CLOSES_AFTER, () => {
        void this.#speak("thanks").then(hangUp);
      });
    else if (this.#saidHello) this.#await(GIVES_UP_AFTER, hangUp);
    else
      this.#await(HELLO_AFTER, () => {
        this.#saidHello = true;
        void this.#speak("hello").then(() => this.#listenOn());
      });
  }

  /** After their own words: the agent may already be talking, or have finished talking meanwhile. */
  #listenOn(): void {
    if (this.#m.over.aborted) return;
    if (this.#m.line.voice.current() !== null) this.#next();
    else if (this.#heard !== "") this.#considerReply(true);
    else this.#waitForAgent();
  }

  #considerReply(finished: boolean): void {
    const thinkMs = this.#between(THINKING_MS.least, THINKING_MS.most);
    const asked = finished && gistOf(this.#heard) !== "statement";
    this.#plan(asked ? { simMs: thinkMs, realMs: 0 } : { simMs: PAUSE.simMs + thinkMs, realMs: PAUSE.realMs }, () =>
      this.#reply(),
    );
  }

  #reply(): void {
    const { line, hangUp } = this.#m;
    const { act, memory } = react(this.#temper, this.#memory, gistOf(this.#heard + line.voice.spoken()));
    this.#memory = memory;
    this.#saidHello = false;
    if (this.#turn >= MOST_ANSWERS || act.do === "leave") {
      this.#plan(LEAVES_AFTER, hangUp);
      return;
    }
    if (act.do === "say") {
      void this.#speak(act.cue).then(act.thenHangUp ? hangUp : () => this.#listenOn());
      return;
    }
    this.#heard = "";
    if (act.do === "press") {
      this.#turn += 1;
      line.press(act.digit);
    }
    this.#waitForAgent();
  }
}

/** An answering machine: greeting, beep, and then it listens until nothing comes any more. */
function mailbox({ number, ringSeed, time, line, over, hangUp }: Meeting): void {
  let next: Cancel = () => undefined;
  const listen = (): void => {
    next();
    if (!over.aborted) next = time.after(MAILBOX_LISTENS.simMs, hangUp, MAILBOX_LISTENS.realMs);
  };
  over.addEventListener("abort", () => next(), { once: true });
  line.setPersonSide({ onAgentStarts: () => next(), onAgentPauses: listen, onHeard: () => undefined });
  void (async () => {
    if (!(await time.wait(MAILBOX_STARTS_MS, over))) return;
    await line.say(choose(scriptFor("").voicemail, ringSeed, number, 0));
    await line.noise("beep", BEEP_MS);
    if (!over.aborted && line.voice.current() === null) listen();
  })();
}
