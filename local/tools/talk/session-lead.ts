import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { AnswerOf } from "../../../deploy/client/shapes.ts";
import { isRecord } from "../../../shared/json.ts";
import type { Client } from "../api-client.ts";
import { readRows } from "../demo/leads-csv.ts";
import { ROOT } from "../stack/project-root.ts";

type Template = Pick<AnswerOf<"GET", "/templates/{id}">, "id" | "reseller_id" | "merchant_id" | "payload_schema">;

/** What sample leads say of a customer: stands in for what a person did not give. */
const sampleValues = (): Record<string, string> =>
  readRows(join(ROOT, "local", "tools", "sample", "leads.csv"))[0]?.payload ?? {};

/** A value for a variable that nobody gave: of its schema, of the sample leads, or its own name. */
function valueOf(name: string, schema: unknown, sample: Readonly<Record<string, string>>): unknown {
  const rules = isRecord(schema) ? schema : {};
  const named = [rules["const"], rules["default"], rules["examples"], rules["enum"]].flat();
  const told = named.find((value) => value !== undefined);
  if (told !== undefined) return told;
  const types: Record<string, unknown> = { number: 1, integer: 1, boolean: true, array: [], object: {} };
  return types[String(rules["type"])] ?? sample[name] ?? name.replaceAll("_", " ");
}

/** A payload for a conversation that is tried out: what is given, and made-up values for the rest that the template needs. Nobody is called: there is no number. */
export function payloadFor(schema: unknown, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties, required } = isRecord(schema) ? schema : {};
  const needed = (Array.isArray(required) ? required.map(String) : []).filter((name) => !(name in given));
  const rules = isRecord(properties) ? properties : {};
  const sample = sampleValues();
  return { ...Object.fromEntries(needed.map((name) => [name, valueOf(name, rules[name], sample)])), ...given };
}

/** Pushes a lead of mode RTC_TEST, and makes the link behind which a person talks. ApiFailure. */
export async function talkLink(
  client: Client,
  { id, reseller_id, merchant_id, payload_schema }: Template,
  merchant: string | undefined,
  given: Readonly<Record<string, unknown>>,
): Promise<AnswerOf<"POST", "/leads/{lead_id}/join-link"> & { lead_id: string }> {
  const { lead_call_tracker_id: lead_id } = await client.ask("POST", "/leads", {
    body: {
      request_id: `talk-${randomUUID()}`,
      template_id: id,
      reseller_id,
      merchant_id: merchant ?? merchant_id ?? "",
      execution_mode: "RTC_TEST",
      payload: payloadFor(payload_schema, given),
    },
  });
  return { lead_id, ...(await client.ask("POST", "/leads/{lead_id}/join-link", { path: { lead_id } })) };
}
