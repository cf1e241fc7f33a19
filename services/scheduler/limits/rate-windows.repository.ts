import type { Model, PipelineStage } from "mongoose";
import { batched } from "../../../shared/batching.ts";
import { recencyCache } from "../../../shared/cache.ts";
import { GRANT_VALID_MS } from "../../../shared/contracts/scheduler.ts";
import { fieldsByClock, NOW, whereByClock, type DatabaseTime } from "../../../shared/database/database-clock.ts";
import { isLostRace } from "../../../shared/database/database-errors.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import {
  entryOf,
  EPOCH,
  hasLayout,
  withLayout,
  layoutFor,
  LOG_ENTRIES,
  permitsAt,
  validMs,
  windowMs,
  type RateLimit,
  type WindowLog,
} from "./rules/sliding-window.ts";
import type { RateWindowDoc } from "./rate-windows.model.ts";

/** A permit by the database's clock: when it was asked for, and from when until when it may be used; or from when on there is one. */
export type Acquired = { granted: true; asked_at: Date; at: Date; until: Date } | { granted: false; next: Date };

/** How long a permit may be waited for: it lies at `not_before` or later, but at most `slack_ms` after that (or after now). `valid_ms`: how long it is wanted to be valid, beside twice `uncertain_ms`. */
export interface PermitWait {
  not_before: Date | null;
  slack_ms: number;
  valid_ms?: number;
  uncertain_ms?: number;
}

/** A permit that nobody used. */
export interface UnusedPermit {
  from: Date;
  until: Date;
  window_ms: number;
}

/** Sliding-window limiters over all replicas; permits are taken and given back by compare-and-set on the database's clock. */
export interface RateWindows {
  /** Takes one permit. Those asked for at about the same moment are taken in one write. */
  acquire(id: string, limit: RateLimit, wait: PermitWait): Promise<Acquired>;
  /** Takes a permit out of the log again, once: no call was placed with it, and none will be. Coarse logs keep it. */
  giveBack(id: string, permit: UnusedPermit): Promise<void>;
  /** The logs by window, without those that have none yet. Reads only. */
  read(ids: readonly string[]): Promise<Map<string, WindowLog>>;
  /** No permit lies before `until`; a longer closing stays. */
  closeUntil(id: string, until: Date, why: string): Promise<void>;
}

/** Most permits taken in one write. */
const BLOCK = 10;
/** Windows that are asked for at about the same moment; of others' limits the blocks are made anew. */
const MAX_WINDOWS = 10_000;
const MAX_LAYOUT_TRIES = 8;
/** Any database's clock is past this. */
const LONG_AGO = Date.UTC(2020, 0, 1);

type Expression = Record<string, unknown> | readonly unknown[] | string | Date | number;

const afterWindow = (entry: Expression, limit: RateLimit): Expression => ({ $add: [entry, windowMs(limit)] });

/** From when on a new entry of the log may begin: its oldest entry in sight has left the window. */
const beginsAt = (limit: RateLimit): Expression => {
  const { group, entries } = layoutFor(limit.max);
  return afterWindow({ $arrayElemAt: ["$ring", group === 1 ? -entries : 0] }, limit);
};

const isFull = (group: number): Expression => ({ $gte: ["$filled", group] });

/**
 * The instant of the next permit. It need not be later than the last one: with single permits the oldest entry in sight is N
 * permits old, whichever order they came in, and a coarse entry takes none from before it was opened. The log itself stays in
 * order: entries are written no earlier than the last.
 */
const permitAt = (limit: RateLimit, not_before: Date | null): Expression => {
  const { group } = layoutFor(limit.max);
  const room = group === 1 ? beginsAt(limit) : { $cond: [isFull(group), beginsAt(limit), "$opened"] };
  return { $max: [NOW, not_before ?? EPOCH, { $ifNull: ["$closed_until", EPOCH] }, room] };
};

/** Whether the next permit is soon enough for who waits so. */
const isSoonEnough = (limit: RateLimit, { not_before, slack_ms }: PermitWait): Expression => ({
  $lte: [permitAt(limit, not_before), { $add: [{ $max: [NOW, not_before ?? EPOCH] }, slack_ms] }],
});

/** The stages that take one permit after the other, each from the log as the one before left it; who finds none soon enough takes none. */
function acquiring(limit: RateLimit, waits: readonly PermitWait[], at: DatabaseTime): PipelineStage.Set[] {
  const { group, entries } = layoutFor(limit.max);
  const none = { $eq: ["$granted_at", null] };
  const unlessNone = (field: string, changed: Expression): Expression => ({ $cond: [none, field, changed] });
  const one = (wait: PermitWait): Expression[] => {
    const later = validMs(limit, wait.valid_ms ?? 0, wait.uncertain_ms ?? 0) - GRANT_VALID_MS;
    const entry = { $max: [{ $add: ["$granted_at", later] }, { $arrayElemAt: ["$ring", -1] }] };
    const pushed = { $concatArrays: [{ $slice: ["$ring", 1, LOG_ENTRIES] }, [entry]] };
    const added = { $concatArrays: [{ $slice: ["$ring", 0, Math.max(1, entries - 1)] }, [entry]] };
    const until = { $add: [entry, GRANT_VALID_MS] };
    const block = { $concatArrays: ["$block", [unlessNone("$granted_at", ["$granted_at", until])]] };
    const next =
      group === 1
        ? { ring: unlessNone("$ring", pushed) }
        : {
            ring: unlessNone("$ring", { $cond: [isFull(group), pushed, added] }),
            filled: unlessNone("$filled", { $cond: [isFull(group), 1, { $add: ["$filled", 1] }] }),
            opened: unlessNone("$opened", { $cond: [isFull(group), beginsAt(limit), "$opened"] }),
          };
    const soonEnough = isSoonEnough(limit, wait);
    return [
      fieldsByClock({ granted_at: { $cond: [soonEnough, permitAt(limit, wait.not_before), null] }, asked_at: NOW }, at),
      { block, ...next },
    ];
  };
  const empty: PipelineStage.Set = { $set: { block: [] } };
  return [empty, ...waits.flatMap(one).map(($set) => ({ $set }) as PipelineStage.Set)];
}

/** The guarded write that takes the permits, if its layout fits and one of them lies soon enough. */
function acquisition(id: string, limit: RateLimit, waits: readonly PermitWait[], at: DatabaseTime) {
  const { group, entries } = layoutFor(limit.max);
  const sized = group === 1 ? { $gte: [{ $size: "$ring" }, entries] } : { $eq: [{ $size: "$ring" }, entries] };
  const anySoonEnough = { $or: waits.map((wait) => isSoonEnough(limit, wait)) };
  return {
    filter: { _id: id, group, ...whereByClock({ $and: [sized, anySoonEnough] }, at) },
    update: acquiring(limit, waits, at),
    how: { updatePipeline: true, returnDocument: "after", projection: { block: 1, asked_at: 1 } } as const,
  };
}

/**
 * The guarded write that gives one permit back. It followed the oldest entry of its time, so an entry as old as that one may have been takes its
 * place: whoever is given its turn again begins no sooner than the permit itself. Entries of the same instant are all the same.
 */
function giving(id: string, { from, until, window_ms }: UnusedPermit) {
  const entry = entryOf(until);
  const before = plusMs(from, -windowMs({ max: 1, window_ms }));
  const those = (cond: Expression): Expression => ({ $filter: { input: "$ring", as: "e", cond } });
  const ring = {
    $concatArrays: [
      those({ $lte: ["$$e", before] }),
      [before],
      those({ $and: [{ $gt: ["$$e", before] }, { $lt: ["$$e", entry] }] }),
      { $slice: [those({ $eq: ["$$e", entry] }), 1, LOG_ENTRIES] },
      those({ $gt: ["$$e", entry] }),
    ],
  };
  return { filter: { _id: id, group: 1, ring: entry }, update: [{ $set: { ring } }] };
}

/** Lays the log out for this limit, at first use and when the limit changed. */
async function layOut(model: Model<RateWindowDoc>, id: string, max: number, seen: RateWindowDoc | null): Promise<void> {
  const { ring, group, filled, opened } = withLayout(seen, max);
  if (seen) {
    const asSeen = { _id: id, ring: seen.ring, group: seen.group, filled: seen.filled };
    await model.updateOne(asSeen, { $set: { ring, group, filled, opened } });
    return;
  }
  await model.create({ _id: id, ring, group, filled, opened }).catch((error: unknown) => {
    if (!isLostRace(error)) throw error;
  });
}

/** The repository over its model; `time`: what the database's clock ought to show. */
export function rateWindows(model: Model<RateWindowDoc>, time: () => DatabaseTime): RateWindows {
  const find = (id: string) => model.findById(id).lean<RateWindowDoc>();

  /** A permit for each who waits, or null where there was none soon enough. */
  async function tryAcquire(
    id: string,
    limit: RateLimit,
    waits: readonly PermitWait[],
  ): Promise<readonly (Acquired | null)[]> {
    const { filter, update, how } = acquisition(id, limit, waits, time());
    const doc = await model.findOneAndUpdate(filter, update, how).lean<Pick<RateWindowDoc, "block" | "asked_at">>();
    return waits.map((_wait, i): Acquired | null => {
      const [at, until] = doc?.block?.[i] ?? [];
      return at && until && doc?.asked_at ? { granted: true, at, until, asked_at: doc.asked_at } : null;
    });
  }

  const blocks = recencyCache<(wait: PermitWait) => Promise<Acquired | null>>({ max: MAX_WINDOWS });
  const inBlocks = (id: string, limit: RateLimit): ((wait: PermitWait) => Promise<Acquired | null>) => {
    const key = JSON.stringify([id, limit.max, limit.window_ms]);
    const known = blocks.get(key);
    if (known) return known;
    const made = batched((waits: PermitWait[]) => tryAcquire(id, limit, waits), { maxItems: BLOCK });
    blocks.set(key, made);
    return made;
  };

  return {
    async acquire(id, limit, wait) {
      for (let i = 0; i < MAX_LAYOUT_TRIES; i++) {
        const acquired = await inBlocks(id, limit)(wait);
        if (acquired) return acquired;
        const doc = await find(id);
        if (!doc || !hasLayout(doc, limit.max)) {
          await layOut(model, id, limit.max, doc);
          continue;
        }
        // at the epoch there is never a free permit: that asks for the instant of the next one
        const next = permitsAt(doc, limit, EPOCH).next ?? EPOCH;
        // another replica laid the log out after our try: the layout refused, not the limit
        if (next.getTime() > Math.max(LONG_AGO, doc.asked_at?.getTime() ?? 0) + wait.slack_ms)
          return { granted: false, next };
      }
      throw new Error(`the rate window ${id} kept changing its layout while a permit was asked for`);
    },
    async giveBack(id, permit) {
      const { filter, update } = giving(id, permit);
      await model.updateOne(filter, update, { updatePipeline: true });
    },
    async read(ids) {
      if (ids.length === 0) return new Map();
      const docs = await model.find({ _id: { $in: [...ids] } }).lean<RateWindowDoc[]>();
      return new Map(docs.map((d) => [d._id, d]));
    },
    async closeUntil(id, until, why) {
      await layOut(model, id, 0, await find(id));
      const openSooner = { _id: id, $or: [{ closed_until: null }, { closed_until: { $lt: until } }] };
      await model.updateOne(openSooner, { $set: { closed_until: until, closed_why: why } });
    },
  };
}
