import { described, IsoTime, Json, named, Nullable, Type, Uuid, valued, type Static } from "../define.ts";
import { Warnings } from "./identity.ts";
import { LeadStatusEnum } from "./lead.ts";

/** The gates of admission in the order in which they are judged. */
export const GATES = [
  "status",
  "phone_number",
  "template",
  "expiry",
  "parked",
  "due",
  "former_call_open",
  "callee_busy",
  "callee_capped",
  "deployment",
  "merchant",
  "spend_ceiling",
  "template_active",
  "configuration",
  "calling_enabled",
  "window",
  "blacklist",
  "international",
  "line",
  "rate_limit",
  "carrier_limit",
] as const;
export type GateName = (typeof GATES)[number];
/** What lets a lead through each of them. */
const GATE_MEANINGS: Record<GateName, string> = {
  status: "The lead waits in BACKLOG or RETRY.",
  phone_number: "It has a number to dial and a mode that the scheduler dials.",
  template: "Its template exists.",
  expiry: "It is younger than the template's max_age_seconds.",
  parked: "No technical fault keeps it from being dialled again and again, or it is time to try once more.",
  due: "Its due time has come.",
  former_call_open: "No former call to its number may still be live.",
  callee_busy: "No other call of its tenant with its number is under way.",
  callee_capped: "Its merchant's cap on calls per callee has room.",
  deployment: "The deployment is not paused.",
  merchant: "Its merchant is not paused.",
  spend_ceiling: "The spend ceilings of its merchant and reseller have room for its worst case.",
  template_active: "Its template is switched on.",
  configuration: "Its template has a configuration.",
  calling_enabled: "The configuration's enable_calling.",
  window: "The calling window is open, long enough to ring.",
  blacklist: "The number is not on the blacklist, or the blacklist is not enforced.",
  international: "A number in the callee's country exists, where international calls are off.",
  line: "A slot of a usable number is free.",
  rate_limit: "The configuration's rate limit has room.",
  carrier_limit: "The carrier account's calls per second have room, and the carrier takes calls.",
};
/** Why the dialer put a lead off whose number a former call may still be live to; the name of its gate. */
export const FORMER_CALL_OPEN = "former_call_open" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose callee is in another call of the same tenant; the name of its gate. */
export const CALLEE_BUSY = "callee_busy" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose callee its merchant has called often enough for now; the name of its gate. */
export const CALLEE_CAPPED = "callee_capped" satisfies (typeof GATES)[number];
/** Why the dialer put a lead off whose call does not fit under a spend ceiling; the name of its gate. */
export const SPEND_CEILING = "spend_ceiling" satisfies (typeof GATES)[number];

/** One gate's verdict. */
export const Gate = named(
  "GateVerdict",
  "The verdict of one gate of admission.",
  Type.Object({
    gate: named("GateName", "A gate of admission, and what lets a lead through it.", valued(GATES, GATE_MEANINGS)),
    verdict: valued(["pass", "hold", "drop", "not_judged"], {
      pass: "It lets the lead through.",
      hold: "The lead waits.",
      drop: "The lead ends without a call.",
      not_judged: "It can not or need not be judged; detail says why.",
    }),
    detail: described("A sentence for a person.", Type.String()),
    values: described("The figures behind the verdict; they depend on the gate.", Json),
    until: described(
      "From when it may let the lead through; null: it does already, or the time is unknown.",
      Nullable(IsoTime),
    ),
  }),
);
export type Gate = Static<typeof Gate>;

/** Why a lead has not been called yet. */
export const Explanation = named(
  "Explanation",
  "Why a lead has not been called yet: every gate as the scheduler judges it.",
  Type.Object({
    lead_id: described("Id of the lead.", Uuid),
    at: described("The instant that this is judged for.", IsoTime),
    status: LeadStatusEnum,
    eligible: described("true: the next pass of the scheduler claims the lead.", Type.Boolean()),
    next_eligible_at: described(
      "The first instant at which, as things stand, every gate passes; null: a person must act first, or the lead will not be called.",
      Nullable(IsoTime),
    ),
    summary: described("The answer in a sentence.", Type.String()),
    gates: described("Every gate, in the order in which they are judged.", Type.Array(Gate)),
    warnings: Type.Optional(
      described(
        "What will not work in its call, by its template and configuration. Absent: nothing is known.",
        Warnings,
      ),
    ),
  }),
);
export type Explanation = Static<typeof Explanation>;
