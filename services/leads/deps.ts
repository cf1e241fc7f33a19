import type { ServiceDeps } from "../../shared/bus/bus.ts";
import type { FinishedDoc } from "./lists/lead-views.ts";
import type { LeadsRepository } from "./leads.repository.ts";

/** What the transitions of a lead need. */
export interface LeadDeps extends Pick<ServiceDeps, "bus" | "clock" | "log" | "metrics" | "random" | "traces"> {
  leads: LeadsRepository;
  /** Runs once for every lead that reaches FINISHED. */
  onFinished(lead: FinishedDoc): void;
  /** Runs after an attempt dialled that met technical faults before: the last one's code. */
  onFaultOver(code: string): void;
  /** Runs after an attempt was settled whose call is still to be ended. */
  onCallEndOwed(): void;
}
