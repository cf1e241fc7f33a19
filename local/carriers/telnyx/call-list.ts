import type { Reply } from "../http/messages.ts";
import { moment } from "./callbacks.ts";
import { answeredSeconds } from "./hangup-causes.ts";
import { RequestError } from "./errors.ts";
import type { TelnyxCall, TelnyxEvent } from "./telnyx-call.ts";

const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 250;
/** Without the leg's or the session's name only events of the last day are shown. */
const DAY_MS = 86_400_000;

const whole = (text: string | null, byDefault: number): number =>
  text !== null && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : byDefault;

/** One page of a list, as Telnyx cuts them. */
export function pageOf(all: readonly unknown[], query: URLSearchParams): Reply {
  const size = Math.min(whole(query.get("page[size]"), DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE);
  const number = whole(query.get("page[number]"), 1);
  return {
    status: 200,
    body: {
      data: all.slice((number - 1) * size, number * size),
      meta: {
        page_number: number,
        page_size: size,
        total_pages: Math.max(1, Math.ceil(all.length / size)),
        total_results: all.length,
      },
    },
  };
}

/** One call as the dial request's answer shows it, and, with more, the look-up. */
export function callShown({ call, legId, sessionId, settings, recorder }: TelnyxCall): Record<string, unknown> {
  const ended = call.phase === "ended";
  return {
    record_type: "call",
    call_control_id: call.order.sid,
    call_leg_id: legId,
    call_session_id: sessionId,
    is_alive: !ended && call.phase !== "queued",
    ...(settings.clientState === null ? {} : { client_state: settings.clientState }),
    ...(recorder ? { recording_id: recorder.id } : {}),
    ...(call.startedAt ? { start_time: moment(call.startedAt), call_duration: durationOf(call) } : {}),
    ...(ended && call.endedAt ? { end_time: moment(call.endedAt) } : {}),
  };
}

const durationOf = (call: TelnyxCall["call"]): number =>
  call.endedAt
    ? answeredSeconds(call)
    : call.startedAt
      ? Math.round((call.leg.time.clock.now().getTime() - call.startedAt.getTime()) / 1000)
      : 0;

/** `GET /v2/connections/{id}/active_calls`. */
export const listActive = (calls: Iterable<TelnyxCall>, connectionId: string, query: URLSearchParams): Reply =>
  pageOf(
    [...calls]
      .filter(({ call, account }) => account.connectionId === connectionId && call.phase !== "ended")
      .map(({ call, legId, sessionId, settings }) => ({
        record_type: "call",
        call_control_id: call.order.sid,
        call_leg_id: legId,
        call_session_id: sessionId,
        client_state: settings.clientState ?? "",
        call_duration: durationOf(call),
      })),
    query,
  );

const COMPARES: Readonly<Record<string, (event: number, asked: number) => boolean>> = {
  eq: (a, b) => a === b,
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
};

function timePasses(event: TelnyxEvent, query: URLSearchParams): boolean {
  return Object.entries(COMPARES).every(([how, holds]) => {
    const asked = query.get(`filter[occurred_at][${how}]`);
    if (asked === null) return true;
    const ms = Date.parse(asked);
    if (Number.isNaN(ms))
      throw new RequestError("10015", "Bad Request", `filter[occurred_at][${how}] must be an ISO 8601 datetime.`);
    return holds(Date.parse(event.occurred_at), ms);
  });
}

/** `GET /v2/call_events`: what was told of calls, whether it arrived or not, oldest first. */
export function listEvents(calls: Iterable<TelnyxCall>, query: URLSearchParams, now: Date): Reply {
  const equal = (name: string, value: unknown): boolean => (query.get(`filter[${name}]`) ?? value) === value;
  const named = query.has("filter[leg_id]") || query.has("filter[application_session_id]");
  const found: { event: TelnyxEvent; telnyxCall: TelnyxCall }[] = [];
  for (const telnyxCall of calls) {
    const { call, account, legId, sessionId } = telnyxCall;
    if (
      !equal("leg_id", legId) ||
      !equal("application_session_id", sessionId) ||
      !equal("connection_id", account.connectionId)
    )
      continue;
    if (!equal("to", call.order.to) || !equal("from", call.order.from)) continue;
    for (const event of telnyxCall.events) {
      const recent = named || now.getTime() - Date.parse(event.occurred_at) <= DAY_MS;
      if (recent && equal("type", "webhook") && equal("name", event.event_type) && timePasses(event, query))
        found.push({ event, telnyxCall });
    }
  }
  found.sort((a, b) => a.event.occurred_at.localeCompare(b.event.occurred_at));
  return pageOf(
    found.map(({ event, telnyxCall: { legId, sessionId } }) => ({
      record_type: "call_event",
      type: "webhook",
      name: event.event_type,
      event_timestamp: event.occurred_at,
      call_leg_id: legId,
      call_session_id: sessionId,
      metadata: { event },
    })),
    query,
  );
}
