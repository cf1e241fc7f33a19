import type { Model } from "mongoose";
import type { Scope } from "../../../shared/contracts/records/identity.ts";
import { firstEvents, objectEvent, withEvents } from "../../../shared/database/object-outbox.ts";
import { insertNew } from "../../../shared/database/write-batches.ts";
import { DEPLOYMENT_ID, type DeploymentDoc } from "./deployment.model.ts";
import type { MerchantDoc } from "../merchants.model.ts";
import { withinMerchants } from "../merchants.repository.ts";
import type { PauseDoc } from "./pause.model.ts";

/** Who is paused. A switch gives null where things were so already; of several who switch at once, one gets it. */
export interface PausesRepository {
  /** Pauses (or, with null, resumes) a merchant of the scope, with its event. null: it was so already, or it is gone. */
  switchMerchant(
    scope: Scope,
    merchant: Pick<MerchantDoc, "_id" | "reseller_id">,
    pause: PauseDoc | null,
    now: Date,
  ): Promise<MerchantDoc | null>;
  /** With its event. False: it was so already. */
  switchDeployment(pause: PauseDoc | null, now: Date): Promise<boolean>;
  deployment(): Promise<PauseDoc | null>;
  /** For services: those of these merchants that are paused. */
  merchants(ids: readonly string[]): Promise<{ _id: string; paused: PauseDoc }[]>;
}

/** Holds where the pause would change something. */
const otherThan = (pause: PauseDoc | null) => ({ paused: pause === null ? { $ne: null } : null });

/** The repository over the mongoose models. */
export function pausesRepository(merchants: Model<MerchantDoc>, deployments: Model<DeploymentDoc>): PausesRepository {
  return {
    switchMerchant: (scope, { _id, reseller_id }, pause, now) =>
      merchants
        .findOneAndUpdate(
          { $and: [{ _id, reseller_id, ...otherThan(pause) }, ...withinMerchants(scope)] },
          withEvents({ $set: { paused: pause, updated_at: now } }, [
            objectEvent(
              "pause.changed",
              now,
              { reseller_id, merchant_id: _id },
              { scope: "merchant", paused: pause !== null },
            ),
          ]),
          { returnDocument: "after" },
        )
        .lean<MerchantDoc>(),
    async switchDeployment(pause, now) {
      const nobody = { reseller_id: null, merchant_id: null };
      const told = [objectEvent("pause.changed", now, nobody, { scope: "deployment", paused: pause !== null })];
      const filter = { _id: DEPLOYMENT_ID, ...otherThan(pause) } as const;
      const update = withEvents({ $set: { paused: pause } }, told);
      if ((await deployments.updateOne(filter, update)).matchedCount > 0) return true;
      if (pause === null || (await deployments.exists({ _id: DEPLOYMENT_ID })) !== null) return false;
      // the first pause there ever is; who comes second finds it
      const [made] = await insertNew(deployments, [{ _id: DEPLOYMENT_ID, paused: pause, ...firstEvents(told) }]);
      return made === true;
    },
    deployment: async () => (await deployments.findOne({ _id: DEPLOYMENT_ID }).lean<DeploymentDoc>())?.paused ?? null,
    merchants: (ids) =>
      merchants
        .find({ _id: { $in: [...ids] }, paused: { $ne: null } }, { paused: 1 })
        .lean<{ _id: string; paused: PauseDoc }[]>(),
  };
}
