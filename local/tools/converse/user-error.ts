import { UsageError } from "../../../shared/process/command-line.ts";

const MAX_FAULTS_SHOWN = 20;

/** Faults of a file with where they are, as one sentence and a list. */
export function fileError(
  file: string,
  what: string,
  faults: readonly { path: string; message: string }[],
): UsageError {
  const shown = faults
    .slice(0, MAX_FAULTS_SHOWN)
    .map((f) => `\n  ${f.path === "" ? "(all of it)" : f.path} ${f.message}`);
  const more = faults.length > MAX_FAULTS_SHOWN ? `\n  and ${faults.length - MAX_FAULTS_SHOWN} more` : "";
  return new UsageError(`${file}: ${what}${shown.join("")}${more}`);
}

const isFields = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** The message of an error of any kind. */
export const errorMessage = (error: unknown): string =>
  isFields(error) && typeof error["message"] === "string" ? error["message"] : String(error);

/** Whether an error is about a file that the person named. */
export const isFileError = (error: unknown): boolean =>
  isFields(error) && typeof error["code"] === "string" && typeof error["path"] === "string";
