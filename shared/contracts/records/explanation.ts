import { IsoTime, Json, Nullable, Type, Uuid, type Static } from "../define.ts";
import { LEAD_STATUSES } from "./lead.ts";

/** The gates of admission in the order in which they are judged. */
export const GATES = [
  /** The lead waits in BACKLOG or RETRY. */ "status",
  /** It has a number to dial and a mode that the scheduler dials. */ "phone_number",
  /** Its template exists. */ "template",
  /** It is younger than the template's max_age_seconds. */ "expiry",
  /** No technical fault keeps it from being dialled again and again, or it is time to try once more. */ "parked",
  /** Its due time has come. */ "due",
  /** No former call to its number may still be live. */ "former_call_open",
  /** No other call of its tenant with its number is under way. */ "callee_busy",
  /** Its merchant's cap on calls per callee has room. */ "callee_capped",
  /** The deployment is not paused. */ "deployment",
  /** Its merchant is not paused. */ "merchant",
  /** The spend ceilings of its merchant and reseller have room for its worst case. */ "spend_ceiling",
  /** Its template is switched on. */ "template_active",
  /** Its template has a configuration. */ "configuration",
  /** The configuration's enable_calling. */ "calling_enabled",
  /** The calling window is open, long enough to ring. */ "window",
  /** The number is not on the blacklist, or the blacklist is not enforced. */ "blacklist",
  /** A number in the callee's country exists, where international calls are off. */ "international",
  /** A slot of a usable number is free. */ "line",
  /** The configuration's rate limit has room. */ "rate_limit",
  /** The carrier account's calls per second have room, and the carrier takes calls. */ "carrier_limit",
] as const;
/** Why the dialer put a lead off whose number a former call may still be live to; the name of its gate. */
export const FORMER_CALL_OPEN = "former_call_open" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose callee is in another call of the same tenant; the name of its gate. */
export const CALLEE_BUSY = "callee_busy" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose callee its merchant has called often enough for now; the name of its gate. */
export const CALLEE_CAPPED = "callee_capped" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose call does not fit under a spend ceiling; the name of its gate. */
export const SPEND_CEILING = "spend_ceiling" satisfies (typeof GATES)[number];
export type GateName = (typeof GATES)[number];

/** One gate's verdict. `until`: from when it may let the lead through; null: it does already, or the time is unknown. */
export const Gate = Type.Object({
  gate: Type.Enum([...GATES]),
  verdict: Type.Enum(["pass", "hold", "drop", "not_judged"]),
  /** A sentence for a person. */
  detail: Type.String(),
  values: Json,
  until: Nullable(IsoTime),
});
export type Gate = Static<typeof Gate>;

/** Why a lead has not been called yet. `eligible`: the next pass of the scheduler claims it. */
export const Explanation = Type.Object({
  lead_id: Uuid,
  at: IsoTime,
  status: Type.Enum([...LEAD_STATUSES]),
  eligible: Type.Boolean(),
  /** The first instant at which, as things stand, every gate passes; null: a person must act first, or the lead will not be called. */
  next_eligible_at: Nullable(IsoTime),
  summary: Type.String(),
  gates: Type.Array(Gate),
});
export type Explanation = Static<typeof Explanation>;
