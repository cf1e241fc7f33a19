import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { createdBetween, newestOf, type PageFilter } from "../../../shared/page.ts";
import type { InboundCallDoc } from "./inbound-calls.model.ts";
import type { InboundRuling } from "./inbound-gate.ts";
import { ofPhone } from "../../../shared/numbering/spellings.ts";

/** What a list of inbound calls is narrowed by; `from` inclusive, `to` exclusive. */
type InboundFilter = ListFilter<"dialer.inboundCalls">;

/** Reads and writes of `inbound_calls`. */
export interface InboundCalls {
  find(id: string): Promise<InboundCallDoc | null>;
  /** Writes a call that came in; the one that is there where it was written before. */
  store(call: InboundCallDoc): Promise<InboundCallDoc>;
  /** Calls of the same caller to the same template that came before this one within so many seconds and were taken, or are being judged still. */
  countEarlier(call: InboundCallDoc, window_seconds: number): Promise<number>;
  /** Writes the verdict of a call without one; null: another replica has. */
  judge(id: string, ruling: InboundRuling, lead_id: string | null, now: Date): Promise<InboundCallDoc | null>;
  /** Takes an acceptance back, for the call can't be taken after all. */
  overrule(id: string, ruling: InboundRuling): Promise<InboundCallDoc | null>;
  markAnswered(id: string, now: Date): Promise<void>;
  /** Forgets who called in calls of this number; `pending`: one is being judged still. */
  erase(scope: Scope, from: string, now: Date): Promise<{ erased: number; pending: boolean }>;
  page(scope: Scope, filter: InboundFilter, after: PageFilter, size: number): Promise<InboundCallDoc[]>;
}

/** A call that was not judged by then never is: the process that answered it died. */
const JUDGED_WITHIN_SECONDS = 600;
const AFTER = { returnDocument: "after" } as const;

/** The repository on its model. */
export function createInboundCalls(model: Model<InboundCallDoc>): InboundCalls {
  const find = (id: string): Promise<InboundCallDoc | null> => model.findById(id).lean<InboundCallDoc>();
  return {
    find,
    async store(call) {
      try {
        await model.create(call);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        return (await find(call._id)) ?? call;
      }
      return call;
    },
    // those still being judged count: of calls that come at the same instant each replica sees the other's
    countEarlier: ({ _id, template_id, from, created_at }, window_seconds) =>
      model.countDocuments({
        template_id,
        from: from === null ? from : ofPhone(from),
        created_at: { $gt: plusSeconds(created_at, -window_seconds), $lte: created_at },
        $and: [
          { $or: [{ created_at: { $lt: created_at } }, { _id: { $lt: _id } }] },
          { $or: [{ verdict: "ACCEPTED" }, { verdict: null }] },
        ],
      }),
    judge: (id, { verdict, reason }, lead_id, now) =>
      model
        .findOneAndUpdate(
          { _id: id, verdict: null },
          {
            $set: {
              verdict,
              judged_at: now,
              ...(reason === null ? {} : { reason }),
              ...(lead_id === null ? {} : { lead_id }),
            },
          },
          AFTER,
        )
        .lean<InboundCallDoc>(),
    overrule: (id, { verdict, reason }) =>
      model
        .findOneAndUpdate({ _id: id, verdict: "ACCEPTED", settled_at: null }, { $set: { verdict, reason } }, AFTER)
        .lean<InboundCallDoc>(),
    async markAnswered(id, now) {
      await model.updateOne({ _id: id }, { $set: { settled_at: now } });
    },
    async erase(scope, from, now) {
      const calls = { ...within(scope), from: ofPhone(from) };
      const over = [{ judged_at: { $ne: null } }, { created_at: { $lt: plusSeconds(now, -JUDGED_WITHIN_SECONDS) } }];
      const { modifiedCount } = await model.updateMany({ ...calls, $or: over }, { $set: { from: null } });
      return { erased: modifiedCount, pending: (await model.findOne(calls, { _id: 1 }).lean()) !== null };
    },
    page: (scope, { from, to, ...same }, after, size) =>
      newestOf(model, [within(scope), same, createdBetween(from, to), after], size),
  };
}
