import { service } from "../../shared/bus.ts";
import { deploymentSchema } from "./pauses/deployment.model.ts";
import { merchantManagement } from "./merchants.ts";
import { resellerManagement } from "./resellers.ts";
import { merchantSchema } from "./merchants.model.ts";
import { merchantsRepository } from "./merchants.repository.ts";
import { pausesRepository } from "./pauses/pauses.repository.ts";
import { pauseManagement } from "./pauses/pauses.ts";
import { resellerSchema } from "./resellers.model.ts";
import { resellersRepository } from "./resellers.repository.ts";

/** The scope tree: resellers and their merchants, and whose calling is paused. */
export default service("merchants", (deps) => {
  const store = deps.store();
  const resellers = resellersRepository(store.model("resellers", resellerSchema));
  const merchantModel = store.model("merchants", merchantSchema);
  const merchants = merchantsRepository(merchantModel);
  const ofResellers = resellerManagement(deps, resellers, merchants);
  const ofMerchants = merchantManagement(deps, merchants, resellers);
  const ofPauses = pauseManagement(
    deps,
    merchants,
    pausesRepository(merchantModel, store.model("deployment", deploymentSchema)),
  );

  /** The two documents behind a pair of ids; the merchant null where none is asked for, or it is another reseller's. */
  const both = (reseller_id: string, merchant_id: string | undefined) =>
    Promise.all([
      resellers.one(reseller_id),
      merchant_id === undefined ? null : merchants.ofReseller(reseller_id, merchant_id),
    ]);

  return {
    actions: {
      createReseller: (wanted) => ofResellers.create(wanted),
      listResellers: (asked) => ofResellers.list(asked),
      getReseller: (asked) => ofResellers.get(asked),
      updateReseller: (asked, { bus }) => ofResellers.update(asked, bus),
      deleteReseller: (asked, { bus }) => ofResellers.remove(asked, bus),
      create: (wanted) => ofMerchants.create(wanted),
      list: (asked) => ofMerchants.list(asked),
      get: (asked) => ofMerchants.get(asked),
      update: (asked, { bus }) => ofMerchants.update(asked, bus),
      remove: (asked, { bus }) => ofMerchants.remove(asked, bus),
      pause: (asked, { bus }) => ofPauses.pause(asked, bus),
      resume: (asked, { bus }) => ofPauses.resume(asked, bus),
      deployment: (asked) => ofPauses.deployment(asked),
      pauseDeployment: (asked, { bus }) => ofPauses.pauseDeployment(asked, bus),
      resumeDeployment: (asked, { bus }) => ofPauses.resumeDeployment(asked, bus),
      pauses: (asked) => ofPauses.pauses(asked),
      async lookup({ reseller_id, merchant_id }) {
        const [reseller, merchant] = await both(reseller_id, merchant_id);
        return {
          reseller: reseller !== null,
          merchant: reseller !== null && (merchant_id === undefined || merchant !== null),
        };
      },
      async active({ reseller_id, merchant_id }) {
        const [reseller, merchant] = await both(reseller_id, merchant_id);
        return { active: reseller?.is_active === true && (merchant_id === undefined || merchant?.is_active === true) };
      },
    },
  };
});
