/** How the phone itself behaves before anyone speaks. `refused`: the carrier does not take the number at all. */
export type PhoneBehaviour = "answers" | "busy" | "ignores" | "ignores_first" | "refused" | "fails";

/** How the one who answered behaves. */
export type Temperament =
  | "confirms"
  | "reschedules"
  | "impatient"
  | "hangs_up"
  | "silent"
  | "voicemail"
  | "asks_who"
  | "barges_in"
  | "declines"
  | "keypad"
  | "talkative"
  | "drops"
  | "coughs"
  | "hums";

/** One row of the table of simulated people. */
export interface Behaviour {
  /** Short, for tables. */
  name: string;
  description: string;
  line: PhoneBehaviour;
  temper: Temperament;
}

/** Who is behind a number, by its last two digits. Every other number behaves like 01. */
export const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "01": { name: "confirms", description: "answers and confirms", line: "answers", temper: "confirms" },
  "02": {
    name: "reschedules",
    description: "says it does not suit and, when asked, names another day",
    line: "answers",
    temper: "reschedules",
  },
  "03": {
    name: "hangs up early",
    description: "says one impatient sentence and hangs up",
    line: "answers",
    temper: "impatient",
  },
  "04": {
    name: "hangs up at once",
    description: "answers and hangs up without a word",
    line: "answers",
    temper: "hangs_up",
  },
  "05": { name: "silent", description: "answers and never says a word", line: "answers", temper: "silent" },
  "06": { name: "busy", description: "the line is busy", line: "busy", temper: "confirms" },
  "07": { name: "never answers", description: "rings until the caller gives up", line: "ignores", temper: "confirms" },
  "08": {
    name: "answers later",
    description: "does not answer the first ring of that number, answers later ones and confirms",
    line: "ignores_first",
    temper: "confirms",
  },
  "09": {
    name: "voicemail",
    description: "an answering machine: greeting, then a beep, then it listens",
    line: "answers",
    temper: "voicemail",
  },
  "10": {
    name: "refused number",
    description: "the carrier refuses the number (HTTP 400, code 21211)",
    line: "refused",
    temper: "confirms",
  },
  "11": { name: "asks first", description: "asks who is calling, then confirms", line: "answers", temper: "asks_who" },
  "12": {
    name: "interrupts",
    description: "talks over the agent in mid-sentence, then confirms",
    line: "answers",
    temper: "barges_in",
  },
  "13": { name: "declines", description: "does not want it any more", line: "answers", temper: "declines" },
  "14": { name: "keypad", description: "answers by keypad: presses 1", line: "answers", temper: "keypad" },
  "15": {
    name: "carrier failure",
    description: "the carrier cannot reach the network (status failed, SIP 503)",
    line: "fails",
    temper: "confirms",
  },
  "16": { name: "talkative", description: "small talk twice, then confirms", line: "answers", temper: "talkative" },
  "17": {
    name: "line drops",
    description: "the line drops in mid-talk, before anything is decided",
    line: "answers",
    temper: "drops",
  },
  "18": {
    name: "coughs",
    description: "coughs while the agent speaks, where the line carries sound, then confirms",
    line: "answers",
    temper: "coughs",
  },
  "19": {
    name: "hums",
    description: 'says "uh-huh" while the agent speaks, where the line carries sound, then confirms',
    line: "answers",
    temper: "hums",
  },
};

const CONFIRMS: Behaviour = BEHAVIOURS["01"] ?? {
  name: "confirms",
  description: "answers and confirms",
  line: "answers",
  temper: "confirms",
};

/** The behaviour behind a phone number, chosen by its last two digits. */
export function behaviourOf(number: string): Behaviour {
  return BEHAVIOURS[number.replace(/\D/g, "").slice(-2)] ?? CONFIRMS;
}
