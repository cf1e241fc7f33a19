import type { ParamsOf } from "../../../shared/bus/bus.ts";

/** An outcome that a gate drops a lead with. */
export type DropOutcome = ParamsOf<"leads.drop">["outcome"];

/** What one gate says, in the words of explain. `until`: from when it may let the lead pass; null: unknown. */
export interface Ruling {
  verdict: "pass" | "hold" | "drop" | "not_judged";
  detail: string;
  values: Record<string, unknown>;
  until: Date | null;
  outcome?: DropOutcome;
}

/** What explain shows beside the sentence. */
export type Values = Record<string, unknown>;

/** The gate lets the lead pass. */
export const pass = (detail: string, values: Values = {}): Ruling => ({ verdict: "pass", detail, values, until: null });
/** The gate defers the lead. */
export const hold = (detail: string, until: Date | null, values: Values = {}): Ruling => ({
  verdict: "hold",
  detail,
  values,
  until,
});
/** The gate ends the lead. */
export const drop = (outcome: DropOutcome, detail: string, values: Values = {}): Ruling => ({
  verdict: "drop",
  detail,
  values,
  until: null,
  outcome,
});
/** There is nothing to judge by. */
export const notJudged = (detail: string): Ruling => ({ verdict: "not_judged", detail, values: {}, until: null });
