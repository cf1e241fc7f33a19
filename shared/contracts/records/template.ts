import { Listening, ListeningInput } from "./listening-settings.ts";
import { EngineEnum, ModelUses } from "./models.ts";
import {
  Clearable,
  Json,
  Nullable,
  Patch,
  Strict,
  Text,
  Type,
  Uuid,
  IsoTime,
  type Static,
  Id,
  UpTo,
  Label,
  Named,
  FieldName,
} from "../define.ts";

const Scalar = Type.Union([Type.String({ maxLength: 2000 }), Type.Number(), Type.Boolean()]);

/** What a node does when it is entered or left. */
export const NodeAction = Type.Union([
  Strict({ type: Type.Literal("end_call") }),
  Strict({ type: Type.Literal("set"), variable: FieldName, value: Type.String({ maxLength: 2000 }) }),
  Strict({ type: Type.Literal("outcome"), outcome: FieldName }),
]);
export type NodeAction = Static<typeof NodeAction>;

/** Headers of a request to a client's server. */
const HttpHeaders = Type.Record(
  Type.String({ pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}$" }),
  Type.String({ maxLength: 4000 }),
  {
    additionalProperties: false,
    maxProperties: 32,
  },
);

/** A function the model may call in a node: it leads to another node, stores what the caller said, or decides the outcome. */
export const FlowFunction = Strict({
  name: FieldName,
  description: Text(2000),
  parameters: Type.Optional(Json),
  /** Next node; absent: the conversation stays in this one. */
  next_node: Type.Optional(FieldName),
  /** variable -> name of the argument stored in it. */
  set: Type.Optional(Named(FieldName)),
  outcome: Type.Optional(FieldName),
  action: Type.Optional(Type.Enum(["none", "end_call", "transfer", "http", "send_digits"])),
  /** Target of `transfer`, E.164 or a {{variable}} of the template; never taken from what the model says. */
  transfer_to: Type.Optional(Text(64)),
  /** DTMF of `send_digits`: 0-9, *, #, and w for a wait of half a second; may hold {{variables}}. At most 32 once filled in. */
  digits: Type.Optional(Text(200)),
  /** Request of `http`; url, headers and body may hold {{variables}}, headers also {{secrets.name}}. */
  http: Type.Optional(
    Strict({
      method: Type.Enum(["GET", "POST"]),
      url: Text(2000),
      headers: Type.Optional(HttpHeaders),
      body: Type.Optional(Json),
    }),
  ),
});
export type FlowFunction = Static<typeof FlowFunction>;

/** Condition of a rule: one variable and one test of it, or the DTMF just entered. Patterns match the whole value, ignoring case. */
export const Condition = Strict({
  variable: Type.Optional(FieldName),
  equals: Type.Optional(Scalar),
  one_of: Type.Optional(Type.Array(Scalar, { minItems: 1, maxItems: 50 })),
  /** Whether the variable has a value other than null and the empty text. */
  exists: Type.Optional(Type.Boolean()),
  matches: Type.Optional(Text(200)),
  digits: Type.Optional(Text(200)),
});
export type Condition = Static<typeof Condition>;

/**
 * A rule of a node, followed without asking the model: evaluated on entry, when a function sets variables and on DTMF; the first with next_node wins,
 * those without next_node only set. Without `when` it leads on as soon as the node's `say` is said.
 */
export const Transition = Strict({
  when: Type.Optional(Condition),
  next_node: Type.Optional(FieldName),
  /** variable -> text, which may hold {{variables}} and {{digits}}, the DTMF just entered. */
  set: Type.Optional(Named(Type.String({ maxLength: 2000 }))),
  outcome: Type.Optional(FieldName),
});
export type Transition = Static<typeof Transition>;

/** How DTMF forms one entry in a node with `collect: "dtmf"`. */
export const KeyCollection = Strict({
  /** The entry is complete with this many digits; absent: 32. */
  max_digits: Type.Optional(Type.Integer({ minimum: 1, maximum: 32 })),
  /** The digit that ends the entry and is no part of it; absent: #. */
  end_key: Type.Optional(Type.Enum(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#", "none"])),
  /** Seconds of pause after a digit that end the entry; absent: 3. */
  pause_seconds: Type.Optional(Type.Number({ minimum: 0.5, maximum: 30 })),
  /** The entry is confidential: masked in transcript, webhook event and logs. */
  secret: Type.Optional(Type.Boolean()),
});
export type KeyCollection = Static<typeof KeyCollection>;

/** One node of the conversation. */
export const FlowNode = Strict({
  name: FieldName,
  prompt: Type.Optional(Text(8000)),
  role_prompt: Type.Optional(Text(8000)),
  functions: Type.Optional(Type.Array(FlowFunction, { maxItems: 32 })),
  /** Fixed text, spoken without asking the model. */
  say: Type.Optional(Text(2000)),
  on_enter: Type.Optional(Type.Array(NodeAction, { maxItems: 16 })),
  on_exit: Type.Optional(Type.Array(NodeAction, { maxItems: 16 })),
  interruptible: Type.Optional(Type.Boolean()),
  collect: Type.Optional(Type.Enum(["dtmf", "text"])),
  collection: Type.Optional(KeyCollection),
  transitions: Type.Optional(Type.Array(Transition, { maxItems: 32 })),
});
export type FlowNode = Static<typeof FlowNode>;

/** Nothing expires sooner than this after its push. */
export const MIN_MAX_AGE_SECONDS = 60;
/** The longest call that a template may allow, seconds. */
export const LONGEST_CALL_SECONDS = 14_400;

const LimitsFields = {
  max_call_seconds: Type.Integer({ minimum: 10, maximum: LONGEST_CALL_SECONDS }),
  idle_seconds: Type.Integer({ minimum: 1, maximum: 120 }),
  max_age_seconds: Type.Integer({ minimum: MIN_MAX_AGE_SECONDS, maximum: 7_776_000 }),
  /** A session lead (RTC modes) that nobody joins within this time ends; absent: within max_age_seconds. */
  rtc_join_timeout_seconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 7_776_000 })),
};
const LimitsInput = Strict({
  max_call_seconds: Type.Optional(LimitsFields.max_call_seconds),
  idle_seconds: Type.Optional(LimitsFields.idle_seconds),
  max_age_seconds: Type.Optional(LimitsFields.max_age_seconds),
  rtc_join_timeout_seconds: LimitsFields.rtc_join_timeout_seconds,
});

/** Bounds of a template that names none, in seconds. */
export const DEFAULT_LIMITS = { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 } as const;

/** A question about a finished conversation that a model answers with a number: it stands under the name in trace_scores. */
export const Evaluator = Strict({
  name: FieldName,
  question: Text(1000),
  /** Worst and best answer; absent: 0 to 10. */
  scale: Type.Optional(
    Strict({
      min: Type.Integer({ minimum: -1000, maximum: 1000 }),
      max: Type.Integer({ minimum: -1000, maximum: 1000 }),
    }),
  ),
});
export type Evaluator = Static<typeof Evaluator>;

/** Seconds the end of a conversation waits for its evaluation where the template says nothing. */
export const DEFAULT_EVALUATION_WAIT_SECONDS = 2;

const SpeaksFirst = Type.Enum(["agent", "callee"]);

const DoNotCallKey = Type.Enum(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#"]);

const required = {
  name: Label(200),
  initial_node: FieldName,
  nodes: Type.Array(FlowNode, { minItems: 1, maxItems: 200 }),
};

const others = {
  payload_schema: Json,
  variables: Type.Array(FieldName, { maxItems: 200 }),
  global_functions: Type.Array(FlowFunction, { maxItems: 32 }),
  greeting: Text(1000),
  /** Left on voicemail where the configuration's voicemail_action is leave_message; may hold {{variables}}. Absent: such a call just ends. */
  voicemail_message: Text(1000),
  /** Whether the model is offered the function do_not_call in every node; absent: it is. */
  do_not_call_function: Type.Boolean(),
  /** The DTMF key by which a callee asks not to be called again, in every node that collects no DTMF; absent: none. */
  do_not_call_key: DoNotCallKey,
  voice: Text(100),
  language: Text(35),
  limits: LimitsInput,
  /** Over audio; absent, and each field that is left out: the defaults. */
  listening: ListeningInput,
  /** callee: the agent waits for the callee's first words, 2.5 s at most, before it greets; absent: the agent speaks at once. */
  speaks_first: SpeaksFirst,
  /** Outcome words that are tried again; absent: the deployment's own list. */
  retry_on: Type.Array(Text(64), { maxItems: 50 }),
  /** The engine of the conversation; absent: the configuration's, then the deployment's. */
  engine: EngineEnum,
  models: ModelUses,
  evaluators: Type.Array(Evaluator, { maxItems: 20 }),
  /** A summary of a few sentences is written after the conversation. */
  summary: Type.Boolean(),
  /** How long the end of the lead, and so its webhook, waits for evaluators and summary; what comes later is added to the lead. */
  evaluation_wait_seconds: Type.Integer({ minimum: 0, maximum: 30 }),
};

const is_active = Type.Optional(Type.Boolean());
const content = { ...required, is_active, ...Type.Partial(Type.Object(others)).properties };

/** Most bytes of a template as JSON, with all that its changes have added. */
export const TEMPLATE_BYTES = 320 * 1024;

/** A template as a client writes it. */
export const TemplateInput = Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)), ...content });
export type TemplateInput = Static<typeof TemplateInput>;

/** A change of a template: merged over what it is, `limits` and `listening` field by field; null gives a field its default back. Its owner never changes. */
export const TemplatePatch = Patch({
  ...Type.Partial(Type.Object(required)).properties,
  is_active,
  ...Clearable(others),
});
export type TemplatePatch = Static<typeof TemplatePatch>;

/** A template as it is stored and shown: one immutable version. Defaults are filled in. */
export const TemplateRecord = Type.Object({
  id: Uuid,
  version: Type.Integer({ minimum: 1 }),
  reseller_id: Id,
  merchant_id: Nullable(Id),
  name: UpTo(200),
  is_active: Type.Boolean(),
  payload_schema: Nullable(Json),
  variables: Type.Array(UpTo(64)),
  initial_node: UpTo(64),
  nodes: Type.Array(FlowNode),
  global_functions: Type.Array(FlowFunction),
  greeting: Nullable(UpTo(1000)),
  voicemail_message: Nullable(UpTo(1000)),
  /** Absent: true; the version before does not have it. */
  do_not_call_function: Type.Optional(Type.Boolean()),
  do_not_call_key: Type.Optional(Nullable(DoNotCallKey)),
  voice: Nullable(UpTo(100)),
  language: UpTo(35),
  limits: Type.Object(LimitsFields),
  /** Absent: the defaults; the version before does not have it. */
  listening: Type.Optional(Listening),
  /** Absent: agent; the version before does not have it. */
  speaks_first: Type.Optional(SpeaksFirst),
  retry_on: Nullable(Type.Array(UpTo(64))),
  engine: Nullable(EngineEnum),
  models: ModelUses,
  evaluators: Type.Array(Evaluator),
  summary: Type.Boolean(),
  evaluation_wait_seconds: Type.Integer(),
  created_at: IsoTime,
  updated_at: IsoTime,
  /** What a save refuses now, in a template that was saved before: it goes on working as it did. Absent: nothing. */
  warnings: Type.Optional(Type.Array(Type.Object({ path: UpTo(200), message: UpTo(1000) }), { maxItems: 20 })),
});
export type TemplateRecord = Static<typeof TemplateRecord>;
