import { StoreError } from "../bson/errors.ts";
import type { IndexDefinition } from "../indexes/index-definition.ts";
import type { DocKeys, KeyMaker } from "../indexes/index-keys.ts";
import { EMPTY_ARRAY, type KeyPart } from "../indexes/key-encoder.ts";
import type { Storage } from "./storage.ts";
import { isDoc, type Doc, type Value } from "../bson/values.ts";
import { ObjectId, Double, Decimal128, Binary, Long } from "bson";

/** An index in use: its definition, its table and how keys are made. */
export interface Index {
  id: number;
  definition: IndexDefinition;
  keys: KeyMaker;
  multikey: boolean;
}

/** Refuses keys that another document has in a unique index. Errors: DuplicateKey. */
export function refuseDuplicates(storage: Storage, ns: string, index: Index, made: DocKeys, rid: number): void {
  if (!index.definition.unique) return;
  made.keys.forEach((key, i) => {
    const other = storage.one(`SELECT rid FROM x_${index.id} WHERE key = ? AND rid <> ? LIMIT 1`, key, rid);
    if (other !== undefined) throw duplicateKey(ns, index.definition, made.parts[i] ?? []);
  });
}

/** Puts the keys of a document into an index. */
export function addKeys(storage: Storage, index: Index, made: DocKeys, rid: number): void {
  for (const key of made.keys) storage.write(`INSERT INTO x_${index.id}(key, rid) VALUES(?, ?)`, key, rid);
  noteMultikey(storage, index, made);
}

/** Takes the keys of a document out of an index. */
export function removeKeys(storage: Storage, index: Index, keys: readonly Uint8Array[], rid: number): void {
  for (const key of keys) storage.write(`DELETE FROM x_${index.id} WHERE key = ? AND rid = ?`, key, rid);
}

/** Puts a changed document's keys in the place of its former ones. */
export function changeKeys(storage: Storage, index: Index, old: DocKeys, next: DocKeys, rid: number): void {
  const [from] = old.keys;
  const [to] = next.keys;
  if (old.keys.length === 1 && next.keys.length === 1 && from !== undefined && to !== undefined) {
    storage.write(`UPDATE x_${index.id} SET key = ? WHERE key = ? AND rid = ?`, to, from, rid);
    noteMultikey(storage, index, next);
    return;
  }
  const kept = new Set(next.keys.map(latin1));
  const there = new Set(old.keys.map(latin1));
  removeKeys(
    storage,
    index,
    old.keys.filter((key) => !kept.has(latin1(key))),
    rid,
  );
  addKeys(storage, index, { ...next, keys: next.keys.filter((key) => !there.has(latin1(key))) }, rid);
}

function noteMultikey(storage: Storage, index: Index, made: DocKeys): void {
  if (!made.multikey || index.multikey) return;
  index.multikey = true;
  storage.write("UPDATE indexes SET multikey = 1 WHERE id = ?", index.id);
}

/** Whether a document's keys are the same before and after. */
export function sameKeys(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((key, i) => Buffer.compare(key, b[i] ?? key) === 0);
}

/** A key as a text, which is in the same order as the bytes. */
export function latin1(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}

function part(p: KeyPart | undefined): Value {
  return p === undefined || p === EMPTY_ARRAY ? null : p;
}

/** MongoDB's duplicate key error, in the wording drivers and mongoose parse. */
function duplicateKey(ns: string, definition: IndexDefinition, parts: KeyPart[]): StoreError {
  const keyValue: Doc = {};
  Object.keys(definition.key).forEach((path, i) => {
    keyValue[path] = part(parts[i]);
  });
  const values = Object.entries(keyValue)
    .map(([path, v]) => `${path}: ${describeValue(v)}`)
    .join(", ");
  return new StoreError(
    "DuplicateKey",
    `E11000 duplicate key error collection: ${ns} index: ${definition.name} dup key: { ${values} }`,
    { keyPattern: definition.key, keyValue },
  );
}

/** A value in the mongo shell's notation, as it stands in MongoDB's error messages. */
function describeValue(v: Value): string {
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
