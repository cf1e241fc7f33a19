import type { Temperament } from "./behaviours.ts";
import type { Cue } from "./phrases.ts";
import type { Gist } from "./gist.ts";

/** What a person remembers of the conversation so far. */
export interface Memory {
  /** Answers given to what they took for the matter itself (not "Speaking." and the like). */
  answers: number;
  decided: boolean;
  identified: boolean;
}

/** What a person does next: words, a key, the receiver down, or nothing. */
export type Act =
  | { do: "say"; cue: Cue; thenHangUp?: true }
  | { do: "press"; digit: string }
  | { do: "leave" }
  | { do: "wait" };

/** Nothing has been said yet. */
export const FRESH: Memory = { answers: 0, decided: false, identified: false };

const SMALL_TALKS = 2;
const PATIENT: readonly Temperament[] = [
  "confirms",
  "reschedules",
  "declines",
  "keypad",
  "barges_in",
  "coughs",
  "hums",
];

/** The answer to the matter itself, the n-th (from 0). */
function answer(temper: Temperament, n: number): { act: Act; decides: boolean } {
  const say = (cue: Cue, decides: boolean): { act: Act; decides: boolean } => ({ act: { do: "say", cue }, decides });
  switch (temper) {
    case "silent":
    case "voicemail":
    case "hangs_up":
      return { act: { do: "wait" }, decides: false };
    case "impatient":
      return { act: { do: "say", cue: "impatient", thenHangUp: true }, decides: true };
    case "keypad":
      return { act: { do: "press", digit: "1" }, decides: true };
    case "declines":
      return say("decline", true);
    case "reschedules":
      return n === 0 ? say("unsuitable", false) : say(n === 1 ? "day" : "repeat_day", true);
    case "asks_who":
      return n === 0 ? say("ask_who", false) : say("confirm", true);
    case "talkative":
      return n < SMALL_TALKS ? say("small_talk", false) : say("confirm", true);
    case "confirms":
    case "barges_in":
    case "drops":
    case "coughs":
    case "hums":
      return say("confirm", true);
  }
}

/** What a person of this temper does on hearing this, and what they remember afterwards. Pure. */
export function react(temper: Temperament, memory: Memory, gist: Gist): { act: Act; memory: Memory } {
  if (temper === "silent" || temper === "voicemail" || temper === "hangs_up") return { act: { do: "wait" }, memory };
  if (gist === "goodbye") return { act: { do: "leave" }, memory };
  if (temper !== "impatient") {
    if (gist === "still_there") return { act: { do: "say", cue: "still_there" }, memory };
    if (gist === "identity" && !memory.identified)
      return { act: { do: "say", cue: "identity" }, memory: { ...memory, identified: true } };
    if (gist === "anything_else" && memory.decided) return { act: { do: "say", cue: "more" }, memory };
    if (gist === "statement" && memory.decided) return { act: { do: "wait" }, memory };
    // Told something but asked nothing yet ("Hello, this is the shop."): they let the agent come to the point, once.
    if (gist === "statement" && memory.answers === 0 && !memory.identified && PATIENT.includes(temper)) {
      return { act: { do: "say", cue: "still_there" }, memory: { ...memory, identified: true } };
    }
  }
  const { act, decides } = answer(temper, memory.answers);
  return { act, memory: { ...memory, answers: memory.answers + 1, decided: memory.decided || decides } };
}
