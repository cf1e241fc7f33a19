import { service } from "../../shared/bus/bus.ts";
import { outboxHandOver } from "../../shared/database/outbox-hand-over.ts";
import { deploymentSchema } from "./pauses/deployment.model.ts";
import { merchantActions } from "./merchants.ts";
import { resellerActions } from "./resellers.ts";
import { merchantSchema } from "./merchants.model.ts";
import { merchantsRepository } from "./merchants.repository.ts";
import { pausesRepository } from "./pauses/pauses.repository.ts";
import { pauseActions } from "./pauses/pauses.ts";
import { resellerSchema } from "./resellers.model.ts";
import { resellersRepository } from "./resellers.repository.ts";
import { hasPhone } from "../../shared/numbering/spellings.ts";

/** The scope tree: resellers and their merchants, and whose calling is paused. */
export default service("merchants", (deps) => {
  const store = deps.store();
  const resellers = resellersRepository(store.model("resellers", resellerSchema));
  const merchantModel = store.model("merchants", merchantSchema);
  const merchants = merchantsRepository(merchantModel);
  const deploymentModel = store.model("deployment", deploymentSchema);
  const pauses = pausesRepository(merchantModel, deploymentModel);
  const pauseEvents = outboxHandOver(deps, merchantModel, "pause");
  const handOvers = [pauseEvents, outboxHandOver(deps, deploymentModel, "pause")];

  /** The two documents behind a pair of ids; the merchant null where none is asked for, or it is another reseller's. */
  const both = (reseller_id: string, merchant_id: string | undefined) =>
    Promise.all([
      resellers.one(reseller_id),
      merchant_id === undefined ? null : merchants.ofReseller(reseller_id, merchant_id),
    ]);

  return {
    actions: {
      ...resellerActions(deps, resellers, merchants),
      ...merchantActions(deps, merchants, resellers, pauseEvents),
      ...pauseActions(deps, merchants, resellers, pauses, () => handOvers.forEach((some) => some.nudge())),
      async testNumbers({ pairs }) {
        const of = await merchants.testNumbers([...new Set(pairs.map((p) => p.merchant_id))]);
        return { listed: pairs.map((p) => hasPhone(of.get(p.merchant_id) ?? [], p.phone_number)) };
      },
      async lookup({ reseller_id, merchant_id }) {
        const [reseller, merchant] = await both(reseller_id, merchant_id);
        return {
          reseller: reseller !== null,
          merchant: reseller !== null && (merchant_id === undefined || merchant !== null),
          ...(merchant?.webhook_phone_number ? { webhook_phone_number: merchant.webhook_phone_number } : {}),
        };
      },
      named: async ({ reseller_id, merchant_id }) => ({ name: await merchants.nameOf(reseller_id, merchant_id) }),
      async active({ reseller_id, merchant_id }) {
        const [reseller, merchant] = await both(reseller_id, merchant_id);
        return { active: reseller?.is_active === true && (merchant_id === undefined || merchant?.is_active === true) };
      },
    },
    started: () => handOvers.forEach((some) => some.start()),
    async stopped() {
      await Promise.all(handOvers.map((some) => some.stop()));
    },
  };
});
