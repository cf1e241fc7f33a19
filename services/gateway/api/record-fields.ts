import type { ActionName } from "../../../shared/bus/bus.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { propertiesOf, requiredOf, schemasOf, type Schema } from "./action-schema.ts";
import { besideBody, type Row } from "../routes/row.ts";
import { isRecord } from "../../../shared/json.ts";
import { UNKNOWN_FIELD } from "../../../shared/validator.ts";

/** Whether a schema takes null. */
export const takesNull = (schema: Schema): boolean =>
  schema["type"] === "null" ||
  (Array.isArray(schema["anyOf"]) && schema["anyOf"].some((s) => isRecord(s) && takesNull(s)));

/** Whether what an action answers with is a record that requests change. */
const canChange = (shown: Record<string, Schema>): boolean => shown["updated_at"] !== undefined;

/**
 * Fields that a POST may give as null, which counts as left out: those of a thing that can be changed later, that need not be given and
 * that its record shows as null where they were not. So what GET shows can be sent again. The action itself knows no null there.
 */
export function nullFieldsOf(row: Row): ReadonlySet<string> {
  if (row.method !== "POST" || row.body === undefined || row.bulk) return new Set();
  const { params, result } = schemasOf(row.action);
  const body = row.body === "*" ? params : (propertiesOf(params)[row.body] ?? {});
  const required = requiredOf(body);
  const notTheBodys = row.body === "*" ? besideBody(row) : new Set();
  const shown = propertiesOf(result);
  // what is asked for once (an erasure, a hold, a token) is copied from no record: there null is a mistake
  if (!canChange(shown)) return new Set();
  return new Set(
    Object.entries(propertiesOf(body))
      .filter(([name, schema]) => !required.includes(name) && !notTheBodys.has(name) && !takesNull(schema))
      .flatMap(([name]) => (shown[name] !== undefined && takesNull(shown[name]) ? [name] : [])),
  );
}

/** Said of a field that the record shows and a request does not take. */
export const READ_ONLY = "is shown, and can't be set here; leave it out";

/** An issue that tells a field that nobody knows from one that the record shows: what was read is often sent back whole. */
export function toldApart(action: ActionName, { path, message }: ValidationIssue): ValidationIssue {
  const shown = propertiesOf(schemasOf(action).result);
  const [first = "", second, ...deeper] = path.split(".");
  const isShown = second === undefined ? first in shown : !(first in shown) && second in shown;
  return {
    path,
    message:
      message.startsWith(UNKNOWN_FIELD) && canChange(shown) && deeper.length === 0 && isShown ? READ_ONLY : message,
  };
}
