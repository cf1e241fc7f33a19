import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/records/configuration.ts";
import type { SpendCeiling, SpendCeilings } from "../../../shared/contracts/records/spend.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import { countryOf } from "../../../shared/phone.ts";
import type { AnswerOf } from "../../../deploy/client/shapes.ts";
import { ApiFailure, type Client } from "../api-client.ts";
import { templateOf } from "../../../deploy/client/cli/template-store.ts";
import type { World } from "./forecast.ts";

type Template = AnswerOf<"GET", "/templates/{id}">;
type OutboundNumber = AnswerOf<"GET", "/numbers">["numbers"][number];

/** What the rehearsal reads of the deployment. `name`: the template's; `calls_per_second` null: it could not be learned. */
export interface Read extends Omit<World, "calls_per_second" | "country" | "spend"> {
  name: string;
  numbers: OutboundNumber[];
  calls_per_second: number | null;
  /** The spend ceilings that the token may see; null: none. */
  ceilings: SpendCeilings | null;
  /** What is wrong with the template, which was saved before it was refused. */
  warnings: readonly { path: string; message: string }[];
}

const PAGE = 500;
/** Numbers beyond this are not read: 20 pages. */
const MAX_NUMBERS = 10_000;

const ownTo = <T>(answer: Promise<T>, otherwise: T, ...codes: string[]): Promise<T> =>
  answer.catch((error: unknown) => {
    if (error instanceof ApiFailure && codes.includes(error.code)) return otherwise;
    throw error;
  });

/** Every number of the provider that the template's calls may use, as far as the token may see them. */
async function numbersFor(
  client: Client,
  { reseller_id, merchant_id }: Template,
  provider: ConfigurationRecord["calling_provider"],
): Promise<OutboundNumber[]> {
  const all: OutboundNumber[] = [];
  for (let cursor: string | null | undefined; cursor !== null && all.length < MAX_NUMBERS;) {
    const page: AnswerOf<"GET", "/numbers"> = await client.ask("GET", "/numbers", {
      query: { provider, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) },
    });
    all.push(...page.numbers);
    cursor = page.next_cursor;
  }
  const usable = (n: OutboundNumber): boolean =>
    n.reseller_id === null ||
    (n.reseller_id === reseller_id && (n.merchant_id === null || n.merchant_id === merchant_id));
  return all.filter((n) => n.status !== "DISABLED" && usable(n));
}

/** The calls per second of the provider's account, as the scheduler says in an explanation; null where there is no lead to be explained. */
async function carrierLimit(client: Client, template_id: string): Promise<number | null> {
  const {
    leads: [lead],
  } = await client.ask("GET", "/leads", { query: { template_id, include_test: true, limit: 1 } });
  if (!lead) return null;
  const { gates } = await client.ask("GET", "/leads/{lead_id}/explain", { path: { lead_id: lead.id } });
  const gate = gates.find((g) => g.gate === "carrier_limit");
  if (!gate || gate.verdict === "not_judged") return null;
  const max: unknown = gate.values["max_calls"];
  return typeof max === "number" ? max : 0;
}

const slotsOf = (numbers: readonly OutboundNumber[]) => ({
  numbers: numbers.length,
  free_lines: numbers.reduce((sum, n) => sum + n.max_concurrent_calls, 0),
});

/** The country that is called: that of an example, else that of most of the numbers' slots. */
export function countryCalled(to: string | null, numbers: readonly OutboundNumber[]): string | null {
  if (to !== null) return countryOf(to);
  const slots = new Map<string, number>();
  for (const n of numbers) {
    const country = countryOf(n.phone_number);
    if (country !== null) slots.set(country, (slots.get(country) ?? 0) + n.max_concurrent_calls);
  }
  return [...slots].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

/** The slots of a world whose calls go to this country. */
export const slotsTo = (
  country: string | null,
  numbers: readonly OutboundNumber[],
  configuration: ConfigurationRecord | null,
): World["slots"] => ({
  ...slotsOf(numbers),
  home:
    configuration?.enable_international_call === false
      ? slotsOf(numbers.filter((n) => countryOf(n.phone_number) === country))
      : null,
});

const ceilingsOf = (merchant: SpendCeiling | null, reseller: SpendCeiling | null): SpendCeilings | null =>
  merchant || reseller ? { ...(merchant ? { merchant } : {}), ...(reseller ? { reseller } : {}) } : null;

/** Reads what a rehearsal needs over the REST API, with any token that may read the template. UsageError, ApiFailure. */
export async function readWorld(
  client: Client,
  asked: string,
  to: string | null,
): Promise<Read & { country: string | null }> {
  const template = await templateOf(client, asked);
  const {
    configurations: [configuration = null],
  } = await client.ask("GET", "/configurations", { query: { template_id: template.id } });
  const [merchant, reseller, deployment, numbers, calls_per_second] = await Promise.all([
    template.merchant_id === null ? null : client.ask("GET", "/merchants/{id}", { path: { id: template.merchant_id } }),
    // a reseller's ceiling is not its merchants' to see
    ownTo<AnswerOf<"GET", "/resellers/{id}"> | null>(
      client.ask("GET", "/resellers/{id}", { path: { id: template.reseller_id } }),
      null,
      "FORBIDDEN",
    ),
    ownTo(client.ask("GET", "/deployment"), { paused: null }, "FORBIDDEN"),
    configuration ? numbersFor(client, template, configuration.calling_provider) : [],
    carrierLimit(client, template.id),
  ]);
  const plan: Plan = {
    template_id: template.id,
    version: template.version,
    is_active: template.is_active,
    max_age_seconds: template.limits.max_age_seconds,
    max_call_seconds: template.limits.max_call_seconds,
    retry_on: template.retry_on === null ? null : [...template.retry_on],
    configuration: configuration && (structuredClone(configuration) as ConfigurationRecord),
  };
  const country = countryCalled(to, numbers);
  return {
    name: template.name,
    plan,
    warnings: template.warnings ?? [],
    pauses: { deployment: deployment.paused, merchant: merchant?.paused ?? null },
    callee_cap: merchant?.max_calls_per_callee ?? null,
    ceilings: ceilingsOf(merchant?.spend_ceiling ?? null, reseller?.spend_ceiling ?? null),
    numbers,
    country,
    callee_zones: to === null ? [] : zonesOf(to),
    calls_per_second,
    slots: slotsTo(country, numbers, plan.configuration),
  };
}
