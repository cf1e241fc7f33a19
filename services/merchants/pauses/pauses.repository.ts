import type { Model } from "mongoose";
import type { Scope } from "../../../shared/contracts/records/identity.ts";
import { DEPLOYMENT_ID, type DeploymentDoc } from "./deployment.model.ts";
import type { MerchantDoc } from "../merchants.model.ts";
import { withinMerchants } from "../merchants.repository.ts";
import type { PauseDoc } from "./pause.model.ts";

/** Who is paused. A switch gives null where things were so already; of several who switch at once, one gets it. */
export interface PausesRepository {
  /** Pauses (or, with null, resumes) a merchant of the scope. null: it was so already, or it is gone. */
  switchMerchant(scope: Scope, id: string, pause: PauseDoc | null, now: Date): Promise<MerchantDoc | null>;
  /** False: it was so already. */
  switchDeployment(pause: PauseDoc | null): Promise<boolean>;
  deployment(): Promise<PauseDoc | null>;
  /** For services: those of these merchants that are paused. */
  merchants(ids: readonly string[]): Promise<{ _id: string; paused: PauseDoc }[]>;
}

/** The repository over the mongoose models. */
export function pausesRepository(merchants: Model<MerchantDoc>, deployments: Model<DeploymentDoc>): PausesRepository {
  return {
    switchMerchant: (scope, id, pause, now) =>
      merchants
        .findOneAndUpdate(
          { $and: [{ _id: id, paused: pause === null ? { $ne: null } : null }, ...withinMerchants(scope)] },
          { $set: { paused: pause, updated_at: now } },
          { returnDocument: "after" },
        )
        .lean<MerchantDoc>(),
    async switchDeployment(pause) {
      // one write that keeps the first pause, and the document as it was before
      const paused = pause === null ? null : { $ifNull: ["$paused", { $literal: pause }] };
      const before = await deployments
        .findOneAndUpdate({ _id: DEPLOYMENT_ID }, [{ $set: { paused } }], {
          upsert: true,
          updatePipeline: true,
          returnDocument: "before",
        })
        .lean<DeploymentDoc>();
      return (before?.paused ?? null) === null ? pause !== null : pause === null;
    },
    deployment: async () => (await deployments.findOne({ _id: DEPLOYMENT_ID }).lean<DeploymentDoc>())?.paused ?? null,
    merchants: (ids) =>
      merchants
        .find({ _id: { $in: [...ids] }, paused: { $ne: null } }, { paused: 1 })
        .lean<{ _id: string; paused: PauseDoc }[]>(),
  };
}
