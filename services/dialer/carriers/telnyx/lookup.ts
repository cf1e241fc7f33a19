import { plusMs } from "../../../../shared/time/clock.ts";
import type { CallProgress, CarrierCall, Price } from "../carrier-port.ts";
import { isUnknown } from "./refusals.ts";
import { costOf, progressOf, readEvent, referenceOf, type TelnyxEvent } from "./callbacks.ts";
import { listOf, parsed, recordOf, textOf, timeOf } from "../json.ts";
import { pathPart, type Rest } from "./rest.ts";

/** Entries asked for at a time: Telnyx's most. */
const PAGE_SIZE = 250;
/** A call has a dozen events; one pair of numbers few calls in two minutes. */
const MAX_EVENT_PAGES = 3;
/** The connection's live calls are searched this far. */
const MAX_ACTIVE_PAGES = 20;
/** Calls of one reference that are read: there should be one. */
const MAX_FOUND = 5;
/** Where the raw event lies in an entry's metadata is not documented: it is searched this deep. */
const MAX_DEPTH = 4;
/** Numbers read in a search: Telnyx matches parts of numbers too, of which a whole one has few. */
const MAX_NUMBERS = 20;
/** States of a number that the account does not have yet, or has no more. */
const NOT_HELD: ReadonlySet<unknown> = new Set([
  "purchase_pending",
  "purchase_failed",
  "port_pending",
  "port_failed",
  "deleted",
  "ported_out",
]);
/** Between Telnyx's clock and ours. */
const CLOCK_TOLERANCE_MS = 3000;

interface Listed {
  event: TelnyxEvent;
  call_id: string | null;
}

async function pages(
  rest: Rest,
  path: string,
  query: Record<string, string>,
  most: number,
): Promise<Record<string, unknown>[]> {
  const all: Record<string, unknown>[] = [];
  for (let page = 1; page <= most; page += 1) {
    const { data, meta } = await rest.get(path, {
      ...query,
      "page[number]": String(page),
      "page[size]": String(PAGE_SIZE),
    });
    all.push(...listOf(data).map(recordOf));
    const total = recordOf(meta)["total_pages"];
    if (typeof total !== "number" || page >= total) break;
  }
  return all;
}

function rawEventIn(value: unknown, depth = 0): TelnyxEvent | null {
  const looked = typeof value === "string" && value.startsWith("{") ? parsed(value) : value;
  if (typeof looked !== "object" || looked === null || depth > MAX_DEPTH) return null;
  const event = readEvent(looked);
  if (event !== null) return event;
  for (const inner of Object.values(looked)) {
    const found = rawEventIn(inner, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** An entry of the list of events; without a readable raw event, its name and time still say something. */
function listed(entry: Record<string, unknown>): Listed {
  const event = rawEventIn(entry["metadata"]) ?? {
    id: null,
    type: textOf(entry["name"]) ?? "",
    at: timeOf(entry["event_timestamp"]),
    payload: recordOf(entry["metadata"]),
  };
  return { event, call_id: textOf(event.payload["call_control_id"]) };
}

const listEvents = async (rest: Rest, filter: Record<string, string>): Promise<Listed[]> =>
  (
    await pages(
      rest,
      "/call_events",
      {
        ...Object.fromEntries(Object.entries(filter).map(([name, value]) => [`filter${name}`, value])),
        "filter[type]": "webhook",
      },
      MAX_EVENT_PAGES,
    )
  ).map(listed);

const byTime = (a: TelnyxEvent, b: TelnyxEvent): number => (a.at ?? "").localeCompare(b.at ?? "");

/** A call of which Telnyx says that it is over, but no event how. */
function unexplainedEnd(call_id: string, at: string | null, progress: CallProgress[]): CallProgress {
  return {
    call_id,
    at,
    type: "ended",
    end: progress.some((p) => p.type === "answered") ? "completed" : "unknown",
    cause: null,
    seconds: null,
  };
}

function callOf(call_id: string, shown: Record<string, unknown>, events: TelnyxEvent[]): CarrierCall {
  const inOrder = [...events].sort(byTime);
  const steps = inOrder.flatMap((event) => progressOf(event, call_id));
  // of a call that is over, the end of its media, which may be told later than its own, says nothing
  const progress = steps.some((p) => p.type === "ended") ? steps.filter((p) => p.type !== "media_lost") : steps;
  const ended_at = timeOf(shown["end_time"]);
  // a call that was only just asked for is not alive yet; one that is over has an end
  if (shown["is_alive"] === false && ended_at !== null && !progress.some((p) => p.type === "ended"))
    progress.push(unexplainedEnd(call_id, ended_at, progress));
  const cost = inOrder.reduce<Price | null>((last, event) => costOf(event) ?? last, null);
  const created = timeOf(shown["start_time"]) ?? inOrder[0]?.at ?? null;
  return {
    call_id,
    created_at: created === null ? null : new Date(created),
    live: !progress.some((p) => p.type === "ended"),
    progress,
    cost,
  };
}

/** The call as Telnyx shows it, with the steps its events report; null: unknown there (it is kept ten minutes after its end). */
export async function fetchCall(rest: Rest, call_id: string): Promise<CarrierCall | null> {
  let shown: Record<string, unknown>;
  try {
    shown = recordOf((await rest.get(`/calls/${pathPart(call_id)}`))["data"]);
  } catch (error) {
    if (isUnknown(error)) return null;
    throw error;
  }
  const leg = textOf(shown["call_leg_id"]);
  const events = leg === null ? [] : await listEvents(rest, { "[leg_id]": leg });
  return callOf(
    call_id,
    shown,
    events.filter((e) => e.call_id === null || e.call_id === call_id).map((e) => e.event),
  );
}

/** What is sought: an attempt by its reference, between two numbers, from an instant on. */
export interface Sought {
  call_ref: string;
  to: string;
  from: string;
  since: Date;
}

/** The calls that carry our reference: in events of the last day, or live on the connection. */
export async function findCalls(
  rest: Rest,
  connection_id: string,
  { call_ref, to, from, since }: Sought,
): Promise<CarrierCall[]> {
  const told = await listEvents(rest, {
    "[from]": from,
    "[to]": to,
    "[occurred_at][gte]": plusMs(since, -CLOCK_TOLERANCE_MS).toISOString(),
  });
  const ours = told.filter(({ event }) => referenceOf(event.payload["client_state"]) === call_ref);
  const ids = new Set(ours.flatMap(({ call_id }) => (call_id === null ? [] : [call_id])));
  if (ids.size === 0) {
    for (const entry of await pages(
      rest,
      `/connections/${pathPart(connection_id)}/active_calls`,
      {},
      MAX_ACTIVE_PAGES,
    )) {
      const id = textOf(entry["call_control_id"]);
      if (id !== null && referenceOf(entry["client_state"]) === call_ref) ids.add(id);
    }
  }
  return Promise.all(
    [...ids].slice(0, MAX_FOUND).map(
      async (id) =>
        (await fetchCall(rest, id)) ??
        callOf(
          id,
          {},
          ours.filter((e) => e.call_id === id).map((e) => e.event),
        ),
    ),
  );
}

/** Whether the number is one of the account's. The filter takes digits alone: with anything else in it, it finds none. */
export async function holdsNumber(rest: Rest, phone_number: string): Promise<boolean> {
  const { data } = await rest.get("/phone_numbers", {
    "filter[phone_number]": phone_number.replace(/\D/g, ""),
    "page[size]": String(MAX_NUMBERS),
  });
  return listOf(data)
    .map(recordOf)
    .some((n) => n["phone_number"] === phone_number && !NOT_HELD.has(n["status"]));
}
