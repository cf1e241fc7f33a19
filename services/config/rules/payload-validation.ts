import { isRecord } from "../../../shared/json.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { checkOf, type Check, type JsonSchema } from "../../../shared/schemas/client-schema.ts";

/** Fields every payload may have, whatever the template's schema says: the number to dial, and the address of the webhook. */
export const ALWAYS_ALLOWED = ["customer_mobile_number", "reporting_webhook_url"] as const;

/** The schema with these fields allowed at its root, so that a closed root does not refuse what the contract allows. */
function opened(schema: JsonSchema): JsonSchema {
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const missing = ALWAYS_ALLOWED.filter((key) => !Object.hasOwn(properties, key));
  return missing.length === 0
    ? schema
    : { ...schema, properties: { ...properties, ...Object.fromEntries(missing.map((key) => [key, true])) } };
}

/** The check of payloads by a template's schema (null: it has none). Issues' paths start with `payload`. */
export function payloadCheck(schema: JsonSchema | null): Check {
  if (schema === null) return () => [];
  const check = checkOf(opened(schema));
  const text = JSON.stringify(schema);
  // fields that the schema never names are not checked by it, however deep it closes the object
  const unspoken = ALWAYS_ALLOWED.filter((key) => !text.includes(`"${key}"`));
  return (payload, budget): ValidationIssue[] => {
    const seen = isRecord(payload)
      ? Object.fromEntries(Object.entries(payload).filter(([key]) => !unspoken.some((u) => u === key)))
      : payload;
    return check(seen, budget).map((f) => ({ path: f.path ? `payload.${f.path}` : "payload", message: f.message }));
  };
}
