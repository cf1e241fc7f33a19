import { between, choose } from "../carrier/chance.ts";
import { SPEECH_CHARS_PER_SECOND, type Line } from "../carrier/line.ts";
import type { Cancel, SimTime } from "../carrier/time.ts";
import { behaviourOf } from "./behaviours.ts";
import { scriptFor, type Cue } from "./scripts.ts";
import { FRESH, react } from "./tempers.ts";
import { gistOf } from "./understanding.ts";

/** A delay in simulated ms with the least it takes in real ms: the service's own speed is not compressed, so waiting for it must not be either. */
interface Wait { simMs: number; realMs: number }

const THINKING_MS = { least: 400, most: 1_000 };
/** The agent has stopped although no question was put, or in mid-sentence. */
const PAUSE: Wait = { simMs: 600, realMs: 600 };
/** Nothing is heard: "Hello?", and then enough. */
const HELLO_AFTER: Wait = { simMs: 8_000, realMs: 6_000 };
const GIVES_UP_AFTER: Wait = { simMs: 20_000, realMs: 15_000 };
/** All is said, and the agent neither goes on nor leaves. */
const CLOSES_AFTER: Wait = { simMs: 8_000, realMs: 4_000 };
/** Between the agent's goodbye and the receiver going down. */
const LEAVES_AFTER: Wait = { simMs: 2_500, realMs: 1_500 };
/** Nobody talks longer than this. */
const LONGEST_TALK: Wait = { simMs: 240_000, realMs: 60_000 };
const MOST_ANSWERS = 15;
const HANGS_UP_AT_ONCE_MS = { least: 300, most: 900 };
/** How far into the agent's sentence the impatient listener breaks in, characters. */
const BARGE_IN_CHARS = { least: 15, most: 40 };
const DROPS_AFTER_MS = { least: 1_000, most: 2_000 };
const DROPS_IN_MID_WORD = 0.6;
const MAILBOX_STARTS_MS = 500;
const BEEP_MS = 600;
const MAILBOX_LISTENS: Wait = { simMs: 12_000, realMs: 8_000 };

/** Where a person stands and what they can do. */
export interface Meeting {
  number: string;
  /** Seed of what is said: run seed and how often this number has rung. */
  turnSeed: string;
  time: SimTime;
  line: Line;
  over: AbortSignal;
  hangUp(): void;
  /** The line goes dead, nobody hung up. */
  drop(): void;
}

/** When a machine answered: the instants, simulated ms after the answer, at which its greeting starts and its beep has ended. */
export interface MachineTimes { startsMs: number; beepEndsMs: number }

/** The answering machine's times, null when a person answers. */
export function machineTimes(number: string, turnSeed: string): MachineTimes | null {
  if (behaviourOf(number).temper !== "voicemail") return null;
  const greeting = choose(scriptFor("").voicemail, turnSeed, number, 0);
  return { startsMs: MAILBOX_STARTS_MS, beepEndsMs: MAILBOX_STARTS_MS + (greeting.length * 1000) / SPEECH_CHARS_PER_SECOND + BEEP_MS };
}

/** A person (or their mailbox) picks up and lives through the call until it is over. */
export function meetPerson(meeting: Meeting): void {
  const { number, turnSeed, time, line, over, hangUp } = meeting;
  const { temper } = behaviourOf(number);
  if (temper === "voicemail") { mailbox(meeting); return; }
  if (temper === "hangs_up") {
    const soon = time.after(between(HANGS_UP_AT_ONCE_MS.least, HANGS_UP_AT_ONCE_MS.most, turnSeed, number), hangUp);
    over.addEventListener("abort", soon, { once: true });
    return;
  }
  if (temper === "silent") return;

  let memory = FRESH;
  let turn = 0;
  let heard = ""; // since they last spoke
  let talk = ""; // all of it, to know what it is about
  let day = "";
  let broughtIn = temper !== "barges_in"; // has the interruption happened?
  let greetedBack = false;
  let next: Cancel = () => undefined;

  const plan = (wait: Wait, act: () => void): void => {
    next();
    if (!over.aborted) next = time.after(wait.simMs, act, wait.realMs);
  };
  const think = (): number => between(THINKING_MS.least, THINKING_MS.most, turnSeed, number, turn);
  const words = (cue: Cue): string => {
    const text = choose(scriptFor(talk)[cue], turnSeed, number, turn);
    if (cue === "day") day = text;
    return text.replace("{day}", day);
  };
  const speak = async (cue: Cue, cutAfter?: number): Promise<void> => {
    next();
    heard = "";
    turn += 1;
    await line.say(words(cue), cutAfter);
  };

  /** Nobody speaks: how long until they ask, close, or give up. */
  const waitForAgent = (): void => {
    if (memory.decided) { plan(CLOSES_AFTER, () => { void speak("thanks").then(hangUp); }); return; }
    if (greetedBack) { plan(GIVES_UP_AFTER, hangUp); return; }
    plan(HELLO_AFTER, () => {
      greetedBack = true;
      void speak("hello").then(listenOn);
    });
  };
  /** After their own words: the agent may already be talking, or have finished talking meanwhile. */
  const listenOn = (): void => {
    if (over.aborted) return;
    if (line.voice.current() !== null) { next(); return; }
    if (heard !== "") considerReply(true);
    else waitForAgent();
  };
  const reply = (): void => {
    const { act, memory: after } = react(temper, memory, gistOf(heard + line.voice.spoken()));
    memory = after;
    if (turn >= MOST_ANSWERS || act.do === "leave") { plan(LEAVES_AFTER, hangUp); return; }
    greetedBack = false;
    if (act.do === "wait") { heard = ""; waitForAgent(); return; }
    if (act.do === "press") {
      heard = "";
      turn += 1;
      line.press(act.digit);
      waitForAgent();
      return;
    }
    void speak(act.cue).then(act.thenHangUp ? hangUp : listenOn);
  };
  const considerReply = (finished: boolean): void => {
    const question = finished && gistOf(heard) !== "statement";
    plan(question ? { simMs: think(), realMs: 0 } : { simMs: PAUSE.simMs + think(), realMs: PAUSE.realMs }, reply);
  };

  line.setPersonSide({
    onAgentStarts() {
      if (line.personSpeaking()) return;
      next();
      if (temper === "drops") {
        plan({ simMs: between(DROPS_AFTER_MS.least, DROPS_AFTER_MS.most, turnSeed, number), realMs: 0 }, () => { void speak("dropping", DROPS_IN_MID_WORD).then(meeting.drop); });
      } else if (!broughtIn) {
        const afterChars = between(BARGE_IN_CHARS.least, BARGE_IN_CHARS.most, turnSeed, number);
        plan({ simMs: (afterChars * 1000) / SPEECH_CHARS_PER_SECOND, realMs: 0 }, () => {
          broughtIn = true;
          void speak("barge_in").then(listenOn);
        });
      }
    },
    onAgentPauses(finished) {
      if (over.aborted || line.personSpeaking()) return;
      if (temper === "drops" && turn === 0) return; // already on the way down
      considerReply(finished);
    },
    onHeard(piece) {
      talk = `${talk} ${piece.text}`;
      if (!(line.personSpeaking() && piece.interrupted)) heard = `${heard} ${piece.text}`;
    },
  });
  over.addEventListener("abort", () => next(), { once: true });
  const enough = time.after(LONGEST_TALK.simMs, hangUp, LONGEST_TALK.realMs);
  over.addEventListener("abort", enough, { once: true });
  waitForAgent();
}

/** An answering machine: greeting, beep, and then it listens until nothing comes any more. */
function mailbox({ number, turnSeed, time, line, over, hangUp }: Meeting): void {
  let next: Cancel = () => undefined;
  const listen = (): void => {
    next();
    if (!over.aborted) next = time.after(MAILBOX_LISTENS.simMs, hangUp, MAILBOX_LISTENS.realMs);
  };
  over.addEventListener("abort", () => next(), { once: true });
  line.setPersonSide({ onAgentStarts: () => next(), onAgentPauses: listen, onHeard: () => undefined });
  void (async () => {
    if (!await time.wait(MAILBOX_STARTS_MS, over)) return;
    await line.say(choose(scriptFor("").voicemail, turnSeed, number, 0));
    if (await time.wait(BEEP_MS, over) && line.voice.current() === null) listen();
  })();
}
