/* The pure surface of the scheduler: what tools outside of the services may import. */
export { admitLead, type Admission } from "./admission/admission.ts";
export type { GateInputs, LimitState, SlotAvailability } from "./admission/gates.ts";
export { rateLimitOf, toRateLimit } from "./limits/rules/rate-limits.ts";
export {
  layoutFor,
  permitsAt,
  windowMs,
  withLayout,
  type RateLimit,
  type WindowLog,
} from "./limits/rules/sliding-window.ts";
