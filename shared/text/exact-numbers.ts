import { isRecord } from "../json.ts";

/** Numbers of JSON that a double can't hold: every reader that parses them changes them, and says nothing. */

/** A number of JSON in its parts. */
const NUMBER = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** So many digits every double holds. */
const SAFE_CHARS = 15;
/** A double is told from all others by so many digits at most: fractions with more are longer than what they were computed with. */
const MOST_FRACTION_DIGITS = 17;
/** Whether a text may hold such a number: one of many digits, or with an exponent. Texts inside of it may look like one. */
const MAY_HOLD = /(?:^|[[:,\s])-?[0-9](?:[0-9.]{15}|[0-9.]{0,15}[eE])/;

/** The digits of a number without zeros around them, and the power of ten of the last one. */
function decimalOf(source: string): { digits: string; power: number } {
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(source) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, "");
  const digits = all.replace(/0+$/, "");
  return { digits, power: Number(exponent) - fraction.length + all.length - digits.length };
}

/** Whether a number of JSON, as it is written, is changed by reading it: an integer that is no double, one too great or too small for any, a fraction of more digits than any has. */
export function isInexact(source: string): boolean {
  if (source.length <= SAFE_CHARS && !/[eE]/.test(source)) return false;
  const value = Number(source);
  if (!Number.isFinite(value)) return true;
  const [given, kept] = [decimalOf(source), decimalOf(String(value))];
  if (given.digits === kept.digits && (given.power === kept.power || given.digits === "")) return false;
  return value === 0 || given.power >= 0 || given.digits.length > MOST_FRACTION_DIGITS;
}

const sourceIn = (context: unknown): string | null => {
  const source = isRecord(context) ? context["source"] : undefined;
  return typeof source === "string" ? source : null;
};

/** The value of valid JSON, in which what would be changed stands as the text that it was written as. Throws SyntaxError. */
export const parsedExactly = (text: string): unknown =>
  MAY_HOLD.test(text)
    ? JSON.parse(text, (_name, value: unknown, ...[context]: unknown[]) => {
        const source = typeof value === "number" ? sourceIn(context) : null;
        return source !== null && isInexact(source) ? source : value;
      })
    : JSON.parse(text);

/** The path of the first number of valid JSON that would be changed, `payload.items.0`; null: there is none. Recursive: the text must not be nested deeply. */
export function inexactNumberIn(text: string): string | null {
  if (!MAY_HOLD.test(text)) return null;
  /** Paths below a value that was read, from its own part on: parts are read before what they are part of. */
  const below = new Map<unknown, string>();
  let root: string | null = null;
  JSON.parse(text, function (this: unknown, name, value: unknown, ...[context]: unknown[]) {
    const source = typeof value === "number" ? sourceIn(context) : null;
    const inner = source !== null && isInexact(source) ? "" : below.get(value);
    if (inner === undefined) return value;
    const path = inner === "" ? name : `${name}.${inner}`;
    if (!below.has(this)) below.set(this, path);
    if (name === "") root ??= inner;
    return value;
  });
  return root;
}
