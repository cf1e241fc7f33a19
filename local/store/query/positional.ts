import type { Scope } from "../expressions/expressions.ts";
import { compileFilter, elementTest, isOperatorDoc } from "./matcher.ts";
import { visitPath } from "../bson/paths.ts";
import { isDoc } from "../bson/values.ts";
import type { Doc, Value } from "../bson/values.ts";

type ElementTest = (v: Value) => boolean;

/** The tests a filter makes on the elements of the array at `path`. */
function elementTests(filter: Doc, path: string, scope: Scope): ElementTest[] {
  const tests: ElementTest[] = [];
  for (const [key, condition] of Object.entries(filter)) {
    if ((key === "$and" || key === "$or") && Array.isArray(condition)) {
      for (const clause of condition) if (isDoc(clause)) tests.push(...elementTests(clause, path, scope));
    } else if (key === path) tests.push(...valueTests(condition, scope));
    else if (key.startsWith(`${path}.`)) {
      const test = compileFilter({ [key.slice(path.length + 1)]: condition }, scope);
      tests.push((v) => isDoc(v) && test(v));
    }
  }
  return tests;
}

function valueTests(condition: Value, scope: Scope): ElementTest[] {
  if (isDoc(condition) && isDoc(condition["$elemMatch"])) return [elementTest(condition["$elemMatch"], scope)];
  const test = compileFilter({ v: condition }, scope);
  return [
    isOperatorDoc(condition) || !Array.isArray(condition)
      ? (v): boolean => test({ v })
      : (v): boolean => test({ v: [v] }),
  ];
}

/** The index of the element of the array at `path` that satisfied the filter (the positional operator `$`); undefined when none did. */
export function matchedElement(filter: Doc, doc: Doc, path: string, scope: Scope): number | undefined {
  const tests = elementTests(filter, path, scope);
  if (tests.length === 0) return undefined;
  let items: Value[] | undefined;
  visitPath(doc, path.split("."), (v) => {
    if (Array.isArray(v)) items = v;
    return items !== undefined;
  });
  if (items === undefined) return undefined;
  const all = items.findIndex((item) => tests.every((t) => t(item)));
  const some = all === -1 ? items.findIndex((item) => tests.some((t) => t(item))) : all;
  return some === -1 ? undefined : some;
}
