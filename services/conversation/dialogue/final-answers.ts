import type { FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import type { DialogueEvent, DialogueState } from "./dialogue-state.ts";
import { BUILT_IN_DO_NOT_CALL, functionsIn, type Flow } from "./flow.ts";

/** Which answers of the model can't be taken back once they are carried out. Pure. */

/** How an answer is final: what it does happens at once, or the model is asked for words first. */
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
