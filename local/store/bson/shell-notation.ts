import { Binary, Decimal128, Double, Long, ObjectId } from "bson";
import { isDoc } from "./values.ts";
import type { Value } from "./values.ts";

/** A value in the mongo shell's notation, as it stands in MongoDB's error messages. */
export function describeValue(v: Value): string {
  if (v === null) return "null";
  if (typeof v === "string") return `"${v}"`;
  if (typeof v === "number" || typeof v === "boolean") return String(v);
  if (v instanceof Date) return `new Date(${v.getTime()})`;
  if (v instanceof ObjectId) return `ObjectId('${v.toHexString()}')`;
  if (v instanceof Double) return Number.isInteger(v.value) ? v.value.toFixed(1) : String(v.value);
  if (v instanceof Decimal128) return `NumberDecimal("${v.toString()}")`;
  if (v instanceof Binary)
    return v.sub_type === Binary.SUBTYPE_UUID && v.position === 16
      ? `UUID("${v.toUUID().toString()}")`
      : `BinData(${v.sub_type}, ${v.toString("hex").toUpperCase()})`;
  if (v instanceof Long) return v.toString();
  if (Array.isArray(v)) return `[ ${v.map(describeValue).join(", ")} ]`;
  if (isDoc(v))
    return `{ ${Object.entries(v)
      .map(([k, x]) => `${k}: ${describeValue(x)}`)
      .join(", ")} }`;
  return String(v);
}
