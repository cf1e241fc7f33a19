import { described, named, Strict, Text, Type, valued, type Static } from "../define.ts";

const DEFAULTS = {
  endpointing_ms: 300,
  max_wait_ms: 2500,
  interrupt_after_ms: 300,
  interrupt_after_words: 1,
  sensitivity: "normal",
} as const;
const defaultOf = (name: keyof typeof DEFAULTS): string => `Default: ${DEFAULTS[name]}.`;

/** How a conversation over audio listens; every time in milliseconds of silence or sound of the callee. */
const ListeningFields = {
  endpointing_ms: described(
    `The shortest silence that ends a turn, milliseconds. ${defaultOf("endpointing_ms")}`,
    Type.Integer({ minimum: 200, maximum: 2000 }),
  ),
  max_wait_ms: described(
    `The longest silence that an unfinished turn is waited for, milliseconds; never shorter than endpointing_ms. ${defaultOf("max_wait_ms")}`,
    Type.Integer({ minimum: 500, maximum: 5000 }),
  ),
  interrupt_after_ms: described(
    `Sound over the agent's speech of this length, milliseconds, makes the agent quieter, and pause where it goes on. ${defaultOf("interrupt_after_ms")}`,
    Type.Integer({ minimum: 100, maximum: 2000 }),
  ),
  interrupt_after_words: described(
    `So many words over the agent's speech cut it; fewer are answered when it has ended. Backchannels do not count. ${defaultOf("interrupt_after_words")}`,
    Type.Integer({ minimum: 1, maximum: 10 }),
  ),
  sensitivity: described(
    `How loud a voice has to be above the noise. ${defaultOf("sensitivity")}`,
    valued(["low", "normal", "high"], { low: "For loud rooms.", normal: "For most.", high: "For quiet callees." }),
  ),
  backchannels: described(
    "Utterances besides the language's own that only show that the callee listens. Default: none.",
    Type.Array(Text(60), { maxItems: 50 }),
    { example: ["go ahead"] },
  ),
  phantom_phrases: described(
    "Utterances besides the known ones that the recogniser writes where nobody speaks. Default: none.",
    Type.Array(Text(200), { maxItems: 50 }),
    { example: ["Thank you for watching"] },
  ),
};

/** How a template's conversations listen. */
export const Listening = named(
  "Listening",
  "How a template's conversations listen, over audio.",
  Type.Object(ListeningFields),
);
export type Listening = Static<typeof Listening>;

/** The same as a client writes it: what is left out has its default. */
export const ListeningInput = named(
  "ListeningInput",
  "How a template's conversations listen; what is left out keeps its value, or has its default.",
  Strict(Type.Partial(Type.Object(ListeningFields)).properties),
);

/** How a template that says nothing listens. */
export const DEFAULT_LISTENING: Listening = { ...DEFAULTS, backchannels: [], phantom_phrases: [] };
