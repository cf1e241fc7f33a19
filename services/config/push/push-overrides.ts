import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { refusal, type Refusal } from "../../../shared/errors.ts";
import { toE164 } from "../../../shared/phone.ts";
import type { Settings } from "../configurations/configurations.model.ts";
import { concernsCallee, liftingFields, overrideIssues } from "../rules/configuration-override.ts";

type Push = ParamsOf<"config.resolveForPush">;

/** A push whose template was found: its configuration's settings (null: it has none) and its merchant. */
export interface FoundPush {
  push: Push;
  settings: Settings | null;
  merchant_id: string | null;
}

/** What an override makes of a push: the delay before the first attempt, and what of it does not apply. */
type Ruling = Pick<ResultOf<"config.resolveForPush">, "initial_offset" | "override_left_out" | "test_number">;

const invalid = (errors: Refusal["errors"]): Refusal =>
  refusal(
    "PAYLOAD_INVALID",
    "configurations_override does not fit the configuration; see errors.",
    errors.map(({ path, message }) => ({
      path: path === "" ? "configurations_override" : `configurations_override.${path}`,
      message,
    })),
  );

const calleeOf = ({ push: { payload } }: FoundPush): string | null => {
  const number: unknown = payload["customer_mobile_number"];
  return typeof number === "string" ? toE164(number) : null;
};

/** Which of the pushes go to a test number of their merchant; asked for those that lift anything only. */
async function toTestNumbers(found: readonly FoundPush[], bus: Bus): Promise<Set<FoundPush>> {
  const pairs = found.flatMap((one) => {
    const { override } = one.push;
    const phone_number = calleeOf(one);
    const asks = override !== undefined && override.role !== "user" && concernsCallee(override.fields);
    return asks && one.merchant_id !== null && phone_number !== null
      ? [{ one, pair: { merchant_id: one.merchant_id, phone_number } }]
      : [];
  });
  if (pairs.length === 0) return new Set();
  const { listed } = await bus.call("merchants.testNumbers", { pairs: pairs.map(({ pair }) => pair) });
  return new Set(pairs.filter((_, i) => listed[i] === true).map(({ one }) => one));
}

function rulingOf({ push, settings }: FoundPush, test_number: boolean, default_timezone: string): Ruling | Refusal {
  const initial_offset = settings?.initial_offset ?? null;
  if (push.override === undefined) return { initial_offset };
  const { role, fields } = push.override;
  const errors = overrideIssues(settings, fields);
  if (errors.length > 0) return invalid(errors);
  if (role === "user") return { initial_offset, override_left_out: [{ field: "*", why: "role" }] };
  const lifting = settings === null || test_number ? [] : liftingFields(settings, fields, default_timezone);
  const wanted: unknown = fields["initial_offset"];
  return {
    initial_offset: typeof wanted === "number" ? wanted : initial_offset,
    override_left_out: lifting.map((field) => ({ field, why: "no_test_number" as const })),
    test_number,
  };
}

/** What the overrides of pushes make of them, in order. PAYLOAD_INVALID. */
export async function ruleOverrides(
  found: readonly FoundPush[],
  bus: Bus,
  default_timezone: string,
): Promise<(Ruling | Refusal)[]> {
  const tests = await toTestNumbers(found, bus);
  return found.map((one) => rulingOf(one, tests.has(one), default_timezone));
}
