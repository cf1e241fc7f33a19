import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/identity.ts";
import type { MerchantRecord } from "../../../shared/contracts/merchants.ts";
import { fail } from "../../../shared/errors.ts";
import { DEPLOYMENT_ID } from "./deployment.model.ts";
import { merchantForChange, merchantView, unknownMerchant } from "../merchant-access.ts";
import type { MerchantsRepository } from "../merchants.repository.ts";
import { pauseView, type PauseDoc } from "./pause.model.ts";
import type { PausesRepository } from "./pauses.repository.ts";
import { refuseDeployment, refusePause } from "../permissions.ts";

/** Stopping and resuming the calls of a merchant, or of everybody, as the service's actions want them. */
export interface Pausing {
  pause(asked: ParamsOf<"merchants.pause">, bus: Bus): Promise<MerchantRecord>;
  resume(asked: ParamsOf<"merchants.resume">, bus: Bus): Promise<MerchantRecord>;
  deployment(asked: ParamsOf<"merchants.deployment">): Promise<ResultOf<"merchants.deployment">>;
  pauseDeployment(
    asked: ParamsOf<"merchants.pauseDeployment">,
    bus: Bus,
  ): Promise<ResultOf<"merchants.pauseDeployment">>;
  resumeDeployment(
    asked: ParamsOf<"merchants.resumeDeployment">,
    bus: Bus,
  ): Promise<ResultOf<"merchants.resumeDeployment">>;
  pauses(asked: ParamsOf<"merchants.pauses">): Promise<ResultOf<"merchants.pauses">>;
}

const permitDeployment = (by: By): void => {
  const refusal = refuseDeployment(by);
  if (refusal) fail("FORBIDDEN", refusal);
};

/** Pauses and resumes. Whoever switches is written down; every scheduler is told, and reads the truth from here in any case. */
export function pausing(ground: ServiceDeps, merchants: MerchantsRepository, paused: PausesRepository): Pausing {
  const pauseBy = (by: By, reason: string | undefined): PauseDoc => ({
    at: ground.clock.now(),
    by: `${by.kind}:${by.id}`,
    reason: reason ?? null,
  });

  const switchMerchant = async (by: By, id: string, pause: PauseDoc | null, bus: Bus): Promise<MerchantRecord> => {
    await merchantForChange(merchants, by, id, (reseller_id) => refusePause(by, reseller_id));
    const switched = await paused.switchMerchant(scopeOf(by), id, pause, ground.clock.now());
    if (!switched) return merchantView((await merchants.find(scopeOf(by), id)) ?? unknownMerchant());
    bus.broadcast("calling.switched", { merchant_id: id });
    const action = pause ? "merchant.paused" : "merchant.resumed";
    ground.log.info(
      { event: action, merchant_id: id, by: by.id },
      pause ? "a merchant's calling was paused" : "a merchant's calling was resumed",
    );
    await recordAudit(ground, bus, {
      by,
      action,
      subject: id,
      reseller_id: switched.reseller_id,
      merchant_id: id,
      details: pause ? { reason: pause.reason } : {},
    });
    return merchantView(switched);
  };

  const switchDeployment = async (
    by: By,
    pause: PauseDoc | null,
    bus: Bus,
  ): Promise<ResultOf<"merchants.deployment">> => {
    permitDeployment(by);
    if (await paused.switchDeployment(pause)) {
      bus.broadcast("calling.switched", { merchant_id: null });
      const action = pause ? "deployment.paused" : "deployment.resumed";
      ground.log.info({ event: action, by: by.id }, pause ? "all calling was paused" : "calling was resumed");
      await recordAudit(ground, bus, {
        by,
        action,
        subject: DEPLOYMENT_ID,
        reseller_id: null,
        merchant_id: null,
        details: pause ? { reason: pause.reason } : {},
      });
    }
    return { paused: pauseView(await paused.deployment()) };
  };

  return {
    pause: ({ by, id, reason }, bus) => switchMerchant(by, id, pauseBy(by, reason), bus),
    resume: ({ by, id }, bus) => switchMerchant(by, id, null, bus),
    async deployment({ by }) {
      permitDeployment(by);
      return { paused: pauseView(await paused.deployment()) };
    },
    pauseDeployment: ({ by, reason }, bus) => switchDeployment(by, pauseBy(by, reason), bus),
    resumeDeployment: ({ by }, bus) => switchDeployment(by, null, bus),
    async pauses({ merchant_ids }) {
      const [deployment, found] = await Promise.all([
        paused.deployment(),
        merchant_ids.length === 0 ? [] : paused.merchants(merchant_ids),
      ]);
      return {
        deployment: pauseView(deployment),
        merchants: found.flatMap(({ _id, paused: p }) => {
          const pause = pauseView(p);
          return pause ? [{ id: _id, pause }] : [];
        }),
      };
    },
  };
}
