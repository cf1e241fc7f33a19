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

/** A template's schema as payloads are held against it. */
export interface PayloadSchema {
  schema: JsonSchema;
  /** What of a payload is checked: fields that the schema never names are not, however deep it closes the object. */
  seen(payload: unknown): unknown;
}

/** How payloads are held against a template's schema. */
export function payloadSchema(schema: JsonSchema): PayloadSchema {
  const text = JSON.stringify(schema);
  const unspoken = ALWAYS_ALLOWED.filter((key) => !text.includes(`"${key}"`));
  return {
    schema: opened(schema),
    seen: (payload) =>
      isRecord(payload)
        ? Object.fromEntries(Object.entries(payload).filter(([key]) => !unspoken.some((u) => u === key)))
        : payload,
  };
}

/** Issues of what was seen of a payload, with paths that start with `payload`. */
export const ofPayload = (issues: readonly ValidationIssue[]): ValidationIssue[] =>
  issues.map((f) => ({ path: f.path ? `payload.${f.path}` : "payload", message: f.message }));

/** The check of payloads by a template's schema (null: it has none), for who has time. Issues' paths start with `payload`. */
export function payloadCheck(schema: JsonSchema | null): Check {
  if (schema === null) return () => [];
  const own = payloadSchema(schema);
  const check = checkOf(own.schema);
  return (payload) => ofPayload(check(own.seen(payload)));
}
