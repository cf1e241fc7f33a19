import { GATES, type GateName } from "../../../shared/contracts/explanation.ts";
import { RULES, type DropOutcome, type Facts, type Ruling } from "./gates.ts";

/** A gate as it was judged. */
export interface Judged extends Ruling {
  gate: GateName;
}

/** What all gates together say: the first that ends the lead, else the first that holds it. `until` null: nobody can tell. */
export type Admission =
  | { verdict: "admit" }
  | { verdict: "hold"; gate: GateName; until: Date | null; reason: string }
  | { verdict: "drop"; gate: GateName; outcome: DropOutcome; reason: string };

const AFTER_DROP: Ruling = {
  verdict: "not_judged",
  detail: "A gate before this one ends the lead.",
  values: {},
  until: null,
};

/** Every gate in its order. After one that ends the lead nothing more is judged; one that holds it does not hide the next. */
export function judgeAll(facts: Facts): Judged[] {
  let dropped = false;
  return GATES.map((gate) => {
    const ruling = dropped ? AFTER_DROP : RULES[gate](facts);
    dropped ||= ruling.verdict === "drop";
    return { gate, ...ruling };
  });
}

const asAdmission = ({ gate, detail, until, outcome, verdict }: Judged): Admission =>
  verdict === "drop"
    ? { verdict, gate, outcome: outcome ?? "failed", reason: detail }
    : { verdict: "hold", gate, until, reason: detail };

/** The fold over judged gates. */
export function fold(gates: readonly Judged[]): Admission {
  const decisive = gates.find((g) => g.verdict === "drop") ?? gates.find((g) => g.verdict === "hold");
  return decisive ? asAdmission(decisive) : { verdict: "admit" };
}

/** The verdict on a lead, or with `lead` null on a whole queue, by the very gates that explain shows. */
export const admit = (facts: Facts): Admission => fold(judgeAll(facts));

/** The same for a queue, which is judged often: only these gates, and stops at the first that does not pass. A drop is only the template's, and it stands before every hold. */
export function admitQueue(
  facts: Omit<Facts, "lead" | "blacklisted" | "country">,
  gates: readonly GateName[] = GATES,
): Admission {
  const whole: Facts = { ...facts, lead: null, blacklisted: null, country: null };
  for (const gate of gates) {
    const ruling = RULES[gate](whole);
    if (ruling.verdict === "drop" || ruling.verdict === "hold") return asAdmission({ gate, ...ruling });
  }
  return { verdict: "admit" };
}
