import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, Handlers, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import type { MerchantRecord } from "../../../shared/contracts/merchants.ts";
import { MAX_MESSAGE_BYTES } from "../../../shared/batching.ts";
import { jsonBytes } from "../../../shared/json.ts";
import { fail } from "../../../shared/errors.ts";
import { DEPLOYMENT_ID } from "./deployment.model.ts";
import { merchantForChange, merchantView, merchantNotFound } from "../merchant-access.ts";
import type { MerchantsRepository } from "../merchants.repository.ts";
import { pauseView, type PauseDoc } from "./pause.model.ts";
import type { PausesRepository } from "./pauses.repository.ts";
import type { ResellersRepository } from "../resellers.repository.ts";
import { refuseDeployment, refusePause } from "../rules/permissions.ts";

const permitDeployment = (by: By): void => {
  const refusal = refuseDeployment(by);
  if (refusal) fail("FORBIDDEN", refusal);
};

type PausedMerchants = ResultOf<"merchants.pauses">["merchants"];

/** Where the reasons are too long together for a message, none is given: that a merchant is paused must be told of every one. */
const withoutLongReasons = (merchants: PausedMerchants): PausedMerchants =>
  jsonBytes(merchants) <= MAX_MESSAGE_BYTES
    ? merchants
    : merchants.map(({ id, pause }) => ({ id, pause: { ...pause, reason: null } }));

async function pausesOf(
  paused: PausesRepository,
  { callLimits }: Pick<MerchantsRepository, "callLimits">,
  { spendCeilings }: Pick<ResellersRepository, "spendCeilings">,
  { merchant_ids: ids, reseller_ids = [] }: ParamsOf<"merchants.pauses">,
): Promise<ResultOf<"merchants.pauses">> {
  const [deployment, found, limits, ofResellers] = await Promise.all([
    paused.deployment(),
    ids.length === 0 ? [] : paused.merchants(ids),
    ids.length === 0 ? [] : callLimits(ids),
    reseller_ids.length === 0 ? [] : spendCeilings(reseller_ids),
  ]);
  const merchants = found.flatMap((merchant) => {
    const pause = pauseView(merchant.paused);
    return pause ? [{ id: merchant._id, pause }] : [];
  });
  const caps = limits.flatMap(({ id, max_calls_per_callee: cap }) => (cap ? [{ id, max_calls_per_callee: cap }] : []));
  const ofMerchants = limits.flatMap(({ id, spend_ceiling }) => (spend_ceiling ? [{ id, spend_ceiling }] : []));
  const ceilings = [...ofMerchants, ...ofResellers];
  return {
    deployment: pauseView(deployment),
    merchants: withoutLongReasons(merchants),
    ...(caps.length > 0 ? { caps } : {}),
    ...(ceilings.length > 0 ? { ceilings } : {}),
  };
}

const pauseAt = (at: Date, by: By, reason: string | undefined): PauseDoc => ({
  at,
  by: `${by.kind}:${by.id}`,
  reason: reason ?? null,
});

/** Pauses and resumes. Each switch is in the audit log and broadcast to every scheduler; schedulers read the state from here in any case. */
export function pauseActions(
  deps: Pick<ServiceDeps, "clock" | "log">,
  merchants: MerchantsRepository,
  resellers: Pick<ResellersRepository, "spendCeilings">,
  paused: PausesRepository,
  onEvent: () => void,
): Handlers<"merchants", "pause" | "resume" | "deployment" | "pauseDeployment" | "resumeDeployment" | "pauses"> {
  const pauseBy = (by: By, reason: string | undefined): PauseDoc => pauseAt(deps.clock.now(), by, reason);
  const announce = async (
    bus: Bus,
    by: By,
    action: string,
    owner: { subject: string; reseller_id: string | null; merchant_id: string | null },
    pause: PauseDoc | null,
  ): Promise<void> => {
    onEvent();
    bus.broadcast("calling.switched", { merchant_id: owner.merchant_id });
    const whose = owner.merchant_id === null ? "all calling" : "a merchant's calling";
    const line = {
      event: action,
      ...(owner.merchant_id === null ? {} : { merchant_id: owner.merchant_id }),
      by: by.id,
    };
    deps.log.info(line, `${whose} was ${pause ? "paused" : "resumed"}`);
    await recordAudit(deps, bus, { by, action, ...owner, details: pause ? { reason: pause.reason } : {} });
  };

  const switchMerchant = async (by: By, id: string, pause: PauseDoc | null, bus: Bus): Promise<MerchantRecord> => {
    const merchant = await merchantForChange(merchants, by, id, (reseller_id) => refusePause(by, reseller_id));
    const switched = await paused.switchMerchant(scopeOf(by), merchant, pause, deps.clock.now());
    if (!switched) return merchantView((await merchants.find(scopeOf(by), id)) ?? merchantNotFound());
    const owner = { subject: id, reseller_id: switched.reseller_id, merchant_id: id };
    await announce(bus, by, pause ? "merchant.paused" : "merchant.resumed", owner, pause);
    return merchantView(switched);
  };

  const switchDeployment = async (
    by: By,
    pause: PauseDoc | null,
    bus: Bus,
  ): Promise<ResultOf<"merchants.deployment">> => {
    permitDeployment(by);
    const owner = { subject: DEPLOYMENT_ID, reseller_id: null, merchant_id: null };
    if (await paused.switchDeployment(pause, deps.clock.now()))
      await announce(bus, by, pause ? "deployment.paused" : "deployment.resumed", owner, pause);
    return { paused: pauseView(await paused.deployment()) };
  };

  return {
    pause: ({ by, id, reason }, { bus }) => switchMerchant(by, id, pauseBy(by, reason), bus),
    resume: ({ by, id }, { bus }) => switchMerchant(by, id, null, bus),
    async deployment({ by }) {
      permitDeployment(by);
      return { paused: pauseView(await paused.deployment()) };
    },
    pauseDeployment: ({ by, reason }, { bus }) => switchDeployment(by, pauseBy(by, reason), bus),
    resumeDeployment: ({ by }, { bus }) => switchDeployment(by, null, bus),
    pauses: (asked) => pausesOf(paused, merchants, resellers, asked),
  };
}
