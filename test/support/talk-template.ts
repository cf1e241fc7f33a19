import type { FlowFunction, FlowNode, TemplateRecord } from "../../shared/contracts/template.ts";
import { argumentChecks } from "../../services/conversation/flow/argument-checks.ts";
import { step } from "../../services/conversation/flow/brain.ts";
import { flowOf, type Flow } from "../../services/conversation/flow/flow.ts";
import { newTalk, type Effect, type TalkEvent, type TalkState } from "../../services/conversation/flow/state.ts";

const DAY = {
  type: "object",
  required: ["day"],
  properties: { day: { type: "string", minLength: 2 } },
  additionalProperties: false,
};

/** Nodes of a small order talk: one of each kind. */
export const NODES: FlowNode[] = [
  {
    name: "ask",
    role_prompt: "You are Mia of {{shop}}.",
    prompt: "Ask {{customer}} whether they confirm order {{order}}.",
    functions: [
      { name: "confirm", description: "They confirm.", next_node: "confirmed", outcome: "confirmed" },
      { name: "another_day", description: "They want another day.", next_node: "ask_day" },
      {
        name: "note",
        description: "Note what they say.",
        parameters: { type: "object", properties: { text: { type: "string" } } },
        set: { remark: "text" },
      },
      { name: "maybe", description: "They are not sure.", outcome: "undecided" },
      { name: "leave", description: "They want to end.", action: "end_call", outcome: "left" },
      { name: "agent", description: "They want a person.", action: "transfer", transfer_to: "{{desk}}" },
      {
        name: "stock",
        description: "Look up the stock.",
        action: "http",
        outcome: "checked",
        next_node: "stock_known",
        http: {
          method: "POST",
          url: "https://shop.example/stock/{{order}}?c={{customer}}",
          body: { order: "{{order}}", who: "for {{customer}}" },
        },
      },
    ],
  },
  {
    name: "ask_day",
    prompt: "Ask which day suits.",
    on_exit: [{ type: "set", variable: "asked", value: "yes, {{customer}}" }],
    functions: [
      {
        name: "set_day",
        description: "They name a day.",
        parameters: DAY,
        set: { new_day: "day" },
        next_node: "moved",
        outcome: "rescheduled",
      },
    ],
  },
  {
    name: "stock_known",
    prompt: "Tell them about the stock.",
    collect: "dtmf",
    functions: [{ name: "confirm", description: "They confirm.", next_node: "confirmed", outcome: "confirmed" }],
  },
  {
    name: "confirmed",
    say: "Thank you, {{customer}}. Goodbye!",
    on_enter: [{ type: "end_call" }],
    interruptible: false,
  },
  {
    name: "moved",
    role_prompt: "You are brief.",
    prompt: "Thank them for {{new_day}} and say goodbye.",
    on_enter: [{ type: "end_call" }],
  },
  { name: "silent_end", on_enter: [{ type: "end_call" }] },
];

const GLOBAL: FlowFunction[] = [
  { name: "wrong_person", description: "It is somebody else.", next_node: "silent_end", outcome: "wrong_person" },
];

/** What the tests' lead brings along. */
export const PAYLOAD = { customer: "Ada", order: "A-17", shop: "Northwind", desk: "+14155550100" };

/** A template version around these nodes. */
export const talkTemplate = (over: Partial<TemplateRecord> = {}): TemplateRecord => ({
  id: "2f5a2f3e-1c1b-4b8e-9d52-6f6f1f0d7a10",
  version: 1,
  reseller_id: "r",
  merchant_id: null,
  name: "orders",
  is_active: true,
  payload_schema: null,
  variables: [],
  initial_node: "ask",
  nodes: NODES,
  global_functions: GLOBAL,
  greeting: "Good day from {{shop}}.",
  voicemail_message: null,
  voice: null,
  language: "en-US",
  limits: { max_call_seconds: 60, idle_seconds: 4, max_age_seconds: 3600 },
  retry_on: null,
  engine: null,
  models: {},
  evaluators: [],
  summary: false,
  evaluation_wait_seconds: 2,
  created_at: "2026-11-21T10:00:00.000Z",
  updated_at: "2026-11-21T10:00:00.000Z",
  ...over,
});

/** The flow of such a template. */
export const talkFlow = (over: Partial<TemplateRecord> = {}): Flow => {
  const template = talkTemplate(over);
  return flowOf(template, argumentChecks(template));
};

/** A call as the model makes it. */
export const call = (name: string, args: unknown = {}, id = `c_${name}`) => ({
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args),
});

/** Plays a script; an event may be made from the state before it. Gives the last state and the effects of each event. */
export function play(
  flow: Flow,
  script: (TalkEvent | ((s: TalkState) => TalkEvent))[],
  payload: Record<string, unknown> = PAYLOAD,
): { state: TalkState; effects: Effect[][]; last: Effect[] } {
  let state = newTalk(payload);
  const effects: Effect[][] = [];
  for (const entry of script) {
    const done = step(flow, state, typeof entry === "function" ? entry(state) : entry);
    state = done.state;
    effects.push([...done.effects]);
  }
  return { state, effects, last: effects.at(-1) ?? [] };
}

/** The model's answer to the latest thought. */
export const answer =
  (text: string, calls: ReturnType<typeof call>[] = []) =>
  (s: TalkState): TalkEvent => ({ type: "model_answered", turn: s.turn, text, calls });
export const failure =
  (code = "MODEL_TIMEOUT", said = "") =>
  (s: TalkState): TalkEvent => ({ type: "model_failed", turn: s.turn, code, said });
export const started: TalkEvent = { type: "started" };
export const heard = (text: string, said = ""): TalkEvent => ({ type: "heard", text, said });
