import {
  Clearable,
  described,
  describedAs,
  FieldName,
  Json,
  Label,
  named,
  Nullable,
  Patch,
  Strict,
  Text,
  Type,
  UpTo,
  Uuid,
  valued,
  type Static,
} from "../define.ts";
import { FlowFunction, FlowNode, KeypadKey } from "../flow/flow-node.ts";
import { Owner, Stamps, Warnings } from "./identity.ts";
import { Listening, ListeningInput } from "./listening-settings.ts";
import { EngineEnum, ModelUses } from "./models.ts";

/** Nothing expires sooner than this after its push. */
export const MIN_MAX_AGE_SECONDS = 60;
/** The longest call that a template may allow, seconds. */
export const LONGEST_CALL_SECONDS = 14_400;

/** Bounds of a template that names none, in seconds. */
export const DEFAULT_LIMITS = { max_call_seconds: 600, idle_seconds: 8, max_age_seconds: 604_800 } as const;

const LimitsFields = {
  max_call_seconds: described(
    `The longest call, seconds. Default: ${DEFAULT_LIMITS.max_call_seconds}.`,
    Type.Integer({ minimum: 10, maximum: LONGEST_CALL_SECONDS }),
  ),
  idle_seconds: described(
    `Seconds of the callee's silence after which the agent asks whether they are still there. Default: ${DEFAULT_LIMITS.idle_seconds}.`,
    Type.Integer({ minimum: 1, maximum: 120 }),
  ),
  max_age_seconds: described(
    `Seconds after its push at which a lead that is still waiting ends EXPIRED. Default: ${DEFAULT_LIMITS.max_age_seconds} (7 days).`,
    Type.Integer({ minimum: MIN_MAX_AGE_SECONDS, maximum: 7_776_000 }),
  ),
  rtc_join_timeout_seconds: Type.Optional(
    described(
      "Seconds within which a session lead (RTC modes) must be joined, else it ends. Absent: within max_age_seconds.",
      Type.Integer({ minimum: 10, maximum: 7_776_000 }),
      { example: 900 },
    ),
  ),
};
const LimitsInput = named(
  "LimitsInput",
  "Bounds of a template's calls and leads; what is left out keeps its value, or has its default.",
  Strict(Type.Partial(Type.Object(LimitsFields)).properties),
);
const Limits = named("Limits", "Bounds of a template's calls and leads.", Type.Object(LimitsFields));

/** A question about a finished conversation that a model answers with a number: it stands under the name in trace_scores. */
export const Evaluator = named(
  "Evaluator",
  "A question about a finished conversation that a model answers with a number.",
  Strict({
    name: described("The score's name in trace_scores.", FieldName, { example: "politeness" }),
    question: described("The question; say in it what the ends of the scale mean.", Text(1000), {
      example: "How polite was the agent?",
    }),
    scale: Type.Optional(
      described(
        "Worst and best answer. Absent: 0 to 10.",
        Strict({
          min: described("Worst answer.", Type.Integer({ minimum: -1000, maximum: 1000 }), { example: 0 }),
          max: described("Best answer.", Type.Integer({ minimum: -1000, maximum: 1000 }), { example: 1 }),
        }),
        { example: { min: 0, max: 1 } },
      ),
    ),
  }),
);
export type Evaluator = Static<typeof Evaluator>;

/** Seconds the end of a conversation waits for its evaluation where the template says nothing. */
export const DEFAULT_EVALUATION_WAIT_SECONDS = 2;

const SpeaksFirst = valued(["agent", "callee"], {
  agent: "The agent greets at once.",
  callee: "The agent waits for the callee's first words, 2.5 s at most, before it greets.",
});

const required = {
  name: described("Its name, for people.", Label(200), { example: "order confirmation" }),
  initial_node: described("The node that the conversation begins in.", FieldName, { example: "confirm" }),
  nodes: described("The parts of the conversation.", Type.Array(FlowNode, { minItems: 1, maxItems: 200 })),
};

const others = {
  payload_schema: described(
    "JSON Schema of the payload; a push that does not fit is refused. Absent: anything fits.",
    Json,
  ),
  variables: described(
    "Variables that the conversation sets, besides those of payload_schema.",
    Type.Array(FieldName, { maxItems: 200 }),
  ),
  global_functions: described(
    "Functions that the model may call in every node.",
    Type.Array(FlowFunction, { maxItems: 32 }),
  ),
  greeting: described("What the agent says first; may hold {{variables}}. Absent: the first node begins.", Text(1000), {
    example: "Hello {{customer_name}}, this is Northwind.",
  }),
  voicemail_message: described(
    "Left on voicemail where the configuration's voicemail_action is leave_message; may hold {{variables}}. Absent: such a call just ends.",
    Text(1000),
    { example: "This is Northwind. Your order {{order_id}} arrives on {{delivery_date}}." },
  ),
  do_not_call_function: described(
    "Whether the model is offered the function do_not_call in every node, for whoever asks not to be called again.",
    Type.Boolean(),
    { default: true },
  ),
  do_not_call_key: described(
    "The key by which a callee asks not to be called again, in every node that collects no DTMF. Absent: none.",
    KeypadKey,
  ),
  voice: described("A voice that the speech model or carrier knows. Absent: the deployment's.", Text(100), {
    example: "alloy",
  }),
  language: described("Language of the conversation, as a BCP 47 tag.", Text(35), {
    example: "de-DE",
    default: "en-US",
    pattern: "^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$",
  }),
  limits: described("Bounds of its calls and leads.", LimitsInput),
  listening: described(
    "How it listens, over audio. Absent, and each field that is left out: the defaults.",
    ListeningInput,
  ),
  speaks_first: described("Who speaks first.", SpeaksFirst, { default: "agent" }),
  retry_on: described(
    "Outcome words that are tried again. Absent: the deployment's own list (no_answer, busy, failed, voicemail).",
    Type.Array(Text(64), { maxItems: 50 }),
  ),
  engine: described("How the conversation runs. Absent: as the configuration says, then the deployment.", EngineEnum),
  models: described("The models it wants. Absent: the deployment's.", ModelUses),
  evaluators: described(
    "Questions about the finished conversation; their answers are the lead's trace_scores.",
    Type.Array(Evaluator, { maxItems: 20 }),
  ),
  summary: described("Whether a summary of a few sentences is written after the conversation.", Type.Boolean(), {
    default: false,
  }),
  evaluation_wait_seconds: described(
    "Seconds that the end of the lead, and so its webhook, waits for evaluators and summary; what comes later is added to the lead.",
    Type.Integer({ minimum: 0, maximum: 30 }),
    { default: DEFAULT_EVALUATION_WAIT_SECONDS },
  ),
};

const is_active = Type.Optional(
  described("false: pushes are refused, and its leads wait.", Type.Boolean(), { default: true }),
);
const content = { ...required, is_active, ...Type.Partial(Type.Object(others)).properties };

/** Most bytes of a template as JSON, with all that its changes have added. */
export const TEMPLATE_BYTES = 320 * 1024;

/** A template as a client writes it. */
export const TemplateInput = named(
  "TemplateInput",
  "A template to make: the flow of a conversation.",
  Strict({
    reseller_id: described("The reseller that it is for, or whose merchant.", Text(64)),
    merchant_id: Type.Optional(described("The merchant that it is for. Left out: the reseller itself.", Text(64))),
    ...content,
  }),
);
export type TemplateInput = Static<typeof TemplateInput>;

/** A change of a template: merged over what it is, `limits` and `listening` field by field; null gives a field its default back. Its owner never changes. */
export const TemplatePatch = Patch({
  ...Type.Partial(Type.Object(required)).properties,
  is_active,
  ...Clearable(others),
});
export type TemplatePatch = Static<typeof TemplatePatch>;

/** A template as it is stored and shown: one immutable version. Defaults are filled in. */
export const TemplateRecord = named(
  "Template",
  "A template in one version, defaults filled in; null where it names nothing.",
  Type.Object(
    describedAs(
      { ...required, ...others, is_active },
      {
        id: described("Id of the template.", Uuid),
        version: described("Number of the version: every save makes a new one.", Type.Integer({ minimum: 1 })),
        ...Owner,
        name: UpTo(200),
        is_active: Type.Boolean(),
        payload_schema: Nullable(Json),
        variables: Type.Array(UpTo(64)),
        initial_node: UpTo(64),
        nodes: Type.Array(FlowNode),
        global_functions: Type.Array(FlowFunction),
        greeting: Nullable(UpTo(1000)),
        voicemail_message: Nullable(UpTo(1000)),
        /** Absent: the version before does not have it; so with the others that are optional. */
        do_not_call_function: Type.Optional(Type.Boolean()),
        do_not_call_key: Type.Optional(Nullable(KeypadKey)),
        voice: Nullable(UpTo(100)),
        language: UpTo(35),
        limits: Limits,
        listening: Type.Optional(Listening),
        speaks_first: Type.Optional(SpeaksFirst),
        retry_on: Nullable(Type.Array(UpTo(64))),
        engine: Nullable(EngineEnum),
        models: ModelUses,
        evaluators: Type.Array(Evaluator),
        summary: Type.Boolean(),
        evaluation_wait_seconds: Type.Integer(),
        ...Stamps,
        warnings: Type.Optional(
          described(
            "What a save refuses now, in a template that was saved before and goes on working as it did, and what will not work with its configuration. Absent: nothing.",
            Warnings,
          ),
        ),
      },
    ),
  ),
);
export type TemplateRecord = Static<typeof TemplateRecord>;
