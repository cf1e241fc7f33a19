import type { Plan } from "../dialogue/completion.ts";
import { ApiError } from "./chat-request.ts";
import type { ChatRequest } from "./chat-request.ts";

/** Faults a test can order: each is spent on the next requests of its target, in the order they were ordered. */
export const FAULT_KINDS = [
  "hang",
  "error_500",
  "error_429",
  "garbage_tool_call",
  "cut_stream",
  "slow",
  "drop",
  "error_event",
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What a fault may be ordered for, and which ones make sense there. */
const MEANT_FOR = {
  chat: ["hang", "error_500", "error_429", "garbage_tool_call", "cut_stream", "slow"],
  speech: ["hang", "error_500", "error_429", "cut_stream", "slow"],
  transcription: ["hang", "error_500", "error_429", "cut_stream", "slow"],
  // The errors refuse the connection; the others are spent on answers of the model.
  realtime: ["hang", "error_500", "error_429", "garbage_tool_call", "cut_stream", "slow", "drop", "error_event"],
} as const satisfies Record<string, readonly FaultKind[]>;
export type FaultTarget = keyof typeof MEANT_FOR;

/** A fault that was ordered; `ms` is how much longer a slow answer takes. */
export type Fault = Readonly<{ kind: FaultKind; ms: number }>;
type Order = { target: FaultTarget; kind: FaultKind; times: number; ms: number };

const MOST_TIMES = 10_000;
const SLOW_MS = 5000;
const MOST_SLOW_MS = 120_000;

/** Queues of ordered faults, one for each target. */
export class Faults {
  #orders: Order[] = [];

  /** Adds `{kind, target, times, ms}` (target "chat", times 1 and ms 5000 when absent; times 0 forgets that kind); throws ApiFault 400 for anything else. */
  order(body: unknown): void {
    const fields: Readonly<Record<string, unknown>> = typeof body === "object" && body !== null ? { ...body } : {};
    const target = targetOf(fields["target"] ?? "chat");
    const kinds: readonly FaultKind[] = MEANT_FOR[target];
    const kind = kinds.find((one) => one === fields["kind"]);
    if (kind === undefined)
      throw new ApiError(400, `'kind' must be one of ${kinds.join(", ")}.`, "kind", "invalid_value");
    const times = wholeNumber(fields["times"] ?? 1, "times", MOST_TIMES);
    const ms = wholeNumber(fields["ms"] ?? SLOW_MS, "ms", MOST_SLOW_MS);
    if (times === 0) this.#orders = this.#orders.filter((order) => order.kind !== kind || order.target !== target);
    else this.#orders.push({ target, kind, times, ms });
  }

  /** The fault for the next request of a target, null when none is ordered or the next one is not of these kinds. */
  take(target: FaultTarget, kinds: readonly FaultKind[] = FAULT_KINDS): Fault | null {
    const at = this.#orders.findIndex((order) => order.target === target);
    const next = this.#orders[at];
    if (next === undefined || !kinds.includes(next.kind)) return null;
    next.times -= 1;
    if (next.times === 0) this.#orders.splice(at, 1);
    return { kind: next.kind, ms: next.ms };
  }

  /** What is still ordered. */
  list(): readonly Readonly<Order>[] {
    return this.#orders.map((order) => ({ ...order }));
  }
}

function targetOf(value: unknown): FaultTarget {
  if (value === "chat" || value === "speech" || value === "transcription" || value === "realtime") return value;
  throw new ApiError(400, `'target' must be one of ${Object.keys(MEANT_FOR).join(", ")}.`, "target", "invalid_value");
}

function wholeNumber(value: unknown, name: string, most: number): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > most)
    throw new ApiError(400, `'${name}' must be a whole number from 0 to ${most}.`, name, "invalid_value");
  return value;
}

/** The error an ordered error fault stands for, null for the other kinds. */
export function errorOf(fault: Fault | null): ApiError | null {
  if (fault?.kind === "error_500")
    return new ApiError(500, "The server had an error while processing your request. Sorry about that!");
  if (fault?.kind === "error_429")
    return new ApiError(429, "Rate limit reached for requests. Please try again later.", null, "rate_limit_exceeded");
  return null;
}

/** The plan with a tool call whose arguments are no JSON, as models now and then produce them. */
export function garbled(plan: Plan, request: ChatRequest): Plan {
  const name = plan.call?.name ?? request.tools[0]?.name ?? "no_such_function";
  return {
    ...plan,
    content: null,
    call: { id: plan.id.replace("chatcmpl-", "call_"), name, arguments: '{"day": "Fri' },
    finish: "tool_calls",
  };
}
