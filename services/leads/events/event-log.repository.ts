import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { idsOfLead } from "../../../shared/ids.ts";
import { withoutNumber } from "../../../shared/privacy/erased-text.ts";
import { appendEach } from "../../../shared/database/write-batches.ts";
import type { LogEntry } from "./event-log.model.ts";

/** Reads and writes of the log of events. */
export interface EventLog {
  /** Those of the ids that are in the log. */
  known(ids: readonly string[]): Promise<Set<string>>;
  /** The last position; 0: the log is empty. */
  last(): Promise<number>;
  /** The first position that is still kept; null: the log is empty. */
  first(): Promise<number | null>;
  /** Appends in this order. False: another process has written one of the positions or events, so that only those before it are in the log, by this process or that. */
  append(entries: readonly LogEntry[]): Promise<boolean>;
  /** Entries behind `after`, up to `to`, in the order of their positions. */
  between(scope: Scope, after: number, to: number, limit: number): Promise<LogEntry[]>;
  /** Events of a lead behind a number, in order. */
  ofLead(lead_id: string, after: number, limit: number): Promise<LogEntry[]>;
  /** Takes a number, which is masked, from the events of a lead; how many had one. */
  erase(lead_id: string, e164: string): Promise<number>;
}

const ofLead = (lead_id: string) => ({ _id: idsOfLead(lead_id) });

/** The log over its model. */
export const eventLog = (model: Model<LogEntry>): EventLog => {
  const edge = (direction: 1 | -1) =>
    model.findOne({}, { position: 1 }).sort({ position: direction }).lean<Pick<LogEntry, "position">>();
  return {
    async known(ids) {
      const found = await model.find({ _id: { $in: [...ids] } }, { _id: 1 }).lean<Pick<LogEntry, "_id">[]>();
      return new Set(found.map(({ _id }) => _id));
    },
    last: async () => (await edge(-1))?.position ?? 0,
    first: async () => (await edge(1))?.position ?? null,
    append: (entries) => appendEach(model, entries),
    between: (scope, after, to, limit) =>
      model
        .find({ ...within(scope), position: { $gt: after, $lte: to } })
        .sort({ position: 1 })
        .limit(limit)
        .lean<LogEntry[]>(),
    async erase(lead_id, e164) {
      const request = await model.findOne(ofLead(lead_id), { data: 1 }).lean<Pick<LogEntry, "data">>();
      const { request_id } = request?.data ?? {};
      const named = typeof request_id === "string" ? { "data.request_id": withoutNumber(request_id, e164) } : {};
      const { modifiedCount } = await model.updateMany(
        { ...ofLead(lead_id), "data.phone_number": { $ne: null } },
        { $set: { "data.phone_number": null, ...named } },
      );
      return modifiedCount;
    },
    ofLead: (lead_id, after, limit) =>
      model
        .find({ ...ofLead(lead_id), seq: { $gt: after } })
        .sort({ seq: 1 })
        .limit(limit)
        .lean<LogEntry[]>(),
  };
};
