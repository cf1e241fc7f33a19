import type { Model } from "mongoose";
import type { Handlers, ServiceDeps } from "../../../shared/bus/bus.ts";
import { remembered } from "../../../shared/metrics/remembered.ts";
import type { Loop } from "../../../shared/time/loop.ts";
import type { LeadDeps } from "../deps.ts";
import type { EventLog } from "../events/event-log.repository.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import { eraseDue, type ErasureDeps } from "./erasure-pass.ts";
import { createErasure, getErasure, listErasures } from "./erasure-requests.ts";
import type { Erasures } from "./erasures.repository.ts";
import type { Retentions } from "../retention/retentions.repository.ts";
import { leadsOfNumber } from "./leads-of-number.ts";

const READ_EVERY_MS = 15_000;

/** What the leads service does with erasures: whoever has a number asks it, as it knows the leads by their numbers. */
export interface ErasurePart {
  actions(
    loop: () => Pick<Loop, "nudge"> | undefined,
  ): Handlers<"leads", "createErasure" | "getErasure" | "listErasures">;
  /** One pass over what is due. */
  pass(deps: Pick<LeadDeps, "leads" | "onFinished">): Promise<boolean>;
}

/** Erasures over their collection, the collection of leads and the log of events. */
export function erasurePart(
  service: ServiceDeps,
  model: Model<LeadDoc>,
  events: Pick<EventLog, "erase">,
  holds: LegalHolds,
  erasures: Erasures,
  retentions: Pick<Retentions, "mayHaveArchived">,
): ErasurePart {
  const ageOf = async (held: boolean) => {
    const oldest = await erasures.oldest(held);
    const ms = oldest === null ? 0 : service.clock.now().getTime() - oldest.getTime();
    return { labels: { state: held ? ("held" as const) : ("running" as const) }, value: Math.max(ms, 0) / 1000 };
  };
  service.metrics.gauge(
    "callagent_erasure_age_seconds",
    remembered(service.clock, READ_EVERY_MS, () => Promise.all([ageOf(false), ageOf(true)])),
  );
  const ofNumber: ErasureDeps["ofNumber"] = (taken) => leadsOfNumber(model, taken, taken.phone_number);
  return {
    actions: (loop) => {
      const deps = { ...service, erasures, holds, onDue: () => loop()?.nudge() };
      return {
        createErasure: (p, { bus }) => createErasure(deps, bus, p),
        getErasure: (p) => getErasure(deps, p),
        listErasures: (p) => listErasures(deps, p),
      };
    },
    pass: (deps) =>
      eraseDue({ ...service, ...deps, erasures, events, holds, ofNumber, mayHaveArchived: retentions.mayHaveArchived }),
  };
}
