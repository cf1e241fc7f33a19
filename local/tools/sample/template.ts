/** A template as it is sent to POST /templates, without the ids of reseller and merchant. */
export type SampleTemplate = Readonly<{
  name: string;
  is_active: boolean;
  /** JSON Schema 2020-12 of a lead's payload; its properties are the template's variables. */
  payload_schema: JsonSchema;
  /** Variables that the conversation fills, beside those of the payload. */
  variables: readonly string[];
  initial_node: string;
  nodes: readonly SampleNode[];
  global_functions: readonly SampleFunction[];
  /** Spoken first, before the initial node. */
  greeting: string;
  voice: string;
  /** BCP 47. */
  language: string;
  limits: Readonly<{ max_call_seconds: number; idle_seconds: number; max_age_seconds: number }>;
  /** Questions about the finished conversation, answered with a number: 0 to 10 unless `scale` says otherwise. */
  evaluators: readonly Readonly<{ name: string; question: string; scale?: Readonly<{ min: number; max: number }> }>[];
  /** A summary of the conversation is written, too. */
  summary: boolean;
}>;

/** One node of the conversation: either `say` (fixed text) or `prompt` (a task for the model). */
export type SampleNode = Readonly<{
  name: string;
  prompt?: string;
  role_prompt?: string;
  say?: string;
  functions?: readonly SampleFunction[];
  on_enter?: readonly SampleAction[];
  on_exit?: readonly SampleAction[];
  interruptible?: boolean;
  collect?: "dtmf" | "text";
}>;

/** A function the model may call. `set` maps a variable to the argument stored in it. */
export type SampleFunction = Readonly<{
  name: string;
  description: string;
  parameters?: JsonSchema;
  next_node?: string;
  set?: Readonly<Record<string, string>>;
  outcome?: string;
  action?: "none" | "end_call" | "transfer" | "http";
}>;

/** What happens when a node is entered or left. */
export type SampleAction = Readonly<{ type: "end_call" }> | Readonly<{ type: "set"; variable: string; value: string }>;

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;
