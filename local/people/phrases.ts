/** The situations in which people have something to say. */
export type Cue =
  | "confirm"
  | "unsuitable"
  | "day"
  | "repeat_day"
  | "decline"
  | "ask_who"
  | "small_talk"
  | "barge_in"
  | "impatient"
  | "identity"
  | "still_there"
  | "hello"
  | "more"
  | "thanks"
  | "voicemail"
  | "dropping"
  | "hum";

/** What people may say, several phrasings for each cue. Meanings are kept apart on purpose: no "yes" but to confirm, no "no" but to decline. */
export type Script = Readonly<Record<Cue, readonly string[]>>;

const COMMON: Script = {
  confirm: ["Yes, please confirm it.", "That's right, go ahead.", "Yes, that is fine, please confirm."],
  unsuitable: ["That doesn't suit me, can we move it?", "I'm afraid that day doesn't suit me. Could we move it?"],
  day: ["Friday, please.", "Next Tuesday at 5 pm please.", "Friday would be better."],
  repeat_day: ["As I said: {day}"],
  decline: ["No, I don't want it any more.", "No, please cancel it."],
  ask_who: ["Who is calling?", "Sorry, who is calling?"],
  small_talk: [
    "Oh hello, lovely weather we are having today.",
    "I was just making myself a cup of tea, you know.",
    "My neighbour was telling me about his garden this morning.",
    "Goodness, how quickly the week goes by.",
  ],
  barge_in: ["Sorry, what was that?", "Hold on, what did you say?"],
  impatient: ["Not now, sorry.", "I'm busy, sorry, not now."],
  identity: ["Speaking.", "This is me speaking."],
  still_there: ["I'm still here.", "I am listening."],
  hello: ["Hello?", "Hello? Is anybody there?"],
  more: ["That's all, thank you.", "That is everything, thank you."],
  thanks: ["Thank you, goodbye.", "All right, goodbye."],
  voicemail: [
    "Hello, you have reached the mailbox of this number. I can't take your call right now. Please leave a message after the tone.",
  ],
  hum: ["Uh-huh.", "Mm-hmm."],
  dropping: ["Well, about that, I was going to say that"],
};

/** A sample template's script and the words by which people notice that the conversation is about it. */
export interface TemplateScript {
  template: string;
  about: RegExp;
  script: Script;
}

/** The scripts of the sample templates. */
export const SCRIPTS: readonly TemplateScript[] = [
  {
    template: "appointment-reminder",
    about: /\bappointment\b/i,
    script: {
      ...COMMON,
      confirm: [
        "Yes, please confirm it, I will be there.",
        "That's right, go ahead, I will come.",
        "Yes, please confirm the appointment.",
      ],
      unsuitable: [
        "That doesn't suit me, can we move it?",
        "I'm afraid I can't make it then. Could we move the appointment?",
      ],
      decline: ["No, please cancel the appointment.", "No, please cancel it, I don't need it any more."],
    },
  },
  {
    template: "order-confirmation",
    about: /\b(order|delivery)\b/i,
    script: {
      ...COMMON,
      confirm: ["Yes, please confirm it.", "That's right, go ahead.", "Yes, please confirm the order."],
      unsuitable: [
        "That doesn't suit me, can we move it?",
        "I'm afraid that day doesn't suit me. Could we move the delivery?",
      ],
      decline: ["No, please cancel the order.", "No, please cancel it, I don't want it any more."],
    },
  },
];

/** The script for what has been heard so far; a generic one when it is about nothing known. */
export function scriptFor(heardSoFar: string): Script {
  return SCRIPTS.find((s) => s.about.test(heardSoFar))?.script ?? COMMON;
}
