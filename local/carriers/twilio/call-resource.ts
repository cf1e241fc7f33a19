import type { Call } from "../exchange/call.ts";
import { directionOf, shownFrom, type TwilioCall } from "./twilio-call.ts";

/** The only version of the API. */
export const API_VERSION = "2010-04-01";
const PRICE_PER_MINUTE_USD = 0.014;

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n: number): string => String(n).padStart(2, "0");

/** A date as Twilio writes it: `Mon, 02 Jan 2006 15:04:05 +0000`. */
export function rfc2822(date: Date): string {
  return `${DAYS[date.getUTCDay()]}, ${two(date.getUTCDate())} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}

/** Twilio's word for a call's state. */
export function statusOf(call: Call): string {
  if (call.phase === "ended") return call.endReason ?? "failed";
  if (call.phase === "answered") return "in-progress";
  return call.phase === "ringing" ? "ringing" : "queued";
}

/** Answered seconds, in wall time so that they agree with the timestamps; 0 for a call that was not answered. */
export function answeredSeconds(call: Call): number {
  if (!call.answeredAt || !call.endedAt) return 0;
  return Math.max(1, Math.round((call.endedAt.getTime() - call.answeredAt.getTime()) / 1000));
}

/** The path of one call. */
export const callUri = (account: string, sid: string): string =>
  `/${API_VERSION}/Accounts/${account}/Calls/${sid}.json`;

const SUBRESOURCES = [
  "events",
  "notifications",
  "payments",
  "recordings",
  "siprec",
  "streams",
  "transcriptions",
  "user_defined_messages",
  "user_defined_message_subscriptions",
];

/** One call as the REST API shows it. */
export function callResource(twilioCall: TwilioCall): Record<string, unknown> {
  const { call, answeredBy, parentSid } = twilioCall;
  const { sid, account, to } = call.order;
  const from = shownFrom(call);
  const ended = call.phase === "ended";
  const uri = callUri(account, sid);
  const minutes = Math.ceil(answeredSeconds(call) / 60);
  const date = (d: Date | null): string | null => (d ? rfc2822(d) : null);
  const subresource = (name: string): [string, string] => [
    name,
    uri.replace(/\.json$/, `/${name.replace(/(^|_)(\w)/g, (_, __, c: string) => c.toUpperCase())}.json`),
  ];
  return {
    sid,
    date_created: date(call.createdAt),
    date_updated: date(call.endedAt ?? call.answeredAt ?? call.startedAt ?? call.createdAt),
    parent_call_sid: parentSid,
    account_sid: account,
    to,
    to_formatted: to,
    from,
    from_formatted: from,
    phone_number_sid: null,
    status: statusOf(call),
    start_time: date(call.startedAt),
    end_time: date(call.endedAt),
    duration: ended ? String(answeredSeconds(call)) : null,
    price: ended && minutes > 0 ? `-${(minutes * PRICE_PER_MINUTE_USD).toFixed(5)}` : null,
    price_unit: "USD",
    direction: directionOf(twilioCall),
    answered_by: answeredBy,
    api_version: API_VERSION,
    forwarded_from: null,
    group_sid: null,
    caller_name: null,
    queue_time: "0",
    trunk_sid: null,
    annotation: null,
    uri,
    subresource_uris: Object.fromEntries(SUBRESOURCES.map(subresource)),
  };
}
