import type { Reply } from "../http/messages.ts";

/** Telnyx's error answer. https://developers.telnyx.com/development/api-fundamentals/api-errors */
export const telnyxError = (
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Record<string, string> = {},
): Reply => ({
  status,
  headers,
  body: {
    errors: [{ code, title, detail, meta: { url: `https://developers.telnyx.com/docs/overview/errors/${code}` } }],
  },
});

/** An invalid request, thrown by the readers of bodies and by commands; answered as HTTP 422 unless it says otherwise. */
export class RequestError extends Error {
  readonly code: string;
  readonly title: string;
  readonly status: number;
  constructor(code: string, title: string, detail: string, status = 422) {
    super(detail);
    this.name = "RequestError";
    this.code = code;
    this.title = title;
    this.status = status;
  }
}

/** The command came too late. */
export const alreadyEnded = (): RequestError =>
  new RequestError("90018", "Call has already ended", "This call is no longer active and can't receive commands.");

/** The command needs a call that was answered. */
export const notAnswered = (): RequestError =>
  new RequestError(
    "90034",
    "Call not answered yet",
    "This call can't receive this command because it has not been answered yet.",
  );
