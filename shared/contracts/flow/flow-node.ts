import { described, FieldName, Json, named, Named, Strict, Text, Type, valued, type Static } from "../define.ts";

const Scalar = Type.Union([Type.String({ maxLength: 2000 }), Type.Number(), Type.Boolean()]);
const Outcome = described("The outcome that the conversation decides.", FieldName, { example: "confirmed" });

/** What a node does when it is entered or left. */
export const NodeAction = named(
  "NodeAction",
  "What a node does when it is entered or left.",
  Type.Union([
    Strict({ type: described("The node says its last words, then the call ends.", Type.Literal("end_call")) }),
    Strict({
      type: described("A variable gets a value.", Type.Literal("set")),
      variable: described("The variable.", FieldName, { example: "confirmed" }),
      value: described("Its value.", Type.String({ maxLength: 2000 }), { example: "yes" }),
    }),
    Strict({ type: described("The outcome is decided.", Type.Literal("outcome")), outcome: Outcome }),
  ]),
);
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

/** Request of a function to a client's server. */
const FunctionRequest = named(
  "FunctionRequest",
  "A request to your server.",
  Strict({
    method: described("Its method.", valued(["GET", "POST"], { GET: "Reads.", POST: "Sends the body." })),
    url: described("Its address; may hold {{variables}}.", Text(2000), {
      example: "https://crm.example.com/customers/{{customer_id}}",
    }),
    headers: Type.Optional(
      described("Its headers; may hold {{variables}} and {{secrets.NAME}}.", HttpHeaders, {
        example: { authorization: "Bearer {{secrets.CRM_TOKEN}}" },
      }),
    ),
    body: Type.Optional(described("Its body, JSON; texts in it may hold {{variables}}.", Json)),
  }),
);

/** A function the model may call in a node: it leads to another node, stores what the caller said, or decides the outcome. */
export const FlowFunction = named(
  "FlowFunction",
  "A function the model may call: it leads to another node, stores what the caller said, or decides the outcome.",
  Strict({
    name: described("Its name, as the model calls it.", FieldName, { example: "confirm_order" }),
    description: described("When to call it, for the model.", Text(2000)),
    parameters: Type.Optional(described("JSON Schema of its arguments, for the model.", Json)),
    next_node: Type.Optional(described("The next node. Absent: the conversation stays in this one.", FieldName)),
    set: Type.Optional(
      described("Variables that it sets: variable to the name of the argument stored in it.", Named(FieldName)),
    ),
    outcome: Type.Optional(Outcome),
    action: Type.Optional(
      described(
        "What it does besides.",
        valued(["none", "end_call", "transfer", "http", "send_digits"], {
          none: "Nothing.",
          end_call: "The call ends after the last words.",
          transfer: "The call is handed to transfer_to.",
          http: "The request `http` is sent; its answer goes to the model.",
          send_digits: "The DTMF tones of `digits` are sent.",
        }),
        { default: "none" },
      ),
    ),
    transfer_to: Type.Optional(
      described("Target of transfer: E.164 or a {{variable}} of the template; never what the model says.", Text(64), {
        example: "+14155550199",
      }),
    ),
    digits: Type.Optional(
      described(
        "DTMF of send_digits: 0-9, *, #, and w for a wait of half a second; may hold {{variables}}. At most 32 once filled in.",
        Text(200),
        { example: "1ww{{customer_id}}#" },
      ),
    ),
    http: Type.Optional(FunctionRequest),
    max_calls: Type.Optional(
      described(
        "How often it is carried out in one conversation; a further call is refused. Absent: 5 times where its action is http, 3 times where it is transfer, else as often as it is called.",
        Type.Integer({ minimum: 1, maximum: 100 }),
        { example: 1 },
      ),
    ),
  }),
);
export type FlowFunction = Static<typeof FlowFunction>;

/** Condition of a rule: one variable and one test of it, or the DTMF just entered. */
export const Condition = named(
  "Condition",
  "Condition of a rule: one variable and one test of it, or the DTMF just entered. Patterns match the whole value, ignoring case.",
  Strict({
    variable: Type.Optional(described("The variable that is tested.", FieldName, { example: "confirmed" })),
    equals: Type.Optional(described('It has this value, as it is written: 2 equals "2".', Scalar)),
    one_of: Type.Optional(described("It has one of these values.", Type.Array(Scalar, { minItems: 1, maxItems: 50 }))),
    exists: Type.Optional(described("Whether it has a value other than null and the empty text.", Type.Boolean())),
    matches: Type.Optional(
      described("A regular expression that the whole value fits.", Text(200), { example: "yes|of course" }),
    ),
    digits: Type.Optional(
      described("In place of a variable: a regular expression that the DTMF just entered fits.", Text(200), {
        example: "[0-9]{4}",
      }),
    ),
  }),
);
export type Condition = Static<typeof Condition>;

/**
 * A rule of a node, followed without asking the model: evaluated on entry, when a function sets variables and on DTMF; the first with next_node wins,
 * those without next_node only set. Without `when` it leads on as soon as the node's `say` is said.
 */
export const Transition = named(
  "Transition",
  "A rule of a node, followed without asking the model: evaluated on entry, when a function sets variables and on DTMF. The first with next_node wins.",
  Strict({
    when: Type.Optional(described("When it holds. Absent: as soon as the node's say is said.", Condition)),
    next_node: Type.Optional(described("The node that it leads to. Absent: it only sets.", FieldName)),
    set: Type.Optional(
      described(
        "Variables that it sets: variable to text, which may hold {{variables}} and {{digits}}, the DTMF just entered.",
        Named(Type.String({ maxLength: 2000 })),
      ),
    ),
    outcome: Type.Optional(Outcome),
  }),
);
export type Transition = Static<typeof Transition>;

const KEYS = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "#"] as const;
/** What a key of the keypad means in a closed set: itself. */
const keysAs = (what: string) =>
  Object.fromEntries(KEYS.map((key) => [key, `${what} ${key}.`])) as Record<(typeof KEYS)[number], string>;
/** A key of the keypad. */
export const KeypadKey = valued(KEYS, keysAs("The key"));

/** How DTMF forms one entry in a node with `collect: "dtmf"`. */
export const KeyCollection = named(
  "KeyCollection",
  "How DTMF forms one entry in a node that collects it.",
  Strict({
    max_digits: Type.Optional(
      described("The entry is complete with this many digits.", Type.Integer({ minimum: 1, maximum: 32 }), {
        default: 32,
        example: 4,
      }),
    ),
    end_key: Type.Optional(
      described(
        "The key that ends the entry and is no part of it.",
        valued([...KEYS, "none"], { ...keysAs("The key"), none: "No key does." }),
        { default: "#" },
      ),
    ),
    pause_seconds: Type.Optional(
      described("Seconds of pause after a digit that end the entry.", Type.Number({ minimum: 0.5, maximum: 30 }), {
        example: 3,
        default: 3,
      }),
    ),
    secret: Type.Optional(
      described("The entry is confidential: masked in transcript, webhook event and logs.", Type.Boolean(), {
        default: false,
      }),
    ),
  }),
);
export type KeyCollection = Static<typeof KeyCollection>;

/** One node of the conversation. */
export const FlowNode = named(
  "Node",
  "A part of a conversation: what is said in it, and where it leads.",
  Strict({
    name: described("Its name; each is there once.", FieldName, { example: "confirm" }),
    prompt: Type.Optional(
      described("What the agent is to do here, for the model; may hold {{variables}}.", Text(8000)),
    ),
    role_prompt: Type.Optional(
      described("Who the agent is, for the model; it stays in force until another node brings its own.", Text(8000), {
        example: "You are Ada, who calls for Northwind.",
      }),
    ),
    functions: Type.Optional(
      described("What the model may call here, besides global_functions.", Type.Array(FlowFunction, { maxItems: 32 })),
    ),
    say: Type.Optional(described("Fixed text, spoken without asking the model; may hold {{variables}}.", Text(2000))),
    on_enter: Type.Optional(described("What is done on entering, in order.", Type.Array(NodeAction, { maxItems: 16 }))),
    on_exit: Type.Optional(described("What is done on leaving, in order.", Type.Array(NodeAction, { maxItems: 16 }))),
    interruptible: Type.Optional(
      described("false: what is said here is spoken to its end, whatever the caller says.", Type.Boolean(), {
        default: true,
      }),
    ),
    collect: Type.Optional(
      described(
        "What the caller gives here.",
        valued(["dtmf", "text"], { dtmf: "Digits of the keypad, as collection says.", text: "Speech." }),
      ),
    ),
    collection: Type.Optional(described("How digits form an entry, with collect: dtmf.", KeyCollection)),
    transitions: Type.Optional(
      described("Rules that lead on without asking the model, in order.", Type.Array(Transition, { maxItems: 32 })),
    ),
  }),
);
export type FlowNode = Static<typeof FlowNode>;
