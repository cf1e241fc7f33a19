import { GATES, type GateName } from "../../../shared/contracts/records/explanation.ts";
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

/** Judges every gate in its order. After one that drops the lead none is judged; one that defers it does not hide the next. */
export function judgeGates(inputs: GateInputs): JudgedGate[] {
  let dropped = false;
  return GATES.map((gate) => {
    const ruling = dropped ? AFTER_DROP : RULES[gate](inputs);
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
