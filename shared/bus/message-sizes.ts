import { MEASURED, MESSAGE_BYTES, LARGER_BYTES, LARGER_FROM_OLDER, type Side } from "../contracts/measured-messages.ts";
import { Failure } from "../errors.ts";
import { jsonBytes } from "../json.ts";

const SAID: Readonly<Record<Side, string>> = { params: "request to", result: "answer of" };

/** Why a message is not sent; null: it is small enough, by its schema or as measured. */
export function sizeRefusal(action: string, side: Side, message: unknown): Failure | null {
  if (MEASURED[action]?.includes(side) !== true) return null;
  const most = LARGER_FROM_OLDER[action] === side ? LARGER_BYTES : MESSAGE_BYTES;
  const bytes = jsonBytes(message);
  return bytes <= most
    ? null
    : new Failure(
        "MESSAGE_TOO_LARGE",
        `The ${SAID[side]} ${action} has ${bytes} bytes; a message between services has ${most} at most.`,
      );
}
