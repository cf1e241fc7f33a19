import type { Reply, Request } from "../http/messages.ts";
import { ParamError } from "./errors.ts";
import { callResource, statusOf } from "./call-resource.ts";
import type { TwilioCall } from "./twilio-call.ts";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 1_000;
const DAY_MS = 86_400_000;
const FILTERS = [
  "To",
  "From",
  "Status",
  "ParentCallSid",
  "StartTime",
  "StartTime<",
  "StartTime>",
  "EndTime",
  "EndTime<",
  "EndTime>",
];

function date(text: string, name: string): number {
  const ms = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (Number.isNaN(ms))
    throw new ParamError(20001, `${name} must be a date like 2026-01-31 or 2026-01-31T12:00:00Z, not ${text}`);
  return ms;
}

/** True when the moment passes the three filters of one name. A call that has not got that far has no such time and passes none. */
function timeMatches(query: URLSearchParams, name: string, moment: Date | null): boolean {
  const on = query.get(name);
  const before = query.get(`${name}<`);
  const after = query.get(`${name}>`);
  if (on === null && before === null && after === null) return true;
  if (!moment) return false;
  const ms = Math.floor(moment.getTime() / 1000) * 1000; // times are kept in whole seconds
  if (before !== null && ms > date(before, `${name}<`)) return false;
  if (after !== null && ms < date(after, `${name}>`)) return false;
  if (on === null) return true;
  const day = Math.floor(date(on, name) / DAY_MS);
  return Math.floor(ms / DAY_MS) === day;
}

function matches(twilioCall: TwilioCall, accountSid: string, query: URLSearchParams): boolean {
  const { call, parentSid } = twilioCall;
  const equal = (name: string, value: string | null): boolean => (query.get(name) ?? value) === value;
  return (
    call.order.account === accountSid &&
    equal("To", call.order.to) &&
    equal("From", call.order.from) &&
    equal("Status", statusOf(call)) &&
    equal("ParentCallSid", parentSid) &&
    timeMatches(query, "StartTime", call.startedAt) &&
    timeMatches(query, "EndTime", call.endedAt)
  );
}

const whole = (text: string | null, byDefault: number): number =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : byDefault;

/**
 * One page of calls, newest first. The next page's address carries the last call's sid as PageToken, so that calls placed
 * meanwhile do not shift the pages.
 */
export function listCalls(calls: ReadonlyMap<string, TwilioCall>, accountSid: string, { query, path }: Request): Reply {
  const pageSize = Math.min(Math.max(whole(query.get("PageSize"), DEFAULT_PAGE_SIZE), 1), MAX_PAGE_SIZE);
  const page = whole(query.get("Page"), 0);
  const found = [...calls.values()].reverse().filter((c) => matches(c, accountSid, query));
  const token = query.get("PageToken")?.replace(/^PA/, "");
  const after = token === undefined ? page * pageSize - 1 : found.findIndex((c) => c.call.order.sid === token);
  const start = after + 1;
  const rows = found.slice(start, start + pageSize);
  const address = (number: number, pageToken?: string): string => {
    const params = new URLSearchParams();
    for (const name of FILTERS) {
      const value = query.get(name);
      if (value !== null) params.set(name, value);
    }
    params.set("PageSize", String(pageSize));
    params.set("Page", String(number));
    if (pageToken !== undefined) params.set("PageToken", pageToken);
    return `${path}?${params}`;
  };
  const last = rows.at(-1);
  const more = start + pageSize < found.length;
  return {
    status: 200,
    body: {
      first_page_uri: address(0),
      end: Math.max(0, start + rows.length - 1),
      previous_page_uri: page > 0 ? address(page - 1) : null,
      calls: rows.map(callResource),
      uri: `${path}?${query}`,
      page_size: pageSize,
      start,
      next_page_uri: more && last ? address(page + 1, `PA${last.call.order.sid}`) : null,
      page,
    },
  };
}
