import type { Plan } from "./completion.ts";
import { ApiFault } from "./request.ts";
import type { ChatRequest } from "./request.ts";

/** Faults a test can order: each is spent on the next chat completions, in the order they were ordered. */
export const FAULT_KINDS = ["hang", "error_500", "error_429", "garbage_tool_call", "cut_stream"] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

const MOST_TIMES = 10_000;

/** A queue of ordered faults. */
export class Faults {
  #orders: { kind: FaultKind; times: number }[] = [];

  /** Adds `{kind, times}` (times 1 when absent, 0 forgets that kind); throws ApiFault 400 for anything else. */
  order(body: unknown): void {
    const fields: Readonly<Record<string, unknown>> = typeof body === "object" && body !== null ? { ...body } : {};
    const kind = FAULT_KINDS.find((one) => one === fields["kind"]);
    if (kind === undefined) throw new ApiFault(400, `'kind' must be one of ${FAULT_KINDS.join(", ")}.`, "kind", "invalid_value");
    const times = fields["times"] ?? 1;
    if (typeof times !== "number" || !Number.isInteger(times) || times < 0 || times > MOST_TIMES) throw new ApiFault(400, `'times' must be a whole number from 0 to ${MOST_TIMES}.`, "times", "invalid_value");
    if (times === 0) this.#orders = this.#orders.filter((order) => order.kind !== kind);
    else this.#orders.push({ kind, times });
  }

  /** The fault for the next completion, null when none is ordered. */
  take(): FaultKind | null {
    const [next] = this.#orders;
    if (next === undefined) return null;
    next.times -= 1;
    if (next.times === 0) this.#orders.shift();
    return next.kind;
  }

  /** What is still ordered. */
  list(): readonly Readonly<{ kind: FaultKind; times: number }>[] {
    return this.#orders.map((order) => ({ ...order }));
  }
}

/** The error an ordered error fault stands for, null for the other kinds. */
export function errorOf(kind: FaultKind | null): ApiFault | null {
  if (kind === "error_500") return new ApiFault(500, "The server had an error while processing your request. Sorry about that!");
  if (kind === "error_429") return new ApiFault(429, "Rate limit reached for requests. Please try again later.", null, "rate_limit_exceeded");
  return null;
}

/** The plan with a tool call whose arguments are no JSON, as models now and then produce them. */
export function garbled(plan: Plan, request: ChatRequest): Plan {
  const name = plan.call?.name ?? request.tools[0]?.name ?? "no_such_function";
  return { ...plan, content: null, call: { id: plan.id.replace("chatcmpl-", "call_"), name, arguments: '{"day": "Fri' }, finish: "tool_calls" };
}
