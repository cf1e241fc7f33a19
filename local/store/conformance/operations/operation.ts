/** What an operation of the format is: the arguments it takes and the driver call behind it. */
import type { Document } from "mongodb";
import type { Doc } from "../expectations/bson-values.ts";
import { RunnerError } from "../runner-errors.ts";
import type { Rootness } from "../expectations/value-match.ts";
import { driverOptions } from "./driver-options.ts";
import { onlyKeys } from "../field-readers.ts";

/**
 * An operation on a `Target` (the driver object of the entity). `needs` and `may` are the arguments that are not
 * options, `options` are passed to the driver; an argument in none of them is a fault. `yields` says how the result
 * is matched: as one root-level document, as an iterable of them, or as a plain value.
 */
export interface Operation<Target> {
  needs?: readonly string[];
  may?: readonly string[];
  options?: readonly string[];
  yields: Rootness;
  run(target: Target, given: Doc, options: Document): Promise<unknown>;
}

/** Options that every operation of the driver's API may take. */
const COMMON_OPTIONS = [
  "session",
  "maxTimeMS",
  "comment",
  "timeoutMS",
  "readConcern",
  "readPreference",
  "writeConcern",
  "rawData",
];

/**
 * Checks and sorts the arguments of an operation, before anything is sent. `session` must already be resolved to the driver's
 * session. Throws RunnerFault on an unknown or missing argument.
 */
export function prepare<Target>(
  name: string,
  operation: Operation<Target>,
  args: Doc,
): { given: Doc; options: Document } {
  const { needs = [], may = [], options = [] } = operation;
  const own = [...needs, ...may];
  const accepted = [...options, ...COMMON_OPTIONS].filter((option) => !own.includes(option));
  onlyKeys(`the arguments of ${name}`, args, [...own, ...accepted]);
  const missing = needs.filter((argument) => args[argument] === undefined);
  if (missing.length > 0) throw new RunnerError(`${name} needs the argument ${missing.join(", ")}`);
  const pick = (wanted: readonly string[]): Doc =>
    Object.fromEntries(Object.entries(args).filter(([key]) => wanted.includes(key)));
  return { given: pick(own), options: driverOptions(`the arguments of ${name}`, pick(accepted), accepted) };
}
