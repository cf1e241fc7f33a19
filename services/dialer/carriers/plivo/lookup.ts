import { fail } from "../../../../shared/errors.ts";
import type { CallHandle, CarrierCall } from "../carrier-port.ts";
import { endedCall, isBetween, liveCall, namesIn, queuedCall, recordsIn, type SeenCall } from "./call-records.ts";
import { isMissing, type Answer, type PlivoRest } from "./rest.ts";

/** Records of one listing; Plivo gives no more at once, newest first, and one pair of numbers makes few in two minutes. */
const MAX_LISTED = 20;
/** Live calls whose details are asked for in one search, and how many at a time. */
const MAX_LOOKED_AT = 200;
const AT_A_TIME = 8;
/** Plivo keeps whole seconds, by its own clock. */
const CLOCK_TOLERANCE_MS = 3000;
/** Requests of this process whose numbers are remembered. */
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

const bare = (number: string): string => number.replace(/^\+/, "");
const dated = (date: Date): string => date.toISOString().slice(0, 19).replace("T", " ");
const callPath = (id: string): string => `Call/${encodeURIComponent(id)}/`;

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
): Promise<{ record: Answer; seen: SeenCall }[]> {
  if (names.length > MAX_LOOKED_AT)
    fail(
      "DEPENDENCY_DOWN",
      `The carrier has ${names.length} calls under way, too many to look through for one; it will be asked again.`,
    );
  const found: { record: Answer; seen: SeenCall }[] = [];
  for (let i = 0; i < names.length; i += AT_A_TIME) {
    const some = names.slice(i, i + AT_A_TIME);
    const records = await Promise.all(some.map((name) => orNull(rest.get(callPath(name), { status }))));
    records.forEach((record, j) => {
      if (record) found.push({ record, seen: read(record, some[j] ?? "") });
    });
  }
  return found;
}

/** Ready to look. */
export function createLookup(rest: PlivoRest): Lookup {
  const placed = new Map<string, Placed>();

  const live = async (filter: Record<string, string>) =>
    detailsOf(rest, namesIn(await rest.get("Call/", { status: "live", ...filter })), "live", liveCall);
  const queued = async () =>
    detailsOf(rest, namesIn(await rest.get("Call/", { status: "queued" })), "queued", queuedCall);
  const ended = async ({ to, from, since, until }: Sought): Promise<SeenCall[]> => {
    const listing = await rest.get("Call/", {
      from_number: bare(from),
      to_number: bare(to),
      call_direction: "outbound",
      end_time__gte: dated(new Date(since.getTime() - CLOCK_TOLERANCE_MS)),
      limit: String(MAX_LISTED),
      offset: "0",
    });
    const [first, last] = [since.getTime() - CLOCK_TOLERANCE_MS, until.getTime() + CLOCK_TOLERANCE_MS];
    return recordsIn(listing)
      .filter((record) => isBetween(record, from, to))
      .flatMap((record) => {
        const name = record["call_uuid"];
        const seen = typeof name === "string" ? endedCall(record, name) : null;
        const created = seen?.call.created_at?.getTime() ?? Number.NaN;
        return seen !== null && created >= first && created <= last ? [seen] : [];
      });
  };

  const legOf = async (call_id: string): Promise<string | null> =>
    (await live({})).find(({ seen }) => seen.call.call_id === call_id)?.seen.leg_id ?? null;

  /** The one call that this process's request led to; null where there is none, or no telling which. */
  const byNumbers = async (call_id: string): Promise<CarrierCall | null> => {
    const asked = placed.get(call_id);
    if (!asked) return null;
    const [only, ...more] = await ended({
      ...asked,
      since: asked.at,
      until: new Date(asked.at.getTime() + CLOCK_TOLERANCE_MS),
    });
    return only && more.length === 0
      ? { ...only.call, call_id, progress: only.call.progress.map((step) => ({ ...step, call_id })) }
      : null;
  };

  return {
    legOf,
    remember(call_id, numbers) {
      placed.set(call_id, numbers);
      const oldest = placed.keys().next();
      if (placed.size > MAX_REMEMBERED && !oldest.done) placed.delete(oldest.value);
    },
    async find(sought) {
      // in the order of a call's life, so that one that moves on meanwhile is not missed
      const waiting = (await queued())
        .filter(({ record }) => isBetween(record, sought.from, sought.to))
        .map(({ seen }) => seen);
      const talking = (
        await live({ from_number: bare(sought.from), to_number: bare(sought.to), call_direction: "outbound" })
      ).filter(({ record }) => isBetween(record, sought.from, sought.to));
      const over = await ended(sought);
      const gone = new Set(over.map(({ leg_id }) => leg_id));
      const inTime = talking
        .map(({ seen }) => seen)
        .filter(
          ({ leg_id, call: { created_at } }) =>
            !gone.has(leg_id) &&
            (created_at === null ||
              (created_at.getTime() >= sought.since.getTime() - CLOCK_TOLERANCE_MS &&
                created_at.getTime() <= sought.until.getTime() + CLOCK_TOLERANCE_MS)),
        );
      const moved = new Set(inTime.map(({ call }) => call.call_id));
      return [...waiting.filter(({ call }) => !moved.has(call.call_id)), ...inTime, ...over].map(({ call }) => call);
    },
    async fetch({ call_id, leg_id }) {
      const id = leg_id ?? call_id;
      const named = (call: CarrierCall): CarrierCall => ({
        ...call,
        call_id,
        progress: call.progress.map((step) => ({ ...step, call_id })),
      });
      if (leg_id === null) {
        const waiting = await orNull(rest.get(callPath(id), { status: "queued" }));
        if (waiting) return named(queuedCall(waiting, id).call);
      }
      const talking = await orNull(rest.get(callPath(id), { status: "live" }));
      if (talking) return named(liveCall(talking, id).call);
      const over = await orNull(rest.get(callPath(id)));
      if (over) return endedCall(over, call_id).call;
      if (leg_id !== null) return null;
      const sought = (await live({})).find(({ seen }) => seen.call.call_id === call_id);
      return sought ? sought.seen.call : byNumbers(call_id);
    },
  };
}
