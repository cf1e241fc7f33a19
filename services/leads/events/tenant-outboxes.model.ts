import { Schema } from "mongoose";
import type { ObjectEvent } from "../../../shared/database/object-outbox.ts";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import type { Placeless } from "./event-log.model.ts";

/** An event that was taken over from another service. */
export type TakenEvent = Omit<ObjectEvent, "type"> & { seq: number; type: string };

/** Events of an object that is no lead (a number, say), which its owner handed over: there from then on until they are in the log. `_id`: `<kind>:<id>`. */
export interface TenantOutboxDoc {
  _id: string;
  /** The number of the last of them. */
  event_seq: number;
  outbox: TakenEvent[];
  /** When the last of them was taken over. */
  outbox_at: Date;
}

/** Collection `tenant_outboxes`; owner: the leads service. */
export const tenantOutboxSchema = new Schema<TenantOutboxDoc>(
  {
    _id: { type: String, required: true },
    event_seq: { type: Number, required: true },
    outbox: { type: Schema.Types.Mixed, required: true },
    outbox_at: { type: Date, required: true },
  },
  SCHEMA_OPTIONS,
);
tenantOutboxSchema.index({ outbox_at: 1 }, { name: "taken_at" });

/** The events of such an outbox. */
export const takenEventsOf = ({ _id, outbox }: Pick<TenantOutboxDoc, "_id" | "outbox">): Placeless[] =>
  outbox.map((event) => ({ ...event, _id: `${_id}.${event.seq}`, subject: _id }));
