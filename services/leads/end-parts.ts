import type { Model } from "mongoose";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { erasurePart } from "./erasure/erasure-part.ts";
import { erasureSchema } from "./erasure/erasures.model.ts";
import { erasuresRepository } from "./erasure/erasures.repository.ts";
import type { EventLog } from "./events/event-log.repository.ts";
import { holdActions } from "./holds/hold-requests.ts";
import { legalHoldSchema } from "./holds/legal-holds.model.ts";
import { legalHoldsRepository } from "./holds/legal-holds.repository.ts";
import type { LeadDoc } from "./leads.model.ts";
import { leadCounterSchema } from "./retention/lead-counters.model.ts";
import { leadCountersRepository } from "./retention/lead-counters.repository.ts";
import { retentionPart } from "./retention/retention-part.ts";
import { retentionSchema } from "./retention/retentions.model.ts";
import { retentionsRepository } from "./retention/retentions.repository.ts";
import type { Sweeps } from "./sweeps.ts";

/** What ends records, on demand or by their age, what keeps them from it, and what stays of them. */
export function endParts(service: ServiceDeps, model: Model<LeadDoc>, events: Pick<EventLog, "erase">) {
  const holds = legalHoldsRepository(service.store().model("legal_holds", legalHoldSchema));
  const counters = leadCountersRepository(service.store().model("lead_counters", leadCounterSchema));
  const erasures = erasuresRepository(service.store().model("erasures", erasureSchema));
  const retentions = retentionsRepository(service.store().model("retentions", retentionSchema));
  return {
    counters,
    erasures: erasurePart(service, model, events, holds, erasures, retentions),
    retention: retentionPart(service, model, holds, counters, erasures, retentions),
    holds: holdActions({ ...service, holds }),
  };
}

/** Their actions. */
export const endActions = (
  { erasures, retention, holds }: ReturnType<typeof endParts>,
  sweeps: () => Sweeps | null,
) => ({
  ...holds,
  ...erasures.actions(() => sweeps()?.erasures),
  ...retention.actions(() => sweeps()?.retention),
});
