import { isRecord } from "../../../shared/json.ts";
import { ModelError } from "./port.ts";

const REFUSED = new Set([400, 401, 403, 404, 405, 413, 415, 422]);
const TOO_MANY_REQUESTS = 429;

/** The error of a question that its asker aborted. */
export const abortedError = (): ModelError => new ModelError("MODEL_ABORTED", "the question was aborted", false);

/** The error of a failed request. Only the status goes into it: bodies may repeat what was said, or the key. `check`: the settings to check. */
export function modelErrorOf(error: unknown, check: string): ModelError {
  if (error instanceof ModelError) return error;
  const status = isRecord(error) ? error["status"] : undefined;
  if (typeof status !== "number")
    return new ModelError("MODEL_ERROR", `the model can't be reached; check ${check}`, true);
  if (status === TOO_MANY_REQUESTS)
    return new ModelError("MODEL_BUSY", "the model answered 429: too many requests", true);
  if (REFUSED.has(status))
    return new ModelError("MODEL_REFUSED", `the model answered ${status}; check ${check}`, false);
  return new ModelError("MODEL_ERROR", `the model answered ${status}`, true);
}
