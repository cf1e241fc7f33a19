import { malformed } from "../signed-request.ts";
import { element, escaped, responseDocument } from "../xml.ts";
import type { InboundCall, InboundDecision, SignedRequest } from "../carrier-port.ts";
import { callIdOf, formOf } from "./callbacks.ts";
import { said, spokenEnd, talkDocument } from "./documents.ts";

const E164 = /^\+[1-9]\d{6,14}$/;
/** What Twilio shows in place of a number that is withheld or unknown: words on a phone's keypad (https://www.twilio.com/docs/voice/twiml#twilios-request-to-your-application). */
const NO_NUMBER = new Set(["+266696687", "+7378742833", "+2562533", "+8656696", "+86282452253"]);

/** The caller's number; null when it is withheld. */
export const callerOf = (from: string | null): string | null =>
  from !== null && E164.test(from) && !NO_NUMBER.has(from) ? from : null;

/** Reads the voice webhook of one of our numbers; null for an outbound call. */
export function readInbound(request: SignedRequest): InboundCall | null {
  const form = formOf(request);
  const call_id = callIdOf(form);
  if (form.get("Direction") !== "inbound") return null;
  const to = form.get("To") ?? "";
  if (!E164.test(to))
    malformed(
      "The callback names no number that was called: To is missing or malformed.",
      "To",
      "must be a phone number in E.164",
    );
  return { call_id, leg_id: null, from: callerOf(form.get("From")), to };
}

/** The answer to Twilio about an inbound call. */
export function inboundDocument(decision: InboundDecision): string {
  switch (decision.kind) {
    case "reject": {
      // a rejected call is not answered and costs nothing; one that hears a message is
      if (decision.message === null) return responseDocument(element("Reject"));
      return spokenEnd(decision.message, decision.language);
    }
    case "redirect":
      return responseDocument(
        (decision.message === null ? "" : said(decision.message, decision.language)) +
          element("Dial", {}, element("Number", {}, escaped(decision.to))),
      );
    case "connect": {
      const at = (kind: string): string => `${decision.callback_base}/${kind}/${decision.call_ref}`;
      return talkDocument(decision.media, at, decision.record ? at("recording") : null);
    }
  }
}
