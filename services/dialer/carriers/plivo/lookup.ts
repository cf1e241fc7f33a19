import pLimit from "p-limit";
import { recencyCache } from "../../../../shared/cache.ts";
import { fail } from "../../../../shared/errors.ts";
import { plusMs } from "../../../../shared/time/clock.ts";
import type { CallHandle, CarrierCall } from "../carrier-port.ts";
import { bare } from "./dial-request.ts";
import { endedCall, isBetween, liveCall, namesIn, queuedCall, recordsIn, type SeenCall } from "./call-records.ts";
import { callPath, isMissing, type Answer, type PlivoRest } from "./rest.ts";

/** Records of one listing; Plivo gives no more at once, newest first, and one pair of numbers makes few in two minutes. */
const MAX_LISTED = 20;
/** Live calls whose details are asked for in one search, and how many at a time. */
const MAX_LOOKED_AT = 200;
const AT_A_TIME = 8;
/** Plivo keeps whole seconds, by its own clock. */
const CLOCK_TOLERANCE_MS = 3000;
/** Requests of this process whose numbers are kept. */
const MAX_REMEMBERED = 20_000;

/** What was asked for in a dial request. */
interface Placed {
  to: string;
  from: string;
  at: Date;
}
/** Between whom and when a call was placed. */
interface Sought {
  to: string;
  from: string;
  since: Date;
  until: Date;
}

/** Finds calls at Plivo, which shows a call that waits, one under way and one that is over at different places. */
export interface Lookup {
  /** Keeps the numbers of a request: the record of a call that is over does not name it. */
  remember(call_id: string, placed: Placed): void;
  find(sought: Sought): Promise<CarrierCall[]>;
  fetch(call: CallHandle): Promise<CarrierCall | null>;
  /** The leg of a request that is under way; null: none. */
  legOf(call_id: string): Promise<string | null>;
}

const dated = (date: Date): string => date.toISOString().slice(0, 19).replace("T", " ");

/** A record, and what it shows of its call. */
interface Detailed {
  record: Answer;
  seen: SeenCall;
}

/** First and last instant of a span in ms, give or take the carrier's clock. */
const spanOf = ({ since, until }: Pick<Sought, "since" | "until">): [number, number] => [
  since.getTime() - CLOCK_TOLERANCE_MS,
  until.getTime() + CLOCK_TOLERANCE_MS,
];

async function orNull<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The details of calls of a listing, a few at a time; those that went meanwhile are left out. */
async function detailsOf(
  rest: PlivoRest,
  names: string[],
  status: string,
  read: (record: Answer, name: string) => SeenCall,
): Promise<Detailed[]> {
  if (names.length > MAX_LOOKED_AT)
    fail(
      "DEPENDENCY_DOWN",
      `The carrier has ${names.length} calls under way, too many to look through for one; it will be asked again.`,
    );
  const records = await pLimit(AT_A_TIME).map(names, (name) => orNull(rest.get(callPath(name), { status })));
  return records.flatMap((record, i) => (record ? [{ record, seen: read(record, names[i] ?? "") }] : []));
}

const live = async (rest: PlivoRest, filter: Record<string, string> = {}): Promise<Detailed[]> =>
  detailsOf(rest, namesIn(await rest.get("Call/", { status: "live", ...filter })), "live", liveCall);

const queued = async (rest: PlivoRest): Promise<Detailed[]> =>
  detailsOf(rest, namesIn(await rest.get("Call/", { status: "queued" })), "queued", queuedCall);

/** Between two numbers and created in the span, give or take the carrier's clock. */
async function ended(rest: PlivoRest, { to, from, since, until }: Sought): Promise<SeenCall[]> {
  const [first, last] = spanOf({ since, until });
  const listing = await rest.get("Call/", {
    from_number: bare(from),
    to_number: bare(to),
    call_direction: "outbound",
    end_time__gte: dated(new Date(first)),
    limit: String(MAX_LISTED),
    offset: "0",
  });
  return recordsIn(listing)
    .filter((record) => isBetween(record, from, to))
    .flatMap((record) => {
      const name = record["call_uuid"];
      const seen = typeof name === "string" ? endedCall(record, name) : null;
      const created = seen?.call.created_at?.getTime() ?? Number.NaN;
      return seen !== null && created >= first && created <= last ? [seen] : [];
    });
}

/** The calls between two numbers, in the order of a call's life, so that one that moves on meanwhile is not missed. */
async function findCalls(rest: PlivoRest, sought: Sought): Promise<CarrierCall[]> {
  const { to, from } = sought;
  const [first, last] = spanOf(sought);
  const between = ({ record }: Detailed): boolean => isBetween(record, from, to);
  const waiting = (await queued(rest)).filter(between).map(({ seen }) => seen);
  const numbers = { from_number: bare(from), to_number: bare(to), call_direction: "outbound" };
  const talking = (await live(rest, numbers)).filter(between).map(({ seen }) => seen);
  const over = await ended(rest, sought);
  const gone = new Set(over.map(({ leg_id }) => leg_id));
  const inTime = talking.filter(({ leg_id, call: { created_at } }) => {
    const created = created_at?.getTime() ?? first;
    return !gone.has(leg_id) && created >= first && created <= last;
  });
  const moved = new Set(inTime.map(({ call }) => call.call_id));
  return [...waiting.filter(({ call }) => !moved.has(call.call_id)), ...inTime, ...over].map(({ call }) => call);
}

/** The call under the name that is asked for; its record may show another. */
const named = (call: CarrierCall, call_id: string): CarrierCall => ({
  ...call,
  call_id,
  progress: call.progress.map((step) => ({ ...step, call_id })),
});

/** A look-up for one account. */
export function createLookup(rest: PlivoRest): Lookup {
  const placed = recencyCache<Placed>({ max: MAX_REMEMBERED });
  const liveByRequest = async (call_id: string): Promise<SeenCall | undefined> =>
    (await live(rest)).find(({ seen }) => seen.call.call_id === call_id)?.seen;

  /** The one call that this process's request led to; null where there is none, or more than one. */
  const byNumbers = async (call_id: string): Promise<CarrierCall | null> => {
    const asked = placed.get(call_id);
    if (!asked) return null;
    const until = plusMs(asked.at, CLOCK_TOLERANCE_MS);
    const [only, ...more] = await ended(rest, { ...asked, since: asked.at, until });
    return only && more.length === 0 ? named(only.call, call_id) : null;
  };

  return {
    remember: (call_id, numbers) => placed.set(call_id, numbers),
    find: (sought) => findCalls(rest, sought),
    legOf: async (call_id) => (await liveByRequest(call_id))?.leg_id ?? null,
    async fetch({ call_id, leg_id }) {
      const id = leg_id ?? call_id;
      if (leg_id === null) {
        const waiting = await orNull(rest.get(callPath(id), { status: "queued" }));
        if (waiting) return named(queuedCall(waiting, id).call, call_id);
      }
      const talking = await orNull(rest.get(callPath(id), { status: "live" }));
      if (talking) return named(liveCall(talking, id).call, call_id);
      const over = await orNull(rest.get(callPath(id)));
      if (over) return endedCall(over, call_id).call;
      if (leg_id !== null) return null;
      return (await liveByRequest(call_id))?.call ?? byNumbers(call_id);
    },
  };
}

/** Whether the number is one of the account's: Plivo shows no other. */
export const holdsNumber = async (rest: PlivoRest, phone_number: string): Promise<boolean> =>
  (await orNull(rest.get(`Number/${bare(phone_number)}/`))) !== null;
