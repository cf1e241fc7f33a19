import type { Reply } from "../http/messages.ts";

/** Twilio's error answer: {code, message, more_info, status}. */
export function twilioError(
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {},
): Reply {
  return { status, headers, body: { code, message, more_info: `https://www.twilio.com/docs/errors/${code}`, status } };
}

/** An invalid request parameter, thrown by the parameter readers and answered as HTTP 400. */
export class ParamError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = "ParamError";
    this.code = code;
  }
}
