import { UNLIMITED } from "../budget.ts";
import { StoreError } from "../bson/errors.ts";
import type { IndexDefinition } from "./index-definition.ts";
import { EMPTY_ARRAY, encodeKey } from "./key-encoder.ts";
import type { KeyPart } from "./key-encoder.ts";
import { compileFilter } from "../query/matcher.ts";
import type { Predicate } from "../query/matcher.ts";
import { arrayIndex, field } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

/** A path on its way into a document; `done`: the value is final, even when it is an array. */
interface Walk {
  value: KeyPart;
  rest: readonly string[];
  done: boolean;
}

/** The keys of one document in one index. */
export interface DocKeys {
  /** Distinct keys. */
  keys: Uint8Array[];
  /** The values behind each key. */
  parts: KeyPart[][];
  /** True when an array was met: the index is multikey from now on. */
  multikey: boolean;
}

function advance(w: Walk): Walk {
  let { value, rest } = w;
  while (!w.done && rest.length > 0) {
    const name = rest[0] ?? "";
    if (Array.isArray(value)) {
      const index = arrayIndex(name);
      if (index === undefined || index >= value.length) break;
      value = value[index];
    } else if (value !== EMPTY_ARRAY && isDoc(value)) value = field(value, name);
    else return { value: undefined, rest: [], done: true };
    rest = rest.slice(1);
  }
  return { value, rest, done: w.done };
}

/** Expands arrays as MongoDB's key generator does: one array (or several paths into the same one) per document. */
function expand(walks: Walk[]): KeyPart[][] {
  const at = walks.map(advance);
  let array: Value[] | undefined;
  for (const w of at) {
    if (w.done || !Array.isArray(w.value)) continue;
    if (array !== undefined && array !== w.value) throw new StoreError(171, "cannot index parallel arrays");
    array = w.value;
  }
  if (array === undefined) return [at.map((w) => w.value)];
  const items: KeyPart[] = array.length === 0 ? [EMPTY_ARRAY] : array;
  return items.flatMap((item) =>
    expand(
      at.map((w) => {
        if (w.done || w.value !== array) return w;
        if (w.rest.length === 0) return { value: item, rest: [], done: true };
        return item !== EMPTY_ARRAY && isDoc(item)
          ? { value: item, rest: w.rest, done: false }
          : { value: undefined, rest: [], done: true };
      }),
    ),
  );
}

/** Makes the keys of documents for one index. */
export class KeyMaker {
  readonly paths: string[];
  readonly descending: boolean[];
  private readonly parts: string[][];
  private readonly definition: IndexDefinition;
  private readonly included: Predicate | undefined;
  /** Top-level fields the keys depend on. */
  private readonly fields: string[];

  constructor(definition: IndexDefinition) {
    this.definition = definition;
    this.paths = Object.keys(definition.key);
    this.descending = Object.values(definition.key).map((v) => v === -1);
    this.parts = this.paths.map((p) => p.split("."));
    const partial = definition.partialFilterExpression;
    this.included =
      partial === undefined
        ? undefined
        : compileFilter(partial, { now: new Date(0), variables: {}, budget: UNLIMITED });
    this.fields = [
      ...new Set([...this.parts.map((p) => p[0] ?? ""), ...(partial === undefined ? [] : fieldsOf(partial))]),
    ];
  }

  /** False when an update of these top-level fields cannot have changed this index. */
  touched(changed: ReadonlySet<string>): boolean {
    return this.fields.some((f) => changed.has(f));
  }

  /** Errors: 171 for parallel arrays. */
  keysOf(doc: Doc): DocKeys {
    if (this.included !== undefined && !this.included(doc)) return { keys: [], parts: [], multikey: false };
    const simple = this.simple(doc);
    const rows =
      simple === undefined ? expand(this.parts.map((rest) => ({ value: doc, rest, done: false }))) : [simple];
    const wanted = this.definition.sparse ? rows.filter((r) => r.some((v) => v !== undefined)) : rows;
    if (wanted.length === 1 && simple !== undefined)
      return { keys: [encodeKey(simple, this.descending)], parts: wanted, multikey: false };
    const seen = new Map<string, { key: Uint8Array; parts: KeyPart[] }>();
    for (const parts of wanted) {
      const key = encodeKey(parts, this.descending);
      seen.set(Buffer.from(key).toString("latin1"), { key, parts });
    }
    const found = [...seen.values()];
    return { keys: found.map((f) => f.key), parts: found.map((f) => f.parts), multikey: simple === undefined };
  }

  /** The values at the paths when no array is met, which is the usual case. */
  private simple(doc: Doc): KeyPart[] | undefined {
    const out: KeyPart[] = [];
    for (const path of this.parts) {
      let v: Value | undefined = doc;
      for (const name of path) {
        if (Array.isArray(v)) return undefined;
        v = isDoc(v) ? field(v, name) : undefined;
      }
      if (Array.isArray(v)) return undefined;
      out.push(v);
    }
    return out;
  }
}

function fieldsOf(filter: Doc): string[] {
  return Object.entries(filter).flatMap(([k, v]) => {
    if (!k.startsWith("$")) return [k.split(".")[0] ?? ""];
    return Array.isArray(v) ? v.filter(isDoc).flatMap(fieldsOf) : [];
  });
}
