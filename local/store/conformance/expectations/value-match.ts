/** "Evaluating Matches" of the unified test format: what a test file expects against what came. Pure. */
import { BSON } from "mongodb";
import {
  canonicalText,
  type Doc,
  isDocument,
  numberOf,
  sameNumber,
  shown,
  typeNames,
  withoutDbRef,
} from "./bson-values.ts";
import { type Mismatch, RunnerError } from "../runner-errors.ts";

/**
 * How extra fields are taken: in a `root` document they are allowed, in the elements of `roots` (an iterated cursor)
 * too, in a `nested` one never.
 */
export type Rootness = "root" | "roots" | "nested";

/** The entities that operators refer to; both throw RunnerFault when the name is undefined or of another kind. */
export interface MatchScope {
  valueEntity(name: string): unknown;
  sessionId(name: string): unknown;
}

function differ(place: string, expected: unknown, actual: unknown): Mismatch[] {
  return [{ place, expected: typeof expected === "string" ? expected : shown(expected), actual: shown(actual) }];
}

/**
 * Every difference between an expected value (Extended JSON already parsed, may hold $$operators) and an actual one;
 * `undefined` as the actual value means that it does not exist. Throws RunnerFault on an unknown or malformed operator.
 */
export function match(
  expected: unknown,
  actualValue: unknown,
  scope: MatchScope,
  place: string,
  rootness: Rootness,
): Mismatch[] {
  const actual = withoutDbRef(actualValue);
  const wanted = withoutDbRef(expected);
  if (isDocument(wanted)) {
    const operator = operatorOf(wanted);
    if (operator !== undefined) return matchOperator(operator, wanted[operator], { actual, scope, place, rootness });
    return matchDocument(wanted, actual, scope, place, rootness);
  }
  if (Array.isArray(wanted)) return matchArray(wanted, actual, scope, place, rootness);
  return sameLeaf(wanted, actual) ? [] : differ(place, shown(wanted), actual);
}

/** The special operator of an expected document: its first and only key, if that starts with `$$`. */
export function operatorOf(expected: Doc): string | undefined {
  const [first, ...others] = Object.keys(expected);
  return first !== undefined && first.startsWith("$$") && others.length === 0 ? first : undefined;
}

function matchDocument(
  expected: Doc,
  actual: unknown,
  scope: MatchScope,
  place: string,
  rootness: Rootness,
): Mismatch[] {
  if (!isDocument(actual)) return differ(place, shown(expected), actual);
  const found = Object.entries(expected).flatMap(([key, value]) =>
    match(value, Object.hasOwn(actual, key) ? actual[key] : undefined, scope, `${place}.${key}`, "nested"),
  );
  if (rootness === "root") return found;
  const extra = Object.keys(actual).filter((key) => !Object.hasOwn(expected, key) && actual[key] !== undefined);
  return [...found, ...extra.flatMap((key) => differ(`${place}.${key}`, undefined, actual[key]))];
}

function matchArray(
  expected: unknown[],
  actual: unknown,
  scope: MatchScope,
  place: string,
  rootness: Rootness,
): Mismatch[] {
  if (!Array.isArray(actual)) return differ(place, shown(expected), actual);
  const lengths =
    actual.length === expected.length
      ? []
      : [
          {
            place,
            expected: `${expected.length} elements: ${shown(expected)}`,
            actual: `${actual.length} elements: ${shown(actual)}`,
          },
        ];
  const shared = expected.slice(0, actual.length);
  const elements = shared.flatMap((value, index) =>
    match(value, actual[index], scope, `${place}[${index}]`, rootness === "roots" ? "root" : "nested"),
  );
  return [...lengths, ...elements];
}

function sameLeaf(expected: unknown, actual: unknown): boolean {
  if (actual === undefined) return false;
  const [left, right] = [numberOf(expected), numberOf(actual)];
  if (left !== undefined || right !== undefined)
    return left !== undefined && right !== undefined && sameNumber(left, right);
  return canonicalText(expected) === canonicalText(actual);
}

interface Operand {
  actual: unknown;
  scope: MatchScope;
  place: string;
  rootness: Rootness;
}

function matchOperator(operator: string, argument: unknown, on: Operand): Mismatch[] {
  const { actual, scope, place, rootness } = on;
  switch (operator) {
    case "$$exists":
      return matchExists(argument, actual, place);
    case "$$type":
      return matchType(argument, actual, place);
    case "$$unsetOrMatches":
      return actual === undefined ? [] : match(argument, actual, scope, place, rootness);
    case "$$matchesEntity":
      return match(scope.valueEntity(text(operator, argument)), actual, scope, place, rootness);
    case "$$sessionLsid":
      return sameLeafOrDiffer(scope.sessionId(text(operator, argument)), actual, place);
    case "$$matchesHexBytes":
      return matchHexBytes(text(operator, argument), actual, place);
    case "$$lte":
      return matchLessOrEqual(argument, actual, place);
    case "$$matchAsDocument":
      return matchParsed(argument, on);
    case "$$matchAsRoot":
      return match(argument, actual, scope, place, "root");
    default:
      throw new RunnerError(`unknown matching operator ${operator} at ${place}`);
  }
}

function text(operator: string, argument: unknown): string {
  if (typeof argument !== "string") throw new RunnerError(`${operator} takes a string, not ${shown(argument)}`);
  return argument;
}

function matchExists(argument: unknown, actual: unknown, place: string): Mismatch[] {
  if (typeof argument !== "boolean") throw new RunnerError(`$$exists takes true or false, not ${shown(argument)}`);
  if (argument) return actual === undefined ? differ(place, "any value", actual) : [];
  return actual === undefined ? [] : differ(place, undefined, actual);
}

function matchType(argument: unknown, actual: unknown, place: string): Mismatch[] {
  const wanted: unknown[] = Array.isArray(argument) ? argument : [argument];
  const names = wanted.map((name) => text("$$type", name));
  const matches = actual !== undefined && typeNames(actual).some((name) => names.includes(name));
  return matches ? [] : differ(place, `a value of type ${names.join(" or ")}`, actual);
}

function sameLeafOrDiffer(expected: unknown, actual: unknown, place: string): Mismatch[] {
  return actual !== undefined && canonicalText(expected) === canonicalText(actual)
    ? []
    : differ(place, shown(expected), actual);
}

function matchHexBytes(hex: string, actual: unknown, place: string): Mismatch[] {
  if (!/^(?:[0-9a-f]{2})*$/i.test(hex))
    throw new RunnerError(`$$matchesHexBytes takes pairs of hexadecimal characters, not "${hex}"`);
  const bytes =
    typeof actual === "string"
      ? Buffer.from(actual, "latin1")
      : actual instanceof BSON.Binary
        ? Buffer.from(actual.value())
        : ArrayBuffer.isView(actual)
          ? Buffer.from(actual.buffer, actual.byteOffset, actual.byteLength)
          : undefined;
  return bytes?.toString("hex") === hex.toLowerCase() ? [] : differ(place, `the bytes ${hex}`, actual);
}

function matchLessOrEqual(argument: unknown, actual: unknown, place: string): Mismatch[] {
  const [limit, value] = [numberOf(argument), numberOf(actual)];
  if (limit === undefined) throw new RunnerError(`$$lte takes a number, not ${shown(argument)}`);
  return value !== undefined && value <= limit ? [] : differ(place, `at most ${shown(argument)}`, actual);
}

function matchParsed(argument: unknown, on: Operand): Mismatch[] {
  if (typeof on.actual !== "string") return differ(on.place, "a document as Extended JSON text", on.actual);
  const parsed: unknown = BSON.EJSON.parse(on.actual, { relaxed: false });
  return match(argument, parsed, on.scope, on.place, "nested");
}

/**
 * Differences under the strict rules for a collection's contents: no operators, no extra fields, key order free.
 * A plain number in the file equals the same number of any width; a canonical wrapper wants its exact type.
 */
export function exactDifferences(expectedValue: unknown, actualValue: unknown, place: string): Mismatch[] {
  const [expected, actual] = [withoutDbRef(expectedValue), withoutDbRef(actualValue)];
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length);
    return Array.from({ length }, (_, index) =>
      exactDifferences(expected[index], actual[index], `${place}[${index}]`),
    ).flat();
  }
  if (isDocument(expected) && isDocument(actual)) {
    const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])];
    return keys.flatMap((key) => exactDifferences(own(expected, key), own(actual, key), `${place}.${key}`));
  }
  if (expected === undefined || actual === undefined)
    return expected === actual ? [] : differ(place, shown(expected), actual);
  if (typeof expected === "number") return sameLeaf(expected, actual) ? [] : differ(place, shown(expected), actual);
  return canonicalText(expected) === canonicalText(actual)
    ? []
    : [{ place, expected: canonicalText(expected), actual: canonicalText(actual) }];
}

function own(document: Doc, key: string): unknown {
  return Object.hasOwn(document, key) ? document[key] : undefined;
}
