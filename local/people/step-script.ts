import type { CallLeg } from "../carriers/exchange/call-leg.ts";
import type { SimTime } from "../carriers/exchange/simulated-time.ts";
import { gistOf } from "./gist.ts";

/** What a step waits for: the agent speaks (now, or as soon as they do), has fallen silent after having spoken, has asked something, or so many ms. */
export type WaitFor = "speech" | "silence" | "question" | number;

/** What a scripted person does: words, a cough, a hum ("uh-huh"), keys, the receiver down. */
export type Action = { say: string } | { cough_ms: number } | { hum: string } | { press: string } | { hang_up: true };

/** One step; `after_ms` is waited besides, once what is waited for is there. */
export type Step = { wait_for: WaitFor; after_ms: number } & Action;

/** People who do what a test tells them. */
export interface Scripts {
  /** Takes `{number, script: [...]}`; a string is what is wrong with it. `number` matches the end of the person's. */
  set(asked: unknown): { number: string; steps: number } | string;
  /** The script of a number, the latest that fits; null: none, they behave by their last digits. */
  of(number: string): readonly Step[] | null;
  clear(): void;
}

const MAX_SCRIPTS = 5_000;
const MAX_STEPS = 200;
const MAX_MS = 600_000;
const MAX_SAY_CHARS = 5_000;
const HUM = "Uh-huh.";
const KEYS = /^[0-9*#]{1,32}$/;
const WORDS = ["speech", "silence", "question"] as const;

const digits = (number: string): string => number.replace(/\D/g, "");
const isMs = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= MAX_MS;
const isText = (value: unknown): value is string =>
  typeof value === "string" && value.trim() !== "" && value.length <= MAX_SAY_CHARS;

function doingOf({ say, cough_ms, hum, press, hang_up }: Record<string, unknown>): Action | string {
  if (isText(say)) return { say };
  if (isMs(cough_ms) && cough_ms > 0) return { cough_ms };
  if (hum === true || isText(hum)) return { hum: hum === true ? HUM : hum };
  if (typeof press === "string" && KEYS.test(press)) return { press };
  return hang_up === true
    ? { hang_up }
    : "every step needs one of say (text), cough_ms (ms), hum (true or text), press (keys), hang_up (true)";
}

function stepOf(asked: unknown): Step | string {
  if (typeof asked !== "object" || asked === null)
    return 'every step must be an object like {"wait_for":"question","say":"Yes."}';
  const fields: Record<string, unknown> = { ...asked };
  const { wait_for = 0, after_ms = 0 } = fields;
  const word = WORDS.find((w) => w === wait_for);
  if (word === undefined && !isMs(wait_for)) return `wait_for must be ${WORDS.join(", ")} or ms up to ${MAX_MS}`;
  if (!isMs(after_ms)) return `after_ms must be ms up to ${MAX_MS}`;
  const doing = doingOf(fields);
  return typeof doing === "string" ? doing : { wait_for: word ?? (isMs(wait_for) ? wait_for : 0), after_ms, ...doing };
}

/** No number has a script at first. */
export function createScripts(): Scripts {
  const scripts = new Map<string, readonly Step[]>();
  return {
    set(asked) {
      const fields: Record<string, unknown> = typeof asked === "object" && asked !== null ? { ...asked } : {};
      const { number, script } = fields;
      if (typeof number !== "string" || digits(number) === "") return "number must be a phone number, or its end";
      if (!Array.isArray(script) || script.length > MAX_STEPS)
        return `script must be a list of at most ${MAX_STEPS} steps`;
      const steps: Step[] = [];
      for (const one of script) {
        const step = stepOf(one);
        if (typeof step === "string") return step;
        steps.push(step);
      }
      const key = digits(number);
      if (scripts.size >= MAX_SCRIPTS && !scripts.has(key))
        return `at most ${MAX_SCRIPTS} scripts at a time: DELETE /people first`;
      scripts.delete(key);
      scripts.set(key, steps);
      return { number: key, steps: steps.length };
    },
    of(number) {
      const whole = digits(number);
      const exact = scripts.get(whole);
      if (exact || scripts.size === 0) return exact ?? null;
      return [...scripts].findLast(([key]) => whole.endsWith(key))?.[1] ?? null;
    },
    clear() {
      scripts.clear();
    },
  };
}

/** What a scripted person has at hand. */
export interface Stage {
  time: SimTime;
  line: CallLeg;
  over: AbortSignal;
  hangUp(): void;
}

/** Plays a script to its end; then the person listens, until the call is over. */
export async function play({ time, line, over, hangUp }: Stage, script: readonly Step[]): Promise<void> {
  let [spoke, quiet, heard] = [false, false, ""];
  let check = (): void => undefined;
  line.setPersonSide({
    onAgentStarts() {
      spoke = true;
      quiet = false;
      check();
    },
    onAgentPauses() {
      quiet = true;
      check();
    },
    onHeard(piece) {
      heard = `${heard} ${piece.text}`;
    },
  });
  const isThere = (what: WaitFor): boolean => {
    if (what === "speech") return line.voice.current() !== null;
    return spoke && quiet && (what === "silence" || !["statement", "goodbye"].includes(gistOf(heard)));
  };
  const comes = (what: WaitFor): Promise<boolean> =>
    new Promise((resolve) => {
      const end = (): void => {
        check = () => undefined;
        resolve(false);
      };
      over.addEventListener("abort", end, { once: true });
      check = () => {
        if (!isThere(what)) return;
        over.removeEventListener("abort", end);
        check = () => undefined;
        resolve(true);
      };
      check();
    });
  /** Words and keys are a turn of their own: what was heard before is answered by them. */
  const turn = (): void => {
    [spoke, heard] = [line.voice.current() !== null, ""];
  };
  for (const step of script) {
    if (typeof step.wait_for === "number" ? !(await time.wait(step.wait_for, over)) : !(await comes(step.wait_for)))
      return;
    if (step.after_ms > 0 && !(await time.wait(step.after_ms, over))) return;
    if (over.aborted) return;
    if ("hang_up" in step) {
      hangUp();
      return;
    }
    if ("cough_ms" in step) await line.noise("cough", step.cough_ms);
    else if ("hum" in step) await line.say(step.hum);
    else if ("press" in step) {
      turn();
      for (const key of step.press) line.press(key);
    } else {
      turn();
      await line.say(step.say);
    }
  }
}
