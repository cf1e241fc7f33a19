import type { Reply } from "../http/messages.ts";
import type { Call } from "../exchange/call.ts";
import { causeOf, statusOf } from "./hangup-causes.ts";
import type { PlivoCall } from "./plivo-call.ts";

/** What a minute costs, dollars. */
export const RATE_PER_MINUTE = 0.0085;
const MINUTE_SECONDS = 60;

const dated = (date: Date | null, zone = ""): string | null =>
  date ? `${date.toISOString().slice(0, 19).replace("T", " ")}${zone}` : null;

/** A time as Plivo's callbacks write it: UTC without saying so. */
export const utcTime = (date: Date | null): string => dated(date) ?? "";

/** Answered seconds, in wall time so that they agree with the timestamps; 0 for a call that was not answered. */
export function answeredSeconds({ answeredAt, endedAt }: Call): number {
  if (!answeredAt || !endedAt) return 0;
  return Math.max(1, Math.round((endedAt.getTime() - answeredAt.getTime()) / 1000));
}

/** Seconds billed: whole minutes. */
export const billedSeconds = (call: Call): number => Math.ceil(answeredSeconds(call) / MINUTE_SECONDS) * MINUTE_SECONDS;

/** The price of a call, as text. */
export const totalCost = (call: Call): string => ((billedSeconds(call) / MINUTE_SECONDS) * RATE_PER_MINUTE).toFixed(5);

/** A number as Plivo writes it. */
export const bare = (number: string): string => number.replace(/^\+/, "");

/** The caller as Plivo shows it. */
export const shownFrom = ({ order }: Pick<Call, "order">): string => (order.withheld ? "anonymous" : bare(order.from));

/** The record of a call that is over. https://www.plivo.com/docs/voice/api/call/retrieve-a-call */
export function endedRecord(plivoCall: PlivoCall, apiId: string): Record<string, unknown> {
  const { call, account } = plivoCall;
  const { sid, to } = call.order;
  const { code, name, source } = causeOf(plivoCall);
  return {
    answer_time: dated(call.answeredAt, "+00:00"),
    api_id: apiId,
    bill_duration: answeredSeconds(call),
    billed_duration: billedSeconds(call),
    call_direction: call.direction,
    call_duration: answeredSeconds(call),
    call_state: call.answeredAt ? "ANSWER" : statusOf(call).replace("-", "_").toUpperCase(),
    call_uuid: sid,
    conference_uuid: null,
    end_time: dated(call.endedAt, "+00:00"),
    from_number: `+${shownFrom(call)}`,
    hangup_cause_code: code,
    hangup_cause_name: name,
    hangup_source: source,
    initiation_time: dated(call.createdAt, "+00:00"),
    parent_call_uuid: null,
    resource_uri: `/v1/Account/${account.authId}/Call/${sid}/`,
    stir_attestation: "",
    stir_verification: "Not Applicable",
    to_number: bare(to),
    total_amount: totalCost(call),
    total_rate: RATE_PER_MINUTE.toFixed(5),
  };
}

/** A call under way. */
export const liveRecord = ({ call, requestUuid }: PlivoCall, apiId: string): Record<string, unknown> => ({
  api_id: apiId,
  call_status: statusOf(call),
  call_uuid: call.order.sid,
  caller_name: `+${shownFrom(call)}`,
  direction: call.direction,
  from: shownFrom(call),
  ...(requestUuid === null ? {} : { request_uuid: requestUuid }),
  session_start: `${call.createdAt.toISOString().slice(0, 23).replace("T", " ")}000`,
  to: bare(call.order.to),
});

/** A call that waits in Plivo's own queue. */
export const queuedRecord = ({ call, requestUuid }: PlivoCall, apiId: string): Record<string, unknown> => ({
  api_id: apiId,
  call_status: "queued",
  call_uuid: call.order.sid,
  caller_name: `+${shownFrom(call)}`,
  direction: call.direction,
  from: shownFrom(call),
  request_uuid: requestUuid,
  to: bare(call.order.to),
});

const MAX_PAGE = 20;
/** A whole number of a query. */
export const whole = (text: string | null, byDefault: number): number =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : byDefault;

/** Does a time lie where `name`, `name__gte` and so on want it? */
function timeMatches(query: URLSearchParams, name: string, date: Date | null): boolean {
  const ms = date?.getTime() ?? 0;
  const whole_ms = Math.floor(ms / 1000) * 1000;
  const wanted = (suffix: string): number | null => {
    const text = query.get(name + suffix);
    return text === null ? null : Date.parse(`${text.replace(" ", "T")}Z`);
  };
  const [exactly, gt, gte, lt, lte] = ["", "__gt", "__gte", "__lt", "__lte"].map(wanted);
  return (
    (exactly === null || whole_ms === exactly) &&
    !(gt !== null && gt !== undefined && whole_ms <= gt) &&
    !(gte !== null && gte !== undefined && whole_ms < gte) &&
    !(lt !== null && lt !== undefined && whole_ms >= lt) &&
    !(lte !== null && lte !== undefined && whole_ms > lte)
  );
}

/** Numbers are filtered by their beginning, as Plivo does. */
export const matchesNumbers = ({ call }: PlivoCall, query: URLSearchParams): boolean =>
  bare(call.order.to).startsWith(bare(query.get("to_number") ?? "")) &&
  shownFrom(call).startsWith(bare(query.get("from_number") ?? "")) &&
  (query.get("call_direction") ?? call.direction) === call.direction;

/** One page of calls that are over, newest first. */
export function listEnded(calls: readonly PlivoCall[], query: URLSearchParams, apiId: string, path: string): Reply {
  const limit = Math.min(Math.max(whole(query.get("limit"), MAX_PAGE), 1), MAX_PAGE);
  const offset = whole(query.get("offset"), 0);
  const found = calls
    .filter(
      (c) => c.call.phase === "ended" && matchesNumbers(c, query) && timeMatches(query, "end_time", c.call.endedAt),
    )
    .reverse();
  const page = (start: number): string =>
    `${path}?${new URLSearchParams({ ...Object.fromEntries(query), limit: String(limit), offset: String(start) })}`;
  return {
    status: 200,
    body: {
      api_id: apiId,
      meta: {
        limit,
        offset,
        total_count: found.length,
        next: offset + limit < found.length ? page(offset + limit) : null,
        previous: offset > 0 ? page(Math.max(0, offset - limit)) : null,
      },
      objects: found.slice(offset, offset + limit).map((c) => endedRecord(c, apiId)),
    },
  };
}
