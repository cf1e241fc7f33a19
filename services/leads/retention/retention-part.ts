import type { Model } from "mongoose";
import type { Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Loop } from "../../../shared/time/loop.ts";
import type { LeadDeps } from "../deps.ts";
import type { Erasures } from "../erasure/erasures.repository.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import type { LeadDoc } from "../leads.model.ts";
import { agedLeads } from "./aged-leads.ts";
import type { LeadCounters } from "./lead-counters.repository.ts";
import { endAged } from "./retention-run.ts";
import { dryRunRetention, getRetention, setRetention } from "./retention-settings.ts";
import type { Retentions } from "./retentions.repository.ts";

/** What the leads service does with how long records are kept: ages are counted from the end of a lead. */
export interface RetentionPart {
  actions(
    loop: () => Pick<Loop, "nudge"> | undefined,
  ): Handlers<"leads", "getRetention" | "setRetention" | "dryRunRetention">;
  /** One turn of a run that is due. */
  pass(deps: Pick<LeadDeps, "leads">): Promise<boolean>;
}

/** Retention over its collection and the collection of leads. */
export function retentionPart(
  service: ServiceDeps,
  model: Model<LeadDoc>,
  holds: LegalHolds,
  counters: LeadCounters,
  erasures: Pick<Erasures, "underWay">,
  retentions: Retentions,
): RetentionPart {
  const aged = agedLeads(model);
  return {
    actions: (loop) => {
      const deps = { ...service, retentions, aged, holds, onDue: () => loop()?.nudge() };
      return {
        getRetention: (p, { bus }) => getRetention(deps, bus, p),
        setRetention: (p, { bus }) => setRetention(deps, bus, p),
        dryRunRetention: (p, { bus }) => dryRunRetention(deps, bus, p),
      };
    },
    pass: (deps) => endAged({ ...service, ...deps, retentions, aged, counters, erasures, holds }),
  };
}
