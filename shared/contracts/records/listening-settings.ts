import { Strict, Text, Type, type Static } from "../define.ts";

/** How a conversation over audio listens; every time in milliseconds of silence or sound of the callee. */
const ListeningFields = {
  /** The shortest silence that ends a turn. */
  endpointing_ms: Type.Integer({ minimum: 200, maximum: 2000 }),
  /** The longest silence that an unfinished turn is waited for; never shorter than endpointing_ms. */
  max_wait_ms: Type.Integer({ minimum: 500, maximum: 5000 }),
  /** Sound over the agent's speech of this length makes the agent quieter, and pause where it goes on. */
  interrupt_after_ms: Type.Integer({ minimum: 100, maximum: 2000 }),
  /** So many words over the agent's speech cut it; fewer are answered when it has ended. Backchannels do not count. */
  interrupt_after_words: Type.Integer({ minimum: 1, maximum: 10 }),
  /** How loud a voice has to be above the noise: low for loud rooms, high for quiet callees. */
  sensitivity: Type.Enum(["low", "normal", "high"]),
  /** Utterances besides the language's own that only show that the callee listens. */
  backchannels: Type.Array(Text(60), { maxItems: 50 }),
  /** Utterances besides the known ones that the recogniser writes where nobody speaks. */
  phantom_phrases: Type.Array(Text(200), { maxItems: 50 }),
};

/** How a template's conversations listen. */
export const Listening = Type.Object(ListeningFields);
export type Listening = Static<typeof Listening>;

/** The same as a client writes it: what is left out has its default. */
export const ListeningInput = Strict(Type.Partial(Type.Object(ListeningFields)).properties);

/** How a template that says nothing listens. */
export const DEFAULT_LISTENING: Listening = {
  endpointing_ms: 300,
  max_wait_ms: 2500,
  interrupt_after_ms: 300,
  interrupt_after_words: 1,
  sensitivity: "normal",
  backchannels: [],
  phantom_phrases: [],
};
