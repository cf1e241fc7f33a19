/* The pure surface of the config service: what tools outside of the services may import. */
export { payloadCheck } from "./rules/payload-validation.ts";
export { templateIssues } from "./rules/template-validation.ts";
export { newRecord } from "./templates/template-records.ts";
