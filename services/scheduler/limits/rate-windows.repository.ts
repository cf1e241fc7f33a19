import type { Model, PipelineStage } from "mongoose";
import { isDuplicateKey } from "../../../shared/errors.ts";
import {
  EPOCH,
  fits,
  laidOutFor,
  layoutOf,
  RING_ENTRIES,
  roomAt,
  widened,
  type RateLimit,
  type RingState,
} from "./sliding-window.ts";
import type { RateWindowDoc } from "./rate-windows.model.ts";

/** A grant by the database's clock: when it was asked for and from when on it may be used; or from when on there is one. */
export type Taken = { granted: true; asked_at: Date; at: Date } | { granted: false; next: Date };

/** How long a grant may be waited for: it lies at `not_before` or later, but no more than `slack_ms` after that (or after now). */
export interface Patience {
  not_before: Date | null;
  slack_ms: number;
}

/** Grants of sliding windows over all replicas, taken by compare-and-set on the database's clock (reliability.md 3.3). */
export interface RateWindows {
  /** Takes one grant. Grants never go back. */
  take(id: string, limit: RateLimit, patience: Patience): Promise<Taken>;
  /** The rings as they are; those nobody asked for yet are left out. Reads only. */
  peek(ids: readonly string[]): Promise<Map<string, RingState>>;
  /** Nothing is granted before `until`; a longer closing stays. */
  close(id: string, until: Date, why: string): Promise<void>;
}

const MAX_SHAPING_TRIES = 8;
/** Any database's clock is past this. */
const LONG_AGO = Date.UTC(2020, 0, 1);
const MAX_QUERY_MS = 5000;

type Expression = Record<string, unknown> | string | Date | number;

const afterWindow = (entry: Expression, limit: RateLimit): Expression => ({ $add: [entry, widened(limit)] });

/** From when on a new entry of the ring may begin: its oldest entry in sight has left the window. */
const beginsAt = (limit: RateLimit): Expression => {
  const { group, entries } = layoutOf(limit.max);
  return afterWindow({ $arrayElemAt: ["$ring", group === 1 ? -entries : 0] }, limit);
};

const isFull = (group: number): Expression => ({ $gte: ["$filled", group] });

/**
 * The instant of the next grant. It need not be later than the last one: with single grants the oldest entry in sight is N grants old, whichever order
 * they came in, and a coarse entry takes none from before it was opened. The ring itself stays in order: entries are written no earlier than the last.
 */
const grantAt = (limit: RateLimit, not_before: Date | null): Expression => {
  const { group } = layoutOf(limit.max);
  const room = group === 1 ? beginsAt(limit) : { $cond: [isFull(group), beginsAt(limit), "$opened"] };
  return { $max: ["$$NOW", not_before ?? EPOCH, { $ifNull: ["$closed_until", EPOCH] }, room] };
};

function taking(limit: RateLimit, not_before: Date | null): PipelineStage.Set[] {
  const { group, entries } = layoutOf(limit.max);
  const entry = { $max: ["$granted_at", { $arrayElemAt: ["$ring", -1] }] };
  const pushed = { $concatArrays: [{ $slice: ["$ring", 1, RING_ENTRIES] }, [entry]] };
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
    { $set: { granted_at: grantAt(limit, not_before), asked_at: "$$NOW" } },
    { $set: next },
  ] as PipelineStage.Set[];
}

/** The repository over its model. */
export function rateWindows(model: Model<RateWindowDoc>): RateWindows {
  const read = (id: string) => model.findById(id).maxTimeMS(MAX_QUERY_MS).lean<RateWindowDoc>();

  /** Lays the ring out for this limit, at first use and when the limit changed. */
  async function shape(id: string, max: number, seen: RateWindowDoc | null): Promise<void> {
    const { ring, group, filled, opened } = laidOutFor(seen, max);
    if (seen)
      await model.updateOne(
        { _id: id, ring: seen.ring, group: seen.group, filled: seen.filled },
        { $set: { ring, group, filled, opened } },
      );
    else
      await model.create({ _id: id, ring, group, filled, opened }).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
  }

  async function tryTake(id: string, limit: RateLimit, { not_before, slack_ms }: Patience): Promise<Taken | null> {
    const { group, entries } = layoutOf(limit.max);
    const sized = group === 1 ? { $gte: [{ $size: "$ring" }, entries] } : { $eq: [{ $size: "$ring" }, entries] };
    const bearable = {
      $lte: [grantAt(limit, not_before), { $add: [{ $max: ["$$NOW", not_before ?? EPOCH] }, slack_ms] }],
    };
    const doc = await model
      .findOneAndUpdate({ _id: id, group, $expr: { $and: [sized, bearable] } }, taking(limit, not_before), {
        updatePipeline: true,
        returnDocument: "after",
        projection: { granted_at: 1, asked_at: 1 },
      })
      .maxTimeMS(MAX_QUERY_MS)
      .lean<Pick<RateWindowDoc, "granted_at" | "asked_at">>();
    return doc?.granted_at && doc.asked_at ? { granted: true, at: doc.granted_at, asked_at: doc.asked_at } : null;
  }

  return {
    async take(id, limit, patience) {
      for (let i = 0; i < MAX_SHAPING_TRIES; i++) {
        const taken = await tryTake(id, limit, patience);
        if (taken) return taken;
        const doc = await read(id);
        if (!doc || !fits(doc, limit.max)) {
          await shape(id, limit.max, doc);
          continue;
        }
        // asked of long ago there is no room: what is wanted is the instant, not whether it has come
        const next = roomAt(doc, limit, EPOCH).next ?? EPOCH;
        // another asker laid the ring out after our try: it was the layout that refused, not the limit
        if (next.getTime() > Math.max(LONG_AGO, doc.asked_at?.getTime() ?? 0) + patience.slack_ms)
          return { granted: false, next };
      }
      throw new Error(`the rate window ${id} kept changing its size while a grant was asked for`);
    },
    async peek(ids) {
      if (ids.length === 0) return new Map();
      const docs = await model
        .find({ _id: { $in: [...ids] } })
        .maxTimeMS(MAX_QUERY_MS)
        .lean<RateWindowDoc[]>();
      return new Map(docs.map((d) => [d._id, d]));
    },
    async close(id, until, why) {
      await shape(id, 0, await read(id));
      await model.updateOne(
        { _id: id, $or: [{ closed_until: null }, { closed_until: { $lt: until } }] },
        { $set: { closed_until: until, closed_why: why } },
      );
    },
  };
}
