import { identical } from "../bson/comparison.ts";
import { StoreError } from "../bson/errors.ts";
import { isOperatorDoc } from "../query/matcher.ts";
import { asNumber, isDoc, isTrue, typeAlias } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** MongoDB's bounds: fields in one index, indexes of one collection. */
const MAX_FIELDS = 32;
/** Indexes of one collection. */
export const MAX_INDEXES = 64;
const MAX_EXPIRE_SECONDS = 2_147_483_647;

/** An index as it was asked for, checked. */
export interface IndexDefinition {
  name: string;
  /** Path → 1 or -1, in order. */
  key: Doc;
  unique: boolean;
  sparse: boolean;
  partialFilterExpression?: Doc;
  expireAfterSeconds?: number;
}

/** The index every collection has. */
export const ID_INDEX: IndexDefinition = { name: "_id_", key: { _id: 1 }, unique: true, sparse: false };

const OPTIONS = new Set([
  "key",
  "name",
  "ns",
  "v",
  "background",
  "unique",
  "sparse",
  "partialFilterExpression",
  "expireAfterSeconds",
]);
/** What MongoDB has beside them (manual, "createIndexes"): an index without it would be another one. */
const NOT_HERE = new Set([
  "hidden",
  "collation",
  "storageEngine",
  "weights",
  "default_language",
  "language_override",
  "textIndexVersion",
  "2dsphereIndexVersion",
  "bits",
  "min",
  "max",
  "bucketSize",
  "wildcardProjection",
  "prepareUnique",
  "clustered",
]);
const PARTIAL_OPERATORS = new Set(["$eq", "$exists", "$gt", "$gte", "$lt", "$lte", "$type", "$in"]);

function checkKey(key: Value | undefined): Doc {
  if (!isDoc(key) || Object.keys(key).length === 0)
    throw new StoreError("CannotCreateIndex", "Index keys must be a non-empty object");
  if (Object.keys(key).length > MAX_FIELDS)
    throw new StoreError(13103, `too many compound keys: more than ${MAX_FIELDS}`);
  const out: Doc = {};
  for (const [path, v] of Object.entries(key)) {
    if (typeof v === "string")
      throw new StoreError(
        "CannotCreateIndex",
        `index type '${v}' (on '${path}') is not supported by the embedded store: use 1 or -1`,
      );
    const n = asNumber(v);
    if (n === undefined || n === 0 || Number.isNaN(n))
      throw new StoreError(
        "CannotCreateIndex",
        `Values in v:2 index key pattern cannot be of type ${typeAlias(v)} or zero. Only numbers > 0 and < 0 are allowed.`,
      );
    if (path === "" || path.split(".").includes(""))
      throw new StoreError("CannotCreateIndex", "Index keys cannot contain an empty field name.");
    if (path.split(".").some((p) => p.startsWith("$")))
      throw new StoreError(
        "CannotCreateIndex",
        `index key '${path}' must not contain a part that starts with '$' (wildcard indexes are not supported by the embedded store)`,
      );
    out[path] = n > 0 ? 1 : -1;
  }
  return out;
}

function checkPartial(filter: Doc): void {
  for (const [path, condition] of Object.entries(filter)) {
    if (path === "$and" || path === "$or") {
      if (!Array.isArray(condition) || !condition.every(isDoc))
        throw new StoreError("BadValue", `${path} must be an array of objects`);
      condition.forEach(checkPartial);
    } else if (path.startsWith("$")) throw unsupportedPartial(path);
    else if (isOperatorDoc(condition)) {
      for (const [op, arg] of Object.entries(condition)) {
        if (!PARTIAL_OPERATORS.has(op) || (op === "$exists" && !isTrue(arg)))
          throw unsupportedPartial(`${op} on '${path}'`);
      }
    }
  }
}

function unsupportedPartial(what: string): StoreError {
  return new StoreError("CannotCreateIndex", `Expression not supported in partial index: ${what}`);
}

/** MongoDB's default name: path_direction, joined by underscores. */
function defaultName(key: Doc): string {
  return Object.entries(key)
    .map(([path, v]) => `${path}_${String(v)}`)
    .join("_");
}

/** Checks one entry of createIndexes. `ignoreUnknown`: options that MongoDB has not are left out. Errors: CannotCreateIndex, 197 for an unknown option. */
export function indexDefinition(spec: Doc, ignoreUnknown = false): IndexDefinition {
  for (const [option, v] of Object.entries(spec)) {
    if (!OPTIONS.has(option) && !(ignoreUnknown && !NOT_HERE.has(option)))
      throw new StoreError(
        197,
        `The field '${option}' is not valid for an index specification (or not supported by the embedded store): ${typeAlias(v)}`,
      );
  }
  const key = checkKey(spec["key"]);
  const name = spec["name"] ?? defaultName(key);
  if (typeof name !== "string" || name === "" || name === "*")
    throw new StoreError("BadValue", "The index name must be a non-empty string other than '*'");
  const isId = identical(key, ID_INDEX.key);
  const definition: IndexDefinition = {
    name: isId ? ID_INDEX.name : name,
    key,
    unique: isId || isTrue(spec["unique"]),
    sparse: isTrue(spec["sparse"]),
  };
  const partial = spec["partialFilterExpression"];
  if (partial !== undefined) {
    if (!isDoc(partial)) throw new StoreError("CannotCreateIndex", "'partialFilterExpression' must be an object");
    if (definition.sparse)
      throw new StoreError("CannotCreateIndex", "cannot mix 'partialFilterExpression' and 'sparse' options");
    checkPartial(partial);
    definition.partialFilterExpression = partial;
  }
  const expire = spec["expireAfterSeconds"];
  if (expire !== undefined) {
    const seconds = asNumber(expire);
    if (seconds === undefined || seconds < 0 || seconds > MAX_EXPIRE_SECONDS)
      throw new StoreError(
        "CannotCreateIndex",
        `TTL index 'expireAfterSeconds' option must be numeric and within 0..${MAX_EXPIRE_SECONDS}`,
      );
    if (Object.keys(key).length > 1 || isId)
      throw new StoreError(
        "CannotCreateIndex",
        "TTL indexes are single-field indexes, compound indexes and _id do not support TTL",
      );
    definition.expireAfterSeconds = seconds;
  }
  return definition;
}

/** The definition as listIndexes gives it, and as it is kept in the file. */
export function indexDocument(d: IndexDefinition): Doc {
  return {
    v: 2,
    key: d.key,
    name: d.name,
    ...(d.unique && d.name !== ID_INDEX.name ? { unique: true } : {}),
    ...(d.sparse ? { sparse: true } : {}),
    ...(d.partialFilterExpression === undefined ? {} : { partialFilterExpression: d.partialFilterExpression }),
    ...(d.expireAfterSeconds === undefined ? {} : { expireAfterSeconds: d.expireAfterSeconds }),
  };
}

/** True when an index with the same key, options and name is there already; throws where only some of these agree. */
export function alreadyThere(existing: readonly IndexDefinition[], wanted: IndexDefinition): boolean {
  for (const d of existing) {
    const sameKey =
      identical(d.key, wanted.key) &&
      identical(d.partialFilterExpression ?? null, wanted.partialFilterExpression ?? null);
    const sameOptions =
      d.unique === wanted.unique && d.sparse === wanted.sparse && d.expireAfterSeconds === wanted.expireAfterSeconds;
    if (sameKey && sameOptions) {
      if (d.name === wanted.name) return true;
      throw new StoreError("IndexOptionsConflict", `Index already exists with a different name: ${d.name}`);
    }
    if (sameKey && d.name !== wanted.name)
      throw new StoreError(
        "IndexOptionsConflict",
        `An equivalent index already exists with a different name and options. Requested index: ${wanted.name}, existing index: ${d.name}`,
      );
    if (d.name === wanted.name)
      throw new StoreError(
        "IndexKeySpecsConflict",
        `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Requested index: ${wanted.name}`,
      );
  }
  return false;
}
