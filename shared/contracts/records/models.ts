import { described, named, Strict, Text, Type, valued, type Static } from "../define.ts";
import { ENGINES } from "../../process/variables.ts";

/** How a conversation runs: a cascaded pipeline, the carrier's text relay, or one realtime model. */
export type Engine = (typeof ENGINES)[number];
/** One of them as it travels. */
export const EngineEnum = named(
  "Engine",
  "How a conversation runs.",
  valued(ENGINES, {
    cascade: "A cascaded pipeline: speech to text, language model, text to speech.",
    relay: "The carrier's text relay: the carrier does the speech.",
    realtime: "One speech-to-speech model.",
  }),
);

/** Which model is used. */
export const ModelUse = named(
  "ModelUse",
  "Which model is used.",
  Strict({
    endpoint: Type.Optional(
      described(
        "An endpoint that the deployment has named in MODEL_ENDPOINTS. Absent: its own.",
        Type.String({ pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$" }),
        { example: "local" },
      ),
    ),
    model: Type.Optional(described("A model there. Absent: that endpoint's.", Text(200), { example: "gpt-4o-mini" })),
  }),
);
export type ModelUse = Static<typeof ModelUse>;

/** The models a template wants; absent: the deployment's. */
export const ModelUses = named(
  "ModelUses",
  "The models a template wants; absent: the deployment's.",
  Strict({
    chat: Type.Optional(described("The language model.", ModelUse)),
    transcription: Type.Optional(described("Speech to text.", ModelUse)),
    speech: Type.Optional(described("Text to speech.", ModelUse)),
    realtime: Type.Optional(described("The speech-to-speech model.", ModelUse)),
    evaluation: Type.Optional(
      described("The model that evaluates and summarises after the call. Absent: the conversation's.", ModelUse),
    ),
  }),
);
export type ModelUses = Static<typeof ModelUses>;
