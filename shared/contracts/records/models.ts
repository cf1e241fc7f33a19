import { Strict, Text, Type, type Static } from "../define.ts";
import { ENGINES } from "../../process/variables.ts";

/** How a conversation runs: a cascaded pipeline, the carrier's text relay, or one realtime model. */
export type Engine = (typeof ENGINES)[number];
/** One of them as it travels. */
export const EngineEnum = Type.Enum([...ENGINES]);

/** Which model is used: an endpoint the deployment has named in MODEL_ENDPOINTS (absent: its own), and a model there (absent: that endpoint's). */
export const ModelUse = Strict({
  endpoint: Type.Optional(Type.String({ pattern: "^[A-Za-z][A-Za-z0-9_-]{0,63}$" })),
  model: Type.Optional(Text(200)),
});
export type ModelUse = Static<typeof ModelUse>;

/** The models a template wants; absent: the deployment's. */
export const ModelUses = Strict({
  chat: Type.Optional(ModelUse),
  transcription: Type.Optional(ModelUse),
  speech: Type.Optional(ModelUse),
  realtime: Type.Optional(ModelUse),
  /** The model that evaluates and summarises after the call; absent: the conversation's. */
  evaluation: Type.Optional(ModelUse),
});
export type ModelUses = Static<typeof ModelUses>;
