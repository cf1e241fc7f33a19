import type { ResultOf } from "../../../shared/bus/bus.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { SessionPlan } from "../../../shared/contracts/records/session.ts";
import { admitToSession } from "./admission.ts";
import type { GateInputs } from "./gates.ts";

/** A template without a configuration is recorded as one that says nothing of it. */
const RECORD_BY_DEFAULT = true;

const planOf = (plan: Plan, ceilings: GateInputs["ceilings"]): SessionPlan => ({
  template_version: plan.version,
  max_call_seconds: plan.max_call_seconds,
  record: plan.configuration?.record_calls ?? RECORD_BY_DEFAULT,
  engine: plan.configuration?.engine ?? null,
  ...(ceilings ? { spend_ceilings: ceilings } : {}),
});

/** Whether a client may join now, and what the session is led with. Pure. */
export function admitSession(inputs: GateInputs): ResultOf<"scheduler.admitSession"> {
  const admission = admitToSession(inputs);
  if (admission.verdict === "admitted" && inputs.plan)
    return {
      verdict: "admitted",
      gate: null,
      detail: "",
      outcome: null,
      plan: planOf(inputs.plan, inputs.ceilings),
    };
  if (admission.verdict === "dropped") {
    const { gate, reason, outcome } = admission;
    return { verdict: "dropped", gate, detail: reason, outcome, plan: null };
  }
  const { gate, reason } =
    admission.verdict === "deferred" ? admission : { gate: "template" as const, reason: "The template is unknown." };
  return { verdict: "deferred", gate, detail: reason, outcome: null, plan: null };
}
