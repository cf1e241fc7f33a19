import { DO_NOT_CALL } from "../../../shared/contracts/records/attempt.ts";
import type { FlowFunction, FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import type { DialogueEvent, DialogueState } from "./dialogue-state.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";

/** What is wrong with the arguments of a call, empty when they fit; null: it takes time to tell, so the call brings it along (`ModelCall.faults`). Injected: compiling schemas is not the dialogue's work. */
export type ArgumentCheck = (called: FlowFunction, args: Readonly<Record<string, unknown>>) => readonly string[] | null;

/** The callee's first words are awaited for so long, where they speak first. People who have picked up speak within two seconds or wait to be spoken to. */
export const FIRST_WORDS_MS = 2500;

/** A compiled template version: what the dialogue knows beside the state. */
export interface Flow {
  readonly language: string;
  readonly greeting: string | null;
  /** The voicemail message; null: none. */
  readonly voicemail_message: string | null;
  /** The callee's first words are awaited before the greeting. */
  readonly callee_first: boolean;
  readonly initial_node: string;
  readonly nodes: ReadonlyMap<string, FlowNode>;
  readonly global_functions: readonly FlowFunction[];
  /** Whether the model is offered the function do_not_call. */
  readonly do_not_call_function: boolean;
  /** The DTMF key by which a callee asks not to be called again; null: none. */
  readonly do_not_call_key: string | null;
  readonly check: ArgumentCheck;
  /** The client says what is spoken, and no node is entered; absent: the template leads. */
  readonly client_led?: boolean;
}

/** Makes a flow of a template version. */
export const flowOf = (template: TemplateRecord, check: ArgumentCheck): Flow => ({
  language: template.language,
  greeting: template.greeting,
  voicemail_message: template.voicemail_message,
  callee_first: template.speaks_first === "callee",
  initial_node: template.initial_node,
  nodes: new Map(template.nodes.map((node) => [node.name, node])),
  global_functions: template.global_functions,
  do_not_call_function: template.do_not_call_function ?? true,
  do_not_call_key: template.do_not_call_key ?? null,
  check,
});

/** The function by which the model says that they asked not to be called again, where a template has none of its own. It ends the call with a fixed sentence. */
export const BUILT_IN_DO_NOT_CALL: FlowFunction = {
  name: DO_NOT_CALL,
  description:
    "Use this when they ask you to stop calling, not to call again, to be taken off the list or to unsubscribe. Not when they only decline, are busy or want another time.",
  parameters: { additionalProperties: false },
  outcome: DO_NOT_CALL,
  action: "end_call",
};

/** Whether a function of a template says that they asked not to be called again. */
export const isWish = ({ name, outcome }: Pick<FlowFunction, "name" | "outcome">): boolean =>
  name === DO_NOT_CALL || outcome === DO_NOT_CALL;

/** Functions on offer in a node: its own, then the template's; its own win over a namesake. Then the built-in one, unless the template forbids it or has its own. */
export function functionsIn(flow: Flow, node: string): readonly FlowFunction[] {
  const own = flow.nodes.get(node)?.functions ?? [];
  const names = new Set(own.map((f) => f.name));
  const all = [...own, ...flow.global_functions.filter((f) => !names.has(f.name))];
  return !flow.do_not_call_function || all.some(isWish) ? all : [...all, BUILT_IN_DO_NOT_CALL];
}

/** Whether DTMF is the key by which they ask not to be called again; where a node collects an entry, it is part of that. */
export const isWishKey = (flow: Flow, node: string, digits: string): boolean =>
  digits === flow.do_not_call_key && collectionOf(flow, node) === null;

type Whereabouts = Pick<DialogueState, "mode" | "node">;

/** Whether the conversation waits for the callee's first words: nothing of ours has been said. */
export const awaitsCallee = (flow: Flow, { mode, node }: Whereabouts): boolean =>
  flow.callee_first && node === "" && mode === "listening";

/** Whether it is the callee's turn. */
export const isListening = (flow: Flow, s: Whereabouts): boolean =>
  s.mode === "listening" && (s.node !== "" || awaitsCallee(flow, s));

/** Their silence that counts as idle now, ms. */
export const idleMs = (flow: Flow, s: Whereabouts, idle_seconds: number): number =>
  awaitsCallee(flow, s) ? FIRST_WORDS_MS : idle_seconds * MS_PER_SECOND;

/** Whether the customer may interrupt the speech of a node; default true. */
export const interruptible = (flow: Flow, node: string): boolean => flow.nodes.get(node)?.interruptible ?? true;

/** How DTMF digits are collected to one entry. `end_key` null: only length and pause end it. */
export interface DtmfCollection {
  readonly max_digits: number;
  readonly end_key: string | null;
  readonly pause_ms: number;
  readonly secret: boolean;
}

/** Defaults of a node: most digits of one entry, and the pause that ends it. */
export const MAX_ENTRY_DIGITS = 32;
export const ENTRY_PAUSE_MS = 3000;
const END_KEY = "#";

/** How a node collects DTMF to one entry; null: each digit counts by itself. */
export function collectionOf(flow: Flow, name: string): DtmfCollection | null {
  const node = flow.nodes.get(name);
  if (node?.collect !== "dtmf") return null;
  const { max_digits, end_key = END_KEY, pause_seconds, secret } = node.collection ?? {};
  return {
    max_digits: max_digits ?? MAX_ENTRY_DIGITS,
    end_key: end_key === "none" ? null : end_key,
    pause_ms: pause_seconds === undefined ? ENTRY_PAUSE_MS : Math.round(pause_seconds * MS_PER_SECOND),
    secret: secret ?? false,
  };
}

/** How an answer of the model can't be taken back once it is carried out: what it does happens at once, or the model is asked for words first. */
export type Finality = "at_once" | "after_words";

const AT_ONCE: ReadonlySet<FlowFunction["action"]> = new Set(["transfer", "send_digits"]);

/** How final a function is: it decides an outcome, ends the call, transfers it, or changes something elsewhere; null: it can be undone. */
function finalityOf(flow: Flow, called: FlowFunction): Finality | null {
  const { outcome, action, http, next_node } = called;
  if (AT_ONCE.has(action) || (action === "http" && http?.method === "POST")) return "at_once";
  if (called === BUILT_IN_DO_NOT_CALL) return "at_once";
  const next = flow.nodes.get(next_node ?? "");
  const ends = action === "end_call" || (next?.on_enter?.some(({ type }) => type === "end_call") ?? false);
  if (ends && next?.say !== undefined) return "at_once";
  return ends || outcome !== undefined ? "after_words" : null;
}

/** How final what this event carries out is: a final function, or the last words of a call. Null: it can be undone. */
export function finalAnswer(flow: Flow, s: DialogueState, event: DialogueEvent): Finality | null {
  if (event.type !== "model_answered") return null;
  if (s.closing !== "no") return "after_words";
  const functions = functionsIn(flow, s.node);
  const found = event.calls.flatMap(({ name }) => {
    const called = functions.find((f) => f.name === name);
    return called ? [finalityOf(flow, called)] : [];
  });
  return found.find((one) => one === "at_once") ?? found.find((one) => one !== null) ?? null;
}
