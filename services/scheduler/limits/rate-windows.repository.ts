import type { Model, PipelineStage } from "mongoose";
import { fieldsByClock, NOW, whereByClock } from "../../../shared/database/database-clock.ts";
import { isLostRace } from "../../../shared/database/database-errors.ts";
import {
  EPOCH,
  hasLayout,
  withLayout,
  layoutFor,
  LOG_ENTRIES,
  permitsAt,
  windowMs,
  type RateLimit,
  type WindowLog,
} from "./rules/sliding-window.ts";
import type { RateWindowDoc } from "./rate-windows.model.ts";

/** A permit by the database's clock: when it was asked for, and from when on it may be used; or from when on there is one. */
export type Acquired = { granted: true; asked_at: Date; at: Date } | { granted: false; next: Date };

/** How long a permit may be waited for: it lies at `not_before` or later, but at most `slack_ms` after that (or after now). */
export interface PermitWait {
  not_before: Date | null;
  slack_ms: number;
}

/** Sliding-window limiters over all replicas; permits are taken by compare-and-set on the database's clock. */
export interface RateWindows {
  /** Takes one permit. Permits never go back. */
  acquire(id: string, limit: RateLimit, wait: PermitWait): Promise<Acquired>;
  /** The logs by window, without those that have none yet. Reads only. */
  read(ids: readonly string[]): Promise<Map<string, WindowLog>>;
  /** No permit lies before `until`; a longer closing stays. */
  closeUntil(id: string, until: Date, why: string): Promise<void>;
}

const MAX_LAYOUT_TRIES = 8;
/** Any database's clock is past this. */
const LONG_AGO = Date.UTC(2020, 0, 1);

type Expression = Record<string, unknown> | string | Date | number;

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

function acquiring(limit: RateLimit, not_before: Date | null): PipelineStage.Set[] {
  const { group, entries } = layoutFor(limit.max);
  const entry = { $max: ["$granted_at", { $arrayElemAt: ["$ring", -1] }] };
  const pushed = { $concatArrays: [{ $slice: ["$ring", 1, LOG_ENTRIES] }, [entry]] };
  const added = { $concatArrays: [{ $slice: ["$ring", 0, Math.max(1, entries - 1)] }, [entry]] };
  const next =
    group === 1
      ? { ring: pushed }
      : {
          ring: { $cond: [isFull(group), pushed, added] },
          filled: { $cond: [isFull(group), 1, { $add: ["$filled", 1] }] },
          opened: { $cond: [isFull(group), beginsAt(limit), "$opened"] },
        };
  return [
    { $set: fieldsByClock({ granted_at: permitAt(limit, not_before), asked_at: NOW }) },
    { $set: next },
  ] as PipelineStage.Set[];
}

/** The guarded write that takes one permit, if its layout fits and it lies soon enough. */
function acquisition(id: string, limit: RateLimit, { not_before, slack_ms }: PermitWait) {
  const { group, entries } = layoutFor(limit.max);
  const sized = group === 1 ? { $gte: [{ $size: "$ring" }, entries] } : { $eq: [{ $size: "$ring" }, entries] };
  const latest = { $add: [{ $max: [NOW, not_before ?? EPOCH] }, slack_ms] };
  const soonEnough = { $lte: [permitAt(limit, not_before), latest] };
  return {
    filter: { _id: id, group, ...whereByClock({ $and: [sized, soonEnough] }) },
    update: acquiring(limit, not_before),
    how: { updatePipeline: true, returnDocument: "after", projection: { granted_at: 1, asked_at: 1 } } as const,
  };
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

/** The repository over its model. */
export function rateWindows(model: Model<RateWindowDoc>): RateWindows {
  const find = (id: string) => model.findById(id).lean<RateWindowDoc>();

  async function tryAcquire(id: string, limit: RateLimit, wait: PermitWait): Promise<Acquired | null> {
    const { filter, update, how } = acquisition(id, limit, wait);
    const doc = await model
      .findOneAndUpdate(filter, update, how)
      .lean<Pick<RateWindowDoc, "granted_at" | "asked_at">>();
    return doc?.granted_at && doc.asked_at ? { granted: true, at: doc.granted_at, asked_at: doc.asked_at } : null;
  }

  return {
    async acquire(id, limit, wait) {
      for (let i = 0; i < MAX_LAYOUT_TRIES; i++) {
        const acquired = await tryAcquire(id, limit, wait);
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
