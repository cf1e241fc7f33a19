import type { EventOf } from "../../shared/bus/bus.ts";
import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import type { SharedLimits } from "./http/request-limits.ts";

/** The other gateways are told this often; what a tenant asks of several at once may pass its allowance by what it used in that time. */
const TELL_MS = 1000;
/** Tenants in one message; the others are in the next. */
const MAX_TENANTS_TOLD = 500;

/** What the gateways of a deployment tell each other, so that a tenant has one allowance, whichever of them it asks. */
export interface AllowanceNotices {
  /** Another gateway, or this one, told what tenants used there. */
  note(event: EventOf<"allowance.spent">): void;
  /** Begins to tell what was used here. A message that is lost is not sent again: those units are then counted here alone. */
  start(): Loop;
}

/** The notices of this gateway; `tell` sends one to every gateway. */
export function createAllowanceNotices(
  { clock, ids }: Pick<ProcessDeps, "clock" | "ids">,
  limits: Pick<SharedLimits, "takeSpent" | "spentElsewhere">,
  tell: (notice: EventOf<"allowance.spent">) => void,
): AllowanceNotices {
  const gateway = ids.uuid();
  return {
    note(event) {
      if (event.gateway !== gateway) limits.spentElsewhere(event.spent);
    },
    start: () =>
      startLoop({
        name: "gateway.allowances",
        clock,
        intervalMs: TELL_MS,
        pass: () => {
          const spent = limits.takeSpent(MAX_TENANTS_TOLD);
          if (spent.length > 0) tell({ gateway, spent });
          return Promise.resolve(spent.length === MAX_TENANTS_TOLD);
        },
        onError: () => undefined,
      }),
  };
}
