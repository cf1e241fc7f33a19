/** What an error of the server means to a conversation. */
export type ServerErrorKind = "noise" | "error" | "fatal";

/** A late housekeeping event: its item or response no longer exists. */
const NOISE: ReadonlySet<string> = new Set([
  "response_cancel_not_active",
  "item_not_found",
  "item_delete_invalid_item_id",
  "item_truncate_invalid_item_id",
]);
/** The session is unusable. */
const FATAL: ReadonlySet<string> = new Set([
  "session_expired",
  "invalid_api_key",
  "authentication_error",
  "insufficient_quota",
  "model_not_found",
  "permission_denied",
]);
const MAX_CODE_CHARS = 40;

/** Classifies an error by its code, and by which of our events it is about. */
export function serverErrorKind(code: string, event_id: string | null): ServerErrorKind {
  if (NOISE.has(code)) return "noise";
  // the server refused the new instructions and would go on with the previous ones
  if (FATAL.has(code) || event_id?.startsWith("session_") === true) return "fatal";
  return "error";
}

/** The code as ours: letters only, and no longer than a name. */
export const realtimeErrorCode = (code: string): string =>
  `REALTIME_${code
    .toUpperCase()
    .replace(/[^A-Z]+/g, "_")
    .slice(0, MAX_CODE_CHARS)
    .replace(/_$/, "")}`;
