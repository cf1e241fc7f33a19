/* The pure surface of the leads service: what tools outside of the services may import. */
export { outcomeOf } from "./rules/outcomes.ts";
export { settle } from "./rules/settlement.ts";
