import type { BSONRegExp } from "bson";
import { StoreError } from "./errors.ts";

/** Translates a BSON regular expression (PCRE, options imsxu) to JavaScript's. Errors: code 51091 for a pattern JavaScript does not take. */
export function regexOf(regex: BSONRegExp): RegExp {
  let flags = "";
  let { pattern } = regex;
  // PCRE allows options at the head of a pattern: (?i)abc.
  const head = /^\(\?([imsx]+)\)/u.exec(pattern);
  if (head !== null) pattern = pattern.slice(head[0].length);
  for (const option of `${regex.options}${head?.[1] ?? ""}`) {
    if (option === "x") pattern = withoutBlanks(pattern);
    else if (!"imsu".includes(option)) throw new StoreError(51108, `invalid flag in regex options: ${option}`);
    else if (!flags.includes(option) && option !== "u") flags += option;
  }
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    // A stray escape such as \- is an error only in JavaScript's unicode mode.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    throw new StoreError(
      51091,
      `Regular expression is invalid: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Option x: white space and comments outside character classes do not count. */
function withoutBlanks(pattern: string): string {
  return pattern.replaceAll(
    /(\\.|\[(?:\\.|[^\]\\])*\])|\s+|#[^\n]*/gsu,
    (_all, kept: string | undefined) => kept ?? "",
  );
}
