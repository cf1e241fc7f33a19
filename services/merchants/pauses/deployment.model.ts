import { Schema } from "mongoose";
import { SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { OUTBOX_FIELDS, type Outboxed } from "../../../shared/database/object-outbox.ts";
import { pauseSchema, type PauseDoc } from "./pause.model.ts";

/** The one document that speaks for the deployment as a whole. It is made by the first pause. */
export interface DeploymentDoc extends Outboxed {
  _id: typeof DEPLOYMENT_ID;
  paused: PauseDoc | null;
}

/** Its id. */
export const DEPLOYMENT_ID = "deployment";

/** Collection `deployment`; owner: the merchants service. */
export const deploymentSchema = new Schema<DeploymentDoc>(
  { _id: { type: String, required: true }, paused: { type: pauseSchema, default: null }, ...OUTBOX_FIELDS },
  SCHEMA_OPTIONS,
);
