import type { Model } from "mongoose";
import { isDuplicateKey } from "../../shared/errors.ts";
import type { RateWindowDoc } from "./rate-windows.model.ts";

/** Grants of a sliding window over all replicas: a ring of the last N grant times, taken by compare-and-set on the database's clock (reliability.md 3.3). */
export interface RateWindows {
  /** Takes one of `max` grants per `windowMs`. null: granted; else the instant at which the next one frees. Grants never go back. */
  take(id: string, max: number, windowMs: number): Promise<Date | null>;
}

/** A grant and its dial may be this far apart: the window is widened by it, so that dials obey the bound too. */
export const GRANT_TO_DIAL_MS = 500;

const EPOCH = new Date(0);
const MAX_SHAPING_TRIES = 5;

/** The repository over its model. */
export function rateWindows(model: Model<RateWindowDoc>): RateWindows {
  /** A ring of exactly `max` dates: made at first use, cut to the newest or filled up with long past ones when the maximum changed. */
  async function shape(id: string, max: number): Promise<void> {
    const doc = await model.findById(id).lean<RateWindowDoc>();
    const blank = (n: number): Date[] => Array.from({ length: n }, () => EPOCH);
    if (!doc) {
      await model.create({ _id: id, ring: blank(max) }).catch((error: unknown) => { if (!isDuplicateKey(error)) throw error; });
    } else if (doc.ring.length !== max) {
      const ring = doc.ring.length > max ? doc.ring.slice(-max) : [...blank(max - doc.ring.length), ...doc.ring];
      await model.updateOne({ _id: id, ring: doc.ring }, { $set: { ring } });
    }
  }

  async function tryTake(id: string, max: number, windowMs: number): Promise<boolean> {
    const taken = await model.findOneAndUpdate(
      { _id: id, ring: { $size: max }, $expr: { $lte: [{ $arrayElemAt: ["$ring", 0] }, { $subtract: ["$$NOW", windowMs] }] } },
      [{ $set: { ring: { $concatArrays: [{ $slice: ["$ring", 1, Math.max(1, max)] }, [{ $max: ["$$NOW", { $arrayElemAt: ["$ring", -1] }] }]] } } }],
      { updatePipeline: true },
    ).lean();
    return taken !== null;
  }

  return {
    async take(id, max, windowMs) {
      const widened = windowMs + GRANT_TO_DIAL_MS;
      for (let i = 0; i < MAX_SHAPING_TRIES; i++) {
        if (await tryTake(id, max, widened)) return null;
        const doc = await model.findById(id).lean<RateWindowDoc>();
        const oldest = doc?.ring[0];
        if (doc?.ring.length === max && oldest) return new Date(oldest.getTime() + widened);
        await shape(id, max);
      }
      throw new Error(`the rate window ${id} kept changing its size while a grant was asked for`);
    },
  };
}
