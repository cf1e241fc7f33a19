import { GATES, type GateName } from "../../../shared/contracts/records/explanation.ts";
import { isSessionMode } from "../../../shared/contracts/records/lead.ts";
import { RULES, type GateInputs } from "./gates.ts";
import type { DropOutcome, Ruling } from "./gate-verdict.ts";

/** A gate and its ruling. */
export interface JudgedGate extends Ruling {
  gate: GateName;
}

/** What all gates together decide: the first that drops the lead, else the first that defers it. `until` null: unknown. */
export type Admission =
  | { verdict: "admitted" }
  | { verdict: "deferred"; gate: GateName; until: Date | null; reason: string }
  | { verdict: "dropped"; gate: GateName; outcome: DropOutcome; reason: string };

const AFTER_DROP: Ruling = {
  verdict: "not_judged",
  detail: "A gate before this one ends the lead.",
  values: {},
  until: null,
};

/** Gates that are about ringing a phone: a session rings none. */
const OF_PHONES: ReadonlySet<GateName> = new Set([
  "former_call_open",
  "callee_busy",
  "callee_capped",
  "configuration",
  "window",
  "international",
  "line",
  "rate_limit",
  "carrier_limit",
]);
const NO_PHONE: Ruling = {
  verdict: "not_judged",
  detail: "The lead waits for a client to join its session; no phone rings.",
  values: {},
  until: null,
};
/** Gates that hold a session lead only for as long as no client joins. */
const UNTIL_JOINED: ReadonlySet<GateName> = new Set(["phone_number", "due"]);

/** Judges every gate in its order. After one that drops the lead none is judged; one that defers it does not hide the next. */
export function judgeGates(inputs: GateInputs): JudgedGate[] {
  let dropped = false;
  const isSession = inputs.lead !== null && isSessionMode(inputs.lead.execution_mode);
  return GATES.map((gate) => {
    const ruling = dropped ? AFTER_DROP : isSession && OF_PHONES.has(gate) ? NO_PHONE : RULES[gate](inputs);
    dropped ||= ruling.verdict === "drop";
    return { gate, ...ruling };
  });
}

const asAdmission = ({ gate, detail, until, outcome, verdict }: JudgedGate): Admission =>
  verdict === "drop"
    ? { verdict: "dropped", gate, outcome: outcome ?? "failed", reason: detail }
    : { verdict: "deferred", gate, until, reason: detail };

/** The fold over judged gates. */
export function admissionOf(gates: readonly JudgedGate[]): Admission {
  const decisive = gates.find((g) => g.verdict === "drop") ?? gates.find((g) => g.verdict === "hold");
  return decisive ? asAdmission(decisive) : { verdict: "admitted" };
}

/** Whether a client may join the session of a lead now. */
export const admitToSession = (inputs: GateInputs): Admission =>
  admissionOf(judgeGates(inputs).filter(({ gate }) => !UNTIL_JOINED.has(gate)));

/** The admission of a lead, or with `lead` null of a whole queue, by the gates that explain shows. */
export const admitLead = (inputs: GateInputs): Admission => admissionOf(judgeGates(inputs));

/**
 * The admission of a queue by these gates. Queues are judged often, so it stops at the first gate that does not pass; only
 * the template gate can drop a queue, and it stands before every gate that defers one.
 */
export function admitQueue(
  inputs: Omit<GateInputs, "lead" | "blacklisted" | "country">,
  gates: readonly GateName[] = GATES,
): Admission {
  const whole: GateInputs = { ...inputs, lead: null, blacklisted: null, country: null };
  for (const gate of gates) {
    const ruling = RULES[gate](whole);
    if (ruling.verdict === "drop" || ruling.verdict === "hold") return asAdmission({ gate, ...ruling });
  }
  return { verdict: "admitted" };
}
