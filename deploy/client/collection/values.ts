import { CALL_ID, SAMPLE, SECOND_PASSWORD } from "../../../services/gateway/docs/example-records.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";

/** Variables that a person fills in once, or that a request fills in for the ones after it. */
export const VARIABLES = {
  base: "The address of the API, with /agent/voice/callagent",
  email: "Your e-mail, for POST /login",
  password: "Your password, for POST /login",
  new_password: "Only for POST /password: the password from now on",
  token: "The access token; POST /login fills it in",
  reseller_id: "Whose the records are",
  merchant_id: "The merchant",
  template_id: "The template that leads are pushed with",
  lead_id: "The lead; POST /leads fills it in",
  call_id: "Its call, for the recording; GET /leads/{lead_id} fills it in",
  session_lead_id: "A lead that is joined from a browser; the second POST /leads fills it in",
  new_reseller_id: "What POST /resellers made",
  new_merchant_id: "What POST /merchants made",
  new_template_id: "What POST /templates made",
  new_token_id: "What POST /s2s-token made",
  new_user_id: "What POST /users made",
  new_configuration_id: "What POST /configurations made",
  new_door_id: "What POST /doors made",
  new_number_id: "What POST /numbers made",
  new_endpoint_id: "What POST /webhook-endpoints made",
  new_delivery_id: "A delivery of it; GET /webhook-endpoints/{id}/deliveries fills it in",
  new_erasure_id: "What POST /erasures made",
  new_legal_hold_id: "What POST /legal-holds made",
} as const;
/** Name of a variable. */
export type Variable = keyof typeof VARIABLES;
/** A variable as the format writes its use. */
export const use = (name: Variable): string => `{{${name}}}`;

/** What a request leaves for the ones after it: variable -> field of its answer. */
export const LEAVES: Readonly<Record<string, Partial<Record<Variable, string>>>> = {
  "POST /login": { token: "access_token" },
  "POST /password": { token: "access_token" },
  "POST /leads": { lead_id: "lead_call_tracker_id" },
  "GET /leads/{lead_id}": { call_id: "call_id" },
  "POST /resellers": { new_reseller_id: "id" },
  "POST /merchants": { new_merchant_id: "id" },
  "POST /templates": { new_template_id: "id" },
  "POST /s2s-token": { new_token_id: "id" },
  "POST /users": { new_user_id: "id" },
  "POST /configurations": { new_configuration_id: "id" },
  "POST /doors": { new_door_id: "id" },
  "POST /numbers": { new_number_id: "id" },
  "POST /webhook-endpoints": { new_endpoint_id: "id" },
  "GET /webhook-endpoints/{id}/deliveries": { new_delivery_id: "deliveries[0].id" },
  "POST /erasures": { new_erasure_id: "id" },
  "POST /legal-holds": { new_legal_hold_id: "id" },
};

/** What the documentation's own values are here. Records that only the collection's own requests make are those. */
const ALWAYS: readonly [string, string][] = [
  [SAMPLE.email, use("email")],
  [SAMPLE.password, use("password")],
  [SECOND_PASSWORD, use("new_password")],
  [SAMPLE.lead_id, use("lead_id")],
  [SAMPLE.finished_lead_id, use("lead_id")],
  [SAMPLE.session_lead_id, use("session_lead_id")],
  [SAMPLE.stream_lead_id, use("session_lead_id")],
  [CALL_ID, use("call_id")],
  [SAMPLE.s2s_token_id, use("new_token_id")],
  [SAMPLE.user_id, use("new_user_id")],
  [SAMPLE.configuration_id, use("new_configuration_id")],
  [SAMPLE.door_id, use("new_door_id")],
  [SAMPLE.number_id, use("new_number_id")],
  [SAMPLE.endpoint_id, use("new_endpoint_id")],
  [SAMPLE.endpoint_delivery_id, use("new_delivery_id")],
  [SAMPLE.erasure_id, use("new_erasure_id")],
  [SAMPLE.legal_hold_id, use("new_legal_hold_id")],
  // what was listed is taken off the list
  [SAMPLE.listed, SAMPLE.unlisted],
  // npm start has the documentation's number
  [SAMPLE.outbound, "+14155550190"],
];
const OWN: ReadonlyMap<unknown, string> = new Map([
  ...ALWAYS,
  [SAMPLE.reseller_id, use("reseller_id")],
  [SAMPLE.merchant_id, use("merchant_id")],
  [SAMPLE.template_id, use("template_id")],
]);
/** A merchant that was made here, of the person's reseller. */
const NEW: ReadonlyMap<unknown, string> = new Map([
  ...OWN,
  [SAMPLE.merchant_id, use("new_merchant_id")],
  [SAMPLE.template_id, use("new_template_id")],
]);
const NEW_RESELLER: ReadonlyMap<unknown, string> = new Map([...NEW, [SAMPLE.reseller_id, use("new_reseller_id")]]);

/** Requests that change more than they make, beside PUT and DELETE. */
const CHANGING = new Set([
  "POST /merchants/{id}/pause",
  "POST /merchants/{id}/resume",
  "POST /configurations",
  "POST /leads/resume",
  "POST /webhook-secret/rotate",
]);
const OF_NEW_RESELLER = new Set([
  "PUT /resellers/{id}",
  "DELETE /resellers/{id}",
  "POST /numbers",
  "POST /erasures",
  "POST /legal-holds",
  "PUT /retention",
  "POST /retention/dry-run",
]);

/** Query parameters that are on though they need not be given: a deletion is narrowed by the first, an admin is asked for the second. */
const ON = new Set(["DELETE /secrets/{name} merchant_id", "GET /retention reseller_id"]);
/** Whether a query parameter is on. */
export const isOn = ({ method, path }: Pick<Row, "method" | "path">, name: string): boolean =>
  ON.has(`${method} ${path} ${name}`);

/** The values of a row's request: nothing of the person's is changed or deleted, only what the collection made. */
export function valuesOf(row: Pick<Row, "method" | "path">): ReadonlyMap<unknown, string> {
  const name = `${row.method} ${row.path}`;
  if (OF_NEW_RESELLER.has(name)) return NEW_RESELLER;
  return row.method === "PUT" || row.method === "DELETE" || CHANGING.has(name) ? NEW : OWN;
}
