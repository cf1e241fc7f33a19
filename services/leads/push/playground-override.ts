import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { Explanation } from "../../../shared/contracts/records/explanation.ts";
import { isRecord, textOf } from "../../../shared/json.ts";
import type { LeadDoc } from "../leads.model.ts";

/** What a push changes of its template's configuration, and what of that does not apply. Pure. */

type PushedLead = Pick<ParamsOf<"leads.push">["lead"], "configurations_override" | "is_playground">;
type Resolved = Pick<ResultOf<"config.resolveForPush">, "override_left_out" | "test_number">;

/** What a playground push overrides: a null counts as absent. Null: nothing, or the push is no playground's. */
export function overrideFields(lead: PushedLead): Record<string, unknown> | null {
  const given = Object.entries(lead.configurations_override ?? {}).filter(([, value]) => value !== null);
  return lead.is_playground === true && given.length > 0 ? Object.fromEntries(given) : null;
}

/** A part of an override that does not apply, and why. */
interface LeftOut {
  path: string;
  message: string;
}

const OVERRIDE = "configurations_override";
const REASONS = {
  role: "the role user may not override a configuration",
  no_test_number:
    "a wider calling window, a lifted blacklist and other transfer targets are for the merchant's test_numbers only",
} as const;

/** The override as the lead keeps it, and what of the push's does not apply. */
export function keptOverride(
  lead: PushedLead,
  { override_left_out = [], test_number = false }: Resolved,
): { override: LeadDoc["configurations_override"]; left_out: LeftOut[] } {
  const fields = overrideFields(lead);
  if (fields === null) {
    const given = Object.keys(lead.configurations_override ?? {}).length > 0;
    const ignored = given && lead.is_playground !== true;
    return { override: null, left_out: ignored ? [{ path: OVERRIDE, message: "is_playground is not true" }] : [] };
  }
  const left_out = override_left_out.map(({ field, why }) => ({
    path: field === "*" ? OVERRIDE : `${OVERRIDE}.${field}`,
    message: REASONS[why],
  }));
  const refused = new Set(override_left_out.map(({ field }) => field));
  const kept = Object.entries(fields).filter(([field]) => !refused.has("*") && !refused.has(field));
  const override = { ...Object.fromEntries(kept), ...(test_number ? { test_number } : {}) };
  return { override: kept.length > 0 ? override : null, left_out };
}

/** What a lead remembers of it, for metaData. */
export const leftOutMeta = (left_out: readonly LeftOut[]): Record<string, unknown> =>
  left_out.length === 0 ? {} : { override_left_out: left_out };

/** A sentence about what of the lead's override does not apply, with a space before it; empty: all of it does. */
export function leftOutSentence(meta: LeadDoc["meta"]): string {
  const left_out = [meta["override_left_out"]].flat().filter(isRecord);
  if (left_out.length === 0) return "";
  return ` Not applied: ${left_out.map(({ path, message }) => `${textOf(path)} (${textOf(message)})`).join("; ")}.`;
}

/** The explanation of a lead, saying at the gate of its configuration what of its override does not apply. */
export function explainLeftOut(explanation: Explanation, meta: LeadDoc["meta"]): Explanation {
  const sentence = leftOutSentence(meta);
  if (sentence === "") return explanation;
  const { override_left_out } = meta;
  return {
    ...explanation,
    gates: explanation.gates.map((gate) =>
      gate.gate === "configuration"
        ? { ...gate, detail: `${gate.detail}${sentence}`, values: { ...gate.values, override_left_out } }
        : gate,
    ),
  };
}
