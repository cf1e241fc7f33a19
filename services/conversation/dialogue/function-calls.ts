import { DO_NOT_CALL } from "../../../shared/contracts/records/attempt.ts";
import type { FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import type { ModelCall, ToolCall } from "./chat-messages.ts";
import { BUILT_IN_DO_NOT_CALL, functionsIn, isWish, type Flow } from "./flow.ts";
import { addResult, addSpoken } from "./transcript.ts";
import {
  andThen,
  endByWish,
  enterNode,
  endConversation,
  followTransition,
  noteError,
  think,
} from "./dialogue-steps.ts";
import { setVariables } from "./secret-entries.ts";
import { MAX_TURN_CHARS, MOST_CALLS, type Effect, type Step, type DialogueState } from "./dialogue-state.ts";
import { decide, decideByTurn, playedOut } from "./promises.ts";
import { applyTransitions } from "./transitions.ts";
import { isRecord, isTooDeep, MAX_JSON_DEPTH } from "../../../shared/json.ts";
import { parsedExactly } from "../../../shared/text/exact-numbers.ts";
import { readNumber } from "../../../shared/phone.ts";
import { renderedAddress } from "../../../shared/egress/rendered-address.ts";
import { render, renderJson } from "../../../shared/placeholders.ts";

/** What a function call of the model does. Pure. */

const MAX_ARGUMENT_CHARS = 8000;
const MAX_RESULT_CHARS = 4000;
/** What a call is refused with whose arguments nobody could check in time. */
export const UNCHECKED = "the arguments take too long to check";
const DIGITS = /^[0-9*#w]{1,32}$/;

type Arguments = Readonly<Record<string, unknown>>;

/** The arguments as an object, or a text that says what is wrong with them. */
export function readArguments(text: string): Arguments | string {
  if (text.length > MAX_ARGUMENT_CHARS) return `the arguments are longer than ${MAX_ARGUMENT_CHARS} characters`;
  if (text.trim() === "") return {};
  try {
    const value = parsedExactly(text);
    if (!isRecord(value)) return "the arguments must be a JSON object";
    return isTooDeep(value) ? `the arguments are nested deeper than ${MAX_JSON_DEPTH} levels` : value;
  } catch {
    return "the arguments are not valid JSON";
  }
}

function takeArguments(flow: Flow, s: DialogueState, called: FlowFunction, args: Arguments): DialogueState {
  const given = Object.entries(called.set ?? {}).filter(([, argument]) => Object.hasOwn(args, argument));
  const clipped = (value: unknown): unknown => (typeof value === "string" ? value.slice(0, MAX_TURN_CHARS) : value);
  return setVariables(
    flow,
    s,
    Object.fromEntries(given.map(([variable, argument]) => [variable, clipped(args[argument])])),
  );
}

/** The step of a function call. Further calls of the same answer are processed only when the model goes on in the same node. */
export interface FunctionResult {
  readonly step: Step;
  readonly stays: boolean;
}

const stays = (state: DialogueState, effects: Step["effects"] = []): FunctionResult => ({
  step: { state, effects },
  stays: true,
});
const leaves = (step: Step): FunctionResult => ({ step, stays: false });

/** Reports to the model that its call is invalid; `detail` says why where the template or payload is at fault. */
function refuse(
  s: DialogueState,
  id: string,
  error: string,
  { code = "BAD_CALL", detail }: { code?: string; detail?: string } = {},
): FunctionResult {
  const noted = noteError(s, code, detail);
  return stays(addResult({ ...noted.state, unusable_answers: s.unusable_answers + 1 }, id, { error }), noted.effects);
}

/** Executes a function call: outcome, then the next node, the end, a transition of the node, or the same node again. */
function carryOut(
  flow: Flow,
  s: DialogueState,
  id: string,
  called: FlowFunction,
  result: Arguments,
  spoke: boolean,
): FunctionResult {
  const wished = isWish(called) ? { ...s, do_not_call: true } : s;
  const told = addResult(decideByTurn(wished, called.outcome), id, result);
  if (called.action === "end_call") {
    if (called.next_node !== undefined) return leaves(enterNode(flow, { ...told, closing: "node" }, called.next_node));
    return leaves(spoke ? endConversation(told, "agent") : think(flow, { ...told, closing: "farewell" }));
  }
  if (called.next_node !== undefined) return leaves(enterNode(flow, told, called.next_node));
  const { state, nextNode } = applyTransitions(flow, told, null);
  return nextNode === null ? stays(state) : leaves(followTransition(flow, state, nextNode));
}

/** Waits for the result of an effect. */
function waits(
  s: DialogueState,
  mode: "fetching" | "transferring",
  called: FlowFunction,
  effect: Extract<Effect, { call_id: string }>,
): FunctionResult {
  const awaiting = { call_id: effect.call_id, node: s.node, function: called.name, media_closed: false };
  return leaves({ state: { ...s, mode, awaiting }, effects: [effect] });
}

function requestWeb(
  s: DialogueState,
  id: string,
  called: FlowFunction,
  http: NonNullable<FlowFunction["http"]>,
): FunctionResult {
  const sources = [s.extracted, s.payload];
  const url = renderedAddress(http.url, sources);
  if (url === null) return refuse(s, id, "the request is not possible: a part of its address is . or ..");
  return waits(s, "fetching", called, {
    type: "http",
    call_id: id,
    method: http.method,
    url,
    body: http.body === undefined ? null : renderJson(http.body, sources),
    ...(http.headers === undefined ? {} : { headers: { templates: http.headers, sources } }),
  });
}

function transferCall(s: DialogueState, id: string, called: FlowFunction): FunctionResult {
  const text = render(called.transfer_to ?? "", [s.payload]).trim();
  const read = readNumber(text);
  if ("issue" in read)
    return refuse(s, id, "the transfer is not possible: its number is not set up", {
      detail: `transfer_to ${read.issue}`,
    });
  const to = read.e164;
  return waits(s, "transferring", called, {
    type: "transfer",
    call_id: id,
    to,
    ...(text === called.transfer_to?.trim() ? {} : { from_variable: true }),
  });
}

/** DTMF is sent before the text that announces it. The digits may be secret, so they are never recorded. */
function sendDtmf(flow: Flow, s: DialogueState, id: string, called: FlowFunction, spoke: boolean): FunctionResult {
  const digits = render(called.digits ?? "", [s.extracted, s.payload]).replace(/\s/g, "");
  if (!DIGITS.test(digits))
    return refuse(s, id, "the keys can't be pressed: at most 32 of 0-9, *, # and w (half a second's wait)");
  const { step, stays: on } = carryOut(flow, s, id, called, { ok: true }, spoke);
  return { step: { ...step, effects: [{ type: "keys", digits }, ...step.effects] }, stays: on };
}

/** A call of the model with its function and arguments. */
export interface ReadCall {
  readonly call: ModelCall;
  readonly called: FlowFunction;
  readonly args: Arguments;
}

/** The calls of an answer whose arguments take time to check; most answers have none. */
export const callsToCheck = (flow: Flow, node: string, calls: readonly ModelCall[]): ReadCall[] =>
  calls.flatMap((call) => {
    const called = functionsIn(flow, node).find((f) => f.name === call.name);
    const args = readArguments(call.arguments);
    return called && typeof args !== "string" && flow.check(called, args) === null ? [{ call, called, args }] : [];
  });

/** What is wrong with the arguments of a call. The built-in function takes none, and can't be taken back by whoever it lists. */
function faultsOf(flow: Flow, called: FlowFunction, call: ModelCall, args: Arguments): readonly string[] {
  if (called === BUILT_IN_DO_NOT_CALL)
    return Object.keys(args).map((name) => `${name} is not an argument: there are none`);
  return call.faults ?? flow.check(called, args) ?? [UNCHECKED];
}

/** Executes one function call of the model's answer. `text` is the answer's text, already spoken. */
export function callFunction(flow: Flow, before: DialogueState, call: ModelCall, text: string): FunctionResult {
  const called = functionsIn(flow, before.node).find((f) => f.name === call.name);
  const args = readArguments(call.arguments);
  // the history keeps valid JSON only: some servers refuse a history with broken arguments
  const kept: ToolCall = {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: typeof args === "string" ? "{}" : JSON.stringify(args) },
  };
  const s: DialogueState = { ...addSpoken(before, text, kept), chain: before.chain + 1 };
  if (!called)
    return refuse(
      s,
      call.id,
      `there is no function of this name; there are: ${
        functionsIn(flow, s.node)
          .map((f) => f.name)
          .join(", ") || "none"
      }`,
    );
  if (typeof args === "string") return refuse(s, call.id, args);
  const faults = faultsOf(flow, called, call, args);
  if (faults.length > 0) return refuse(s, call.id, faults.join("; "));
  const times = s.carried_out[called.name] ?? 0;
  if (times >= (called.max_calls ?? MOST_CALLS[called.action ?? "none"] ?? Infinity))
    return refuse(s, call.id, "this function has been called as often as it may be", { code: "TOO_MANY_REQUESTS" });
  const counted = { ...s, carried_out: { ...s.carried_out, [called.name]: times + 1 } };
  const set = takeArguments(flow, counted, called, args);
  if (called === BUILT_IN_DO_NOT_CALL) return leaves(endByWish(flow, addResult(s, call.id, { ok: true })));
  if (called.action === "send_digits") return sendDtmf(flow, set, call.id, called, text !== "");
  if (called.action === "transfer") return transferCall(set, call.id, called);
  if (called.action === "http" && called.http) return requestWeb(set, call.id, called, called.http);
  return carryOut(flow, set, call.id, called, { ok: true }, text !== "");
}

/** What a call of the model counts for once they are gone: it decides and sets what they have said. Nothing is requested, transferred or entered: nobody hears of it. */
export function callAfterHangUp(flow: Flow, s: DialogueState, call: ModelCall): DialogueState {
  const called = functionsIn(flow, s.node).find((f) => f.name === call.name);
  const args = readArguments(call.arguments);
  if (!called || typeof args === "string" || faultsOf(flow, called, call, args).length > 0)
    return noteError(s, "BAD_CALL").state;
  if (isWish(called)) return { ...s, decided: s.decided ?? called.outcome ?? DO_NOT_CALL, do_not_call: true };
  const set = takeArguments(flow, s, called, args);
  return called.action === "http" || called.action === "transfer" ? set : decideByTurn(set, called.outcome);
}

const awaited = (flow: Flow, s: DialogueState): FlowFunction | undefined =>
  functionsIn(flow, s.awaiting?.node ?? "").find((f) => f.name === s.awaiting?.function);

/** The web request of a function call has ended. Outcome and next node apply only when it succeeded. */
export function httpDone(flow: Flow, s: DialogueState, call_id: string, ok: boolean, result: string): Step {
  const called = awaited(flow, s);
  const answer = result.slice(0, MAX_RESULT_CHARS);
  if (ok && called) {
    const { step, stays: on } = carryOut(flow, s, call_id, called, { ok: true, answer }, false);
    return on ? andThen(step, (done) => think(flow, done)) : step;
  }
  const error = "the request failed; tell them that it did not work and go on";
  return andThen(noteError(s, "HTTP_FAILED", answer), (noted) => think(flow, addResult(noted, call_id, { error })));
}

/** The web request of a function has ended after they were gone: what it decides counts. */
export const httpDoneAfterHangUp = (flow: Flow, s: DialogueState, ok: boolean): DialogueState =>
  ok ? decideByTurn(s, awaited(flow, s)?.outcome) : noteError(s, "HTTP_FAILED").state;

/** Outcome of a transferred conversation whose function names none. */
const TRANSFERRED = "transferred";

/** The carrier has the call now. */
export const transferDone = (flow: Flow, s: DialogueState, call_id: string): Step =>
  endConversation(
    addResult(decide(playedOut(s), awaited(flow, s)?.outcome ?? TRANSFERRED), call_id, { ok: true }),
    "agent",
    { transferred: true },
  );

/** The carrier did not transfer the call: the conversation goes on if the customer is still connected. */
export function transferFailed(flow: Flow, s: DialogueState, call_id: string, code: string): Step {
  const told = addResult(s, call_id, { error: "the transfer did not work; tell them and go on" });
  return andThen(noteError(told, "TRANSFER_FAILED", code), (noted) =>
    s.awaiting?.media_closed ? endConversation(noted, "customer", { at_once: true }) : think(flow, noted),
  );
}
