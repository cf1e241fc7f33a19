/** Reading fields of a test file: what is missing, mistyped or unknown is a fault that names the place. Pure. */
import { type Doc, isDocument, shown } from "./expectations/bson-values.ts";
import { RunnerError } from "./runner-errors.ts";

/** Throws RunnerFault if the document holds a key that is not in `allowed`. */
export function onlyKeys(where: string, document: Doc, allowed: readonly string[]): void {
  const unknown = Object.keys(document).filter((key) => !allowed.includes(key));
  if (unknown.length > 0)
    throw new RunnerError(`unknown ${unknown.length === 1 ? "key" : "keys"} ${unknown.join(", ")} in ${where}`);
}

/** The value as a document, or RunnerFault. */
export function documentAt(where: string, value: unknown): Doc {
  if (!isDocument(value)) throw new RunnerError(`${where} must be a document, not ${shown(value)}`);
  return value;
}

/** The value as an array of documents, or RunnerFault. */
export function documentsAt(where: string, value: unknown): Doc[] {
  if (!Array.isArray(value)) throw new RunnerError(`${where} must be an array, not ${shown(value)}`);
  return value.map((element, index) => documentAt(`${where}[${index}]`, element));
}

/** As documentsAt; a missing value is an empty list. */
export function optionalDocumentsAt(where: string, value: unknown): Doc[] {
  return value === undefined ? [] : documentsAt(where, value);
}

/** The value as a string, or RunnerFault. */
export function stringAt(where: string, value: unknown): string {
  if (typeof value !== "string") throw new RunnerError(`${where} must be a string, not ${shown(value)}`);
  return value;
}

/** The value as a list of strings, or RunnerFault; a missing value is an empty list. */
export function stringsAt(where: string, value: unknown): string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new RunnerError(`${where} must be an array of strings, not ${shown(value)}`);
  return value.map((element, index) => stringAt(`${where}[${index}]`, element));
}

/** The value as a whole number of at least 0, or RunnerFault. */
export function countAt(where: string, value: unknown): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
    throw new RunnerError(`${where} must be a whole number, not ${shown(value)}`);
  return value;
}

/** The value as true or false, or RunnerFault; a missing value is `otherwise`. */
export function flagAt(where: string, value: unknown, otherwise: boolean): boolean {
  if (value === undefined) return otherwise;
  if (typeof value !== "boolean") throw new RunnerError(`${where} must be true or false, not ${shown(value)}`);
  return value;
}

/** The single key of a document of the form `{ kind: {...} }` and the document under it, or RunnerFault. */
export function singleEntry(where: string, document: Doc): [string, Doc] {
  const [key, ...others] = Object.keys(document);
  if (key === undefined || others.length > 0)
    throw new RunnerError(`${where} must have exactly one key, not ${shown(document)}`);
  return [key, documentAt(`${where}.${key}`, document[key])];
}
