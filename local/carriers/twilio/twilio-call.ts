import type { Call } from "../exchange/call.ts";
import type { CallParams } from "./params.ts";

/** An account that may use the API. */
export interface Account {
  sid: string;
  authToken: string;
  /** A trial account may call verified numbers only; absent: Full. */
  type?: "Trial" | "Full";
  /** Numbers of others that were verified as callers. */
  verified?: readonly string[];
  /** Countries (ISO 3166-1) that its geographic permissions shut. */
  deniedCountries?: readonly string[];
}

/** A call with what only Twilio's protocol knows of it. */
export interface TwilioCall {
  readonly call: Call;
  readonly account: Account;
  readonly params: CallParams;
  readonly parentSid: string | null;
  /** The verdict of answering machine detection. */
  answeredBy: string | null;
  /** Aborted to make the call leave its document; `next` holds the document it goes on with. */
  redirect: { leave: AbortController; next: RedirectTarget | null };
  /** The next status callback's number. */
  sequence: number;
}

/** Where a call is sent by an update. */
export type RedirectTarget = { twiml: string } | { url: string; method: "GET" | "POST" };
/** What Twilio shows of a caller who withholds the number. */
const WITHHELD = "+266696687";

/** The caller as Twilio shows it. */
export const shownFrom = ({ order }: Pick<Call, "order">): string => (order.withheld ? WITHHELD : order.from);

/** What Twilio calls a call's direction. */
export const directionOf = ({ call, parentSid }: TwilioCall): string =>
  call.direction === "inbound" ? "inbound" : parentSid === null ? "outbound-api" : "outbound-dial";
