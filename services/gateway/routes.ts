import type { ActionName, ParamsOf } from "../../shared/bus.ts";
import type { Role } from "../../shared/contracts/identity.ts";
import type { ErrorCode } from "../../shared/errors.ts";
import type { Answering } from "./http-errors.ts";

export { BASE_PATH } from "../../shared/base-path.ts";

/** The parts of the API, in the order of the documentation. */
export const TAGS = {
  Authentication: "Access tokens for people (log-in, minutes) and for programs (server-to-server, months), and their revocation.",
  Users: "People who log in, each with a role inside a reseller or merchant.",
  Audit: "Who did what and when.",
  "Resellers and merchants": "The tenants: a reseller has merchants, a merchant has templates and leads.",
  Deployment: "The switch for all calling, for the operator of the deployment.",
  Templates: "What is said in a call: nodes, functions, variables and limits. Every save is a new version.",
  Configurations: "When and how a template's leads are called: window, retries, rate limit, provider, inbound rules, pre-checks.",
  "Outbound numbers": "The numbers that calls come from.",
  Blacklist: "Numbers that must not be called.",
  "Inbound calls": "Calls of people to your numbers: which were taken, which were blocked, and why.",
  Leads: "Requests to call somebody: push them, follow them, abort them.",
  Recordings: "What was said, as audio.",
  Analytics: "Sums over leads.",
  Webhooks: "The reports of finished leads on their way to you, and the secret that signs them.",
} as const;
export type Tag = keyof typeof TAGS;

/** One endpoint. Who asks goes into `by` where the action takes it; names in `{}` of the path become parameters of the same name. */
export interface Row {
  method: "GET" | "POST" | "PUT" | "DELETE";
  /** Below BASE_PATH, with `{name}` for path parameters. */
  path: string;
  /** The action that answers; what it takes and gives is the contract's. */
  action: ActionName;
  /** Asked first, with the path's parameters: its failure is the answer. For actions that leave the scope to the owner of the thing. */
  guard?: ActionName;
  roles: "public" | readonly Role[];
  /** 204: what the action gives is not sent. Of any other answer a boolean `replayed` goes into the header Idempotency-Replayed instead of the body. */
  success: 200 | 201 | 204;
  /** "*": the body's fields are the parameters; a name: the whole body is that parameter. Absent: no body. */
  body?: string;
  /** The parameter that `body` names is a list: it comes as lines or as an array, is handed over in batches, and `results` is streamed back (bulk.ts). One item is what `row` of this action's parameters is. */
  bulk?: { action: ActionName; row: string };
  /** The answer is a file of one of these content types, read where the action says it is (recordings.ts); parts of it can be asked for. */
  download?: readonly string[];
  /** Query parameters. */
  query?: readonly string[];
  /** Request headers (lower case) -> the parameter each becomes; a header that is absent gives none. */
  headers?: Readonly<Record<string, string>>;
  /** Name in the documentation; default the action's. For an action that two rows use. */
  operation?: string;
  /** How invalid input is answered (http-errors.ts). */
  answers: Answering;
  tag: Tag;
  summary: string;
  /** Failures of its own, beside those every endpoint of its kind has. */
  errors?: readonly ErrorCode[];
}

type Keys<N extends ActionName> = Exclude<keyof ParamsOf<N> & string, "by">;
type RowOf<N extends ActionName> = Row & { action: N; body?: "*" | Keys<N>; query?: readonly Keys<N>[]; headers?: Readonly<Record<string, Keys<N>>> };

/** Makes the compiler check a row's names against its action. */
const row = <N extends ActionName>(r: RowOf<N>): Row => r;

const ALL: readonly Role[] = ["admin", "reseller", "merchant", "user"];
const WRITERS: readonly Role[] = ["admin", "reseller", "merchant"];
const OWNERS: readonly Role[] = ["admin", "reseller"];
const ADMIN: readonly Role[] = ["admin"];

/** The whole API, and with it the role matrix. The order is that of the documentation. */
export const ROUTES: readonly Row[] = [
  row({ method: "POST", path: "/login", action: "auth.login", roles: "public", success: 200, body: "*", answers: "unprocessable", tag: "Authentication",
    summary: "Exchange e-mail and password for a short-lived access token", errors: ["INVALID_CREDENTIALS", "RATE_LIMITED", "BUSY"] }),
  row({ method: "POST", path: "/s2s-token", action: "auth.issueS2s", roles: OWNERS, success: 200, body: "*", answers: "unprocessable", tag: "Authentication",
    summary: "Issue a long-lived token for a backend; it is shown this once", errors: ["RESELLER_UNKNOWN"] }),
  row({ method: "GET", path: "/s2s-tokens", action: "auth.listS2s", roles: OWNERS, success: 200, query: ["role", "reseller_id", "merchant_id", "limit", "cursor"], answers: "plain",
    tag: "Authentication", summary: "List the tokens of your scope: prefix, name and last use, never the token itself" }),
  row({ method: "DELETE", path: "/s2s-tokens/{id}", action: "auth.revokeS2s", roles: OWNERS, success: 204, answers: "plain", tag: "Authentication",
    summary: "Revoke a token; within five seconds it is nobody's, on every node", errors: ["TOKEN_NOT_FOUND"] }),

  row({ method: "POST", path: "/users", action: "auth.createUser", roles: OWNERS, success: 201, body: "*", answers: "plain", tag: "Users",
    summary: "Create a user; a reseller creates users of its own scope, never admins", errors: ["EMAIL_EXISTS", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "BUSY"] }),
  row({ method: "GET", path: "/users", action: "auth.listUsers", roles: OWNERS, success: 200, query: ["role", "email", "reseller_id", "merchant_id", "is_active", "limit", "cursor"],
    answers: "plain", tag: "Users", summary: "List the users of your scope" }),
  row({ method: "GET", path: "/users/{id}", action: "auth.getUser", roles: OWNERS, success: 200, answers: "plain", tag: "Users", summary: "Read a user", errors: ["USER_NOT_FOUND"] }),
  row({ method: "PUT", path: "/users/{id}", action: "auth.updateUser", roles: OWNERS, success: 200, body: "*", answers: "plain", tag: "Users",
    summary: "Change a user; a new password and switching off end the access tokens it holds",
    errors: ["USER_NOT_FOUND", "EMAIL_EXISTS", "RESOURCE_IN_USE", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "BUSY"] }),
  row({ method: "DELETE", path: "/users/{id}", action: "auth.deleteUser", roles: OWNERS, success: 204, answers: "plain", tag: "Users",
    summary: "Delete a user; the last active admin can't be deleted", errors: ["USER_NOT_FOUND", "RESOURCE_IN_USE", "BUSY"] }),
  row({ method: "GET", path: "/audit", action: "auth.listAudit", roles: OWNERS, success: 200, query: ["action", "subject", "reseller_id", "from", "to", "limit", "cursor"],
    answers: "plain", tag: "Audit", summary: "Read who did what: tokens, users, aborts, blacklist, configurations; a reseller sees what is its own" }),

  row({ method: "POST", path: "/resellers", action: "merchants.createReseller", roles: ADMIN, success: 201, body: "*", answers: "plain", tag: "Resellers and merchants",
    summary: "Create a reseller" }),
  row({ method: "GET", path: "/resellers", action: "merchants.listResellers", roles: OWNERS, success: 200, query: ["name", "is_active", "limit", "cursor"], answers: "plain",
    tag: "Resellers and merchants", summary: "List resellers, by the start of their name where one is given; a reseller sees itself" }),
  row({ method: "GET", path: "/resellers/{id}", action: "merchants.getReseller", roles: OWNERS, success: 200, answers: "plain", tag: "Resellers and merchants",
    summary: "Read a reseller", errors: ["RESELLER_NOT_FOUND"] }),
  row({ method: "PUT", path: "/resellers/{id}", action: "merchants.updateReseller", roles: ADMIN, success: 200, body: "*", answers: "plain", tag: "Resellers and merchants",
    summary: "Change a reseller; switched off, its users and tokens and those of its merchants stop working", errors: ["RESELLER_NOT_FOUND"] }),
  row({ method: "DELETE", path: "/resellers/{id}", action: "merchants.deleteReseller", roles: ADMIN, success: 204, answers: "plain", tag: "Resellers and merchants",
    summary: "Delete a reseller that has no merchants, templates or unfinished leads", errors: ["RESELLER_NOT_FOUND", "RESOURCE_IN_USE"] }),
  row({ method: "POST", path: "/merchants", action: "merchants.create", roles: OWNERS, success: 201, body: "*", answers: "plain", tag: "Resellers and merchants",
    summary: "Create a merchant under a reseller", errors: ["RESELLER_NOT_FOUND"] }),
  row({ method: "GET", path: "/merchants", action: "merchants.list", roles: ALL, success: 200, query: ["reseller_id", "name", "is_active", "limit", "cursor"], answers: "plain",
    tag: "Resellers and merchants", summary: "List the merchants of your scope, by the start of their name where one is given" }),
  row({ method: "GET", path: "/merchants/{id}", action: "merchants.get", roles: ALL, success: 200, answers: "plain", tag: "Resellers and merchants",
    summary: "Read a merchant", errors: ["MERCHANT_NOT_FOUND"] }),
  row({ method: "PUT", path: "/merchants/{id}", action: "merchants.update", roles: OWNERS, success: 200, body: "*", answers: "plain", tag: "Resellers and merchants",
    summary: "Change a merchant; switched off, its users and tokens stop working", errors: ["MERCHANT_NOT_FOUND"] }),
  row({ method: "DELETE", path: "/merchants/{id}", action: "merchants.remove", roles: OWNERS, success: 204, answers: "plain", tag: "Resellers and merchants",
    summary: "Delete a merchant that owns no templates and has no unfinished leads", errors: ["MERCHANT_NOT_FOUND", "RESOURCE_IN_USE"] }),
  row({ method: "POST", path: "/merchants/{id}/pause", action: "merchants.pause", roles: WRITERS, success: 200, body: "*", answers: "plain", tag: "Resellers and merchants",
    summary: "Stop calling for a merchant: its leads wait, calls under way go on; a second pause keeps the first", errors: ["MERCHANT_NOT_FOUND"] }),
  row({ method: "POST", path: "/merchants/{id}/resume", action: "merchants.resume", roles: WRITERS, success: 200, answers: "plain", tag: "Resellers and merchants",
    summary: "Call for a merchant again", errors: ["MERCHANT_NOT_FOUND"] }),

  row({ method: "GET", path: "/deployment", action: "merchants.deployment", roles: ADMIN, success: 200, answers: "plain", tag: "Deployment",
    summary: "Read whether all calling is paused, since when, by whom and why" }),
  row({ method: "POST", path: "/deployment/pause", action: "merchants.pauseDeployment", roles: ADMIN, success: 200, body: "*", answers: "plain", tag: "Deployment",
    summary: "Stop all calling: every lead waits, calls under way go on; a second pause keeps the first" }),
  row({ method: "POST", path: "/deployment/resume", action: "merchants.resumeDeployment", roles: ADMIN, success: 200, answers: "plain", tag: "Deployment",
    summary: "Call again; merchants that are paused themselves stay so" }),

  row({ method: "POST", path: "/templates", action: "config.createTemplate", roles: WRITERS, success: 201, body: "template", answers: "plain", tag: "Templates",
    summary: "Create a template: the flow of a conversation", errors: ["TEMPLATE_INVALID", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"] }),
  row({ method: "GET", path: "/templates", action: "config.listTemplates", roles: ALL, success: 200, query: ["name", "reseller_id", "merchant_id", "is_active", "limit", "cursor"],
    answers: "plain", tag: "Templates", summary: "List the templates of your scope; `name` is the beginning of the name, as it is written" }),
  row({ method: "GET", path: "/templates/{id}", action: "config.getTemplate", roles: ALL, success: 200, answers: "plain", tag: "Templates",
    summary: "Read a template in its newest version", errors: ["TEMPLATE_NOT_FOUND"] }),
  row({ method: "PUT", path: "/templates/{id}", action: "config.updateTemplate", roles: WRITERS, success: 200, body: "template", answers: "plain", tag: "Templates",
    summary: "Change a template: a new immutable version; a change of is_active alone makes none", errors: ["TEMPLATE_NOT_FOUND", "TEMPLATE_INVALID", "BUSY"] }),
  row({ method: "DELETE", path: "/templates/{id}", action: "config.deleteTemplate", roles: WRITERS, success: 204, answers: "plain", tag: "Templates",
    summary: "Delete a template and its configuration, once no lead of it is unfinished", errors: ["TEMPLATE_NOT_FOUND", "RESOURCE_IN_USE"] }),
  row({ method: "GET", path: "/templates/{id}/versions", action: "config.listVersions", roles: ALL, success: 200, query: ["limit", "cursor"], answers: "plain", tag: "Templates",
    summary: "List every version of a template, newest first", errors: ["TEMPLATE_NOT_FOUND"] }),

  row({ method: "POST", path: "/configurations", action: "config.createConfiguration", roles: WRITERS, success: 201, body: "configuration", answers: "plain",
    tag: "Configurations", summary: "Create the call execution configuration of a template", errors: ["TEMPLATE_NOT_FOUND", "CONFIGURATION_EXISTS", "WEBHOOK_ADDRESS_REFUSED"] }),
  row({ method: "GET", path: "/configurations", action: "config.listConfigurations", roles: ALL, success: 200,
    query: ["reseller_id", "template_id", "merchant_id", "limit", "cursor"], answers: "plain", tag: "Configurations", summary: "List the configurations of your scope" }),
  row({ method: "GET", path: "/configurations/{config_id}", action: "config.getConfiguration", roles: ALL, success: 200, answers: "plain", tag: "Configurations",
    summary: "Read a configuration in full, defaults filled in", errors: ["CONFIGURATION_NOT_FOUND"] }),
  row({ method: "PUT", path: "/configurations/{config_id}", action: "config.updateConfiguration", roles: WRITERS, success: 200, body: "configuration", answers: "plain",
    tag: "Configurations", summary: "Change a configuration; null gives a field its default back", errors: ["CONFIGURATION_NOT_FOUND", "BUSY", "WEBHOOK_ADDRESS_REFUSED"] }),
  row({ method: "DELETE", path: "/configurations/{config_id}", action: "config.deleteConfiguration", roles: WRITERS, success: 204, answers: "plain", tag: "Configurations",
    summary: "Delete a configuration; the template's leads wait until it has one again", errors: ["CONFIGURATION_NOT_FOUND"] }),

  row({ method: "POST", path: "/numbers", action: "numbers.create", roles: OWNERS, success: 201, body: "*", answers: "plain", tag: "Outbound numbers",
    summary: "Add an outbound number", errors: ["INVALID_PHONE_NUMBER", "NUMBER_EXISTS", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "TEMPLATE_NOT_FOUND"] }),
  row({ method: "GET", path: "/numbers", action: "numbers.list", roles: ALL, success: 200, answers: "plain",
    query: ["provider", "status", "phone_number", "reseller_id", "merchant_id", "limit", "cursor"], tag: "Outbound numbers", summary: "List the outbound numbers of your scope",
    errors: ["INVALID_PHONE_NUMBER"] }),
  row({ method: "GET", path: "/numbers/{number_id}", action: "numbers.get", roles: ALL, success: 200, answers: "plain", tag: "Outbound numbers",
    summary: "Read an outbound number", errors: ["NUMBER_NOT_FOUND"] }),
  row({ method: "PUT", path: "/numbers/{number_id}", action: "numbers.update", roles: OWNERS, success: 200, body: "number", query: ["force"], answers: "plain", tag: "Outbound numbers",
    summary: "Change an outbound number; disabling one in a call needs force=true, which lets live calls finish",
    errors: ["NUMBER_NOT_FOUND", "NUMBER_EXISTS", "RESOURCE_IN_USE", "RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND", "TEMPLATE_NOT_FOUND"] }),
  row({ method: "DELETE", path: "/numbers/{number_id}", action: "numbers.remove", roles: OWNERS, success: 204, query: ["force"], answers: "plain", tag: "Outbound numbers",
    summary: "Delete an outbound number; one in a call needs force=true, which lets live calls finish", errors: ["NUMBER_NOT_FOUND", "RESOURCE_IN_USE"] }),

  row({ method: "POST", path: "/blacklist", action: "blacklist.add", roles: OWNERS, success: 201, body: "*", answers: "plain", tag: "Blacklist",
    summary: "List phone numbers that must not be called", errors: ["INVALID_PHONE_NUMBER", "NUMBER_EXISTS", "RESELLER_NOT_FOUND"] }),
  row({ method: "GET", path: "/blacklist", action: "blacklist.list", roles: ALL, success: 200, query: ["phone_number", "limit", "cursor"], answers: "plain",
    tag: "Blacklist", summary: "List the numbers that must not be called", errors: ["INVALID_PHONE_NUMBER"] }),
  row({ method: "DELETE", path: "/blacklist", action: "blacklist.remove", roles: OWNERS, success: 204, body: "*", answers: "plain", tag: "Blacklist",
    summary: "Take phone numbers off the blacklist; the body names them", errors: ["INVALID_PHONE_NUMBER", "BLACKLIST_ENTRY_NOT_FOUND", "RESELLER_NOT_FOUND"] }),

  row({ method: "POST", path: "/leads", action: "leads.push", roles: ALL, success: 201, body: "lead", headers: { "idempotency-key": "idempotency_key" }, answers: "push", tag: "Leads",
    summary: "Push a lead: a request to call somebody. With an Idempotency-Key it is safe to repeat for 24 hours",
    errors: ["TEMPLATE_UNKNOWN", "TEMPLATE_NOT_FOUND", "TEMPLATE_INACTIVE", "PAYLOAD_INVALID", "INVALID_PHONE_NUMBER", "NUMBER_BLACKLISTED", "WEBHOOK_ADDRESS_REFUSED", "IDEMPOTENCY_KEY_REUSED"] }),
  row({ method: "POST", path: "/leads/bulk", action: "leads.pushMany", roles: ALL, success: 200, body: "rows", bulk: { action: "leads.push", row: "lead" },
    headers: { "idempotency-key": "idempotency_key" }, answers: "push", tag: "Leads", summary: "Push up to 10,000 leads, one JSON object per line or one array; each gets its own result, in order" }),
  row({ method: "GET", path: "/leads", action: "leads.list", roles: ALL, success: 200,
    query: ["status", "outcome", "template_id", "merchant_id", "mode", "from", "to", "phone", "include_test", "limit", "cursor"], answers: "plain", tag: "Leads",
    summary: "List the leads of your scope; playground and test leads only with include_test", errors: ["INVALID_PHONE_NUMBER"] }),
  row({ method: "GET", path: "/leads/request/{request_id}", action: "leads.byRequest", roles: ALL, success: 200, answers: "plain", tag: "Leads",
    summary: "Read every lead pushed with this request_id", errors: ["LEAD_NOT_FOUND"] }),
  row({ method: "GET", path: "/leads/{lead_id}", action: "leads.get", roles: ALL, success: 200, answers: "plain", tag: "Leads",
    summary: "Read a lead with its call, transcript and outcome", errors: ["LEAD_NOT_FOUND"] }),
  row({ method: "GET", path: "/leads/{lead_id}/timeline", action: "leads.timeline", roles: ALL, success: 200, answers: "plain", tag: "Leads",
    summary: "Read everything that was recorded of a lead, in order of time", errors: ["LEAD_NOT_FOUND"] }),
  row({ method: "GET", path: "/leads/{lead_id}/explain", action: "leads.explain", roles: ALL, success: 200, query: ["at"], answers: "plain", tag: "Leads",
    summary: "Why a lead has not been called yet: every gate as the scheduler judges it now, or at another instant, and when the lead may be called", errors: ["LEAD_NOT_FOUND"] }),
  row({ method: "GET", path: "/leads/{lead_id}/deliveries", action: "webhook.deliveries", guard: "leads.get", roles: ALL, success: 200, answers: "plain", tag: "Leads",
    summary: "Read the webhook deliveries of a lead and every try of them", errors: ["LEAD_NOT_FOUND"] }),
  row({ method: "POST", path: "/leads/{lead_id}/deliveries/replay", action: "webhook.replay", guard: "leads.get", roles: WRITERS, success: 200, answers: "plain", tag: "Leads",
    summary: "Send the report of a lead again, with the same webhook-id", errors: ["LEAD_NOT_FOUND", "DELIVERY_NOT_FOUND", "DELIVERY_PENDING"] }),
  row({ method: "POST", path: "/leads/{lead_id}/join", action: "leads.join", roles: ALL, success: 200, answers: "plain", tag: "Leads",
    summary: "Join the real-time session of a lead: not available in this version, answers 501", errors: ["LEAD_NOT_FOUND", "NOT_AVAILABLE"] }),
  row({ method: "POST", path: "/leads/{lead_id}/tts-speak", action: "leads.speak", roles: ALL, success: 200, body: "*", answers: "plain", tag: "Leads",
    summary: "Have a text spoken in an RTC_STREAM session: not available in this version, answers 501", errors: ["LEAD_NOT_FOUND", "NOT_AVAILABLE"] }),
  row({ method: "POST", path: "/lead/abort", action: "leads.abort", roles: ALL, success: 200, body: "*", answers: "plain", tag: "Leads",
    summary: "Abort leads that are not being called; each gets its own result" }),

  row({ method: "GET", path: "/leads/recording/{call_sid}", action: "leads.recording", roles: ALL, success: 200, answers: "plain", tag: "Recordings",
    download: ["audio/wav", "audio/mpeg"],
    summary: "Download the recording of a call by the call_id of its lead, whole or in part (Range)",
    errors: ["RECORDING_NOT_FOUND", "RECORDING_NOT_READY", "RANGE_NOT_SATISFIABLE", "RECORDING_FAILED", "BUSY"] }),
  row({ method: "GET", path: "/inbound-calls", action: "dialer.inboundCalls", roles: ALL, success: 200, query: ["merchant_id", "template_id", "verdict", "from", "to", "limit", "cursor"],
    answers: "plain", tag: "Inbound calls", summary: "List the calls to your numbers, newest first; blocked ones with the reason, taken ones with their lead" }),

  row({ method: "GET", path: "/analytics/summary", action: "leads.summary", roles: ALL, success: 200, query: ["from", "to", "template_id", "merchant_id"], answers: "plain", tag: "Analytics",
    summary: "Sum up the leads created in a period of at most 366 days; playground and test leads are left out" }),

  row({ method: "GET", path: "/deliveries", action: "webhook.list", roles: ALL, success: 200, query: ["state", "reseller_id", "merchant_id", "limit", "cursor"], answers: "plain", tag: "Webhooks",
    summary: "List the webhook deliveries of your scope with every try: those of one state (exhausted: given up after the last try), or all" }),
  row({ method: "GET", path: "/webhook-secret", action: "webhook.secret", roles: WRITERS, success: 200, query: ["reseller_id", "merchant_id"], answers: "plain", tag: "Webhooks",
    summary: "Read the secret that signs the webhooks of a merchant, or of a reseller", errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"] }),
  row({ method: "POST", path: "/webhook-secret/rotate", action: "webhook.rotateSecret", roles: WRITERS, success: 200, body: "*", answers: "plain", tag: "Webhooks",
    summary: "Make a new signing secret; the one before signs beside it for 24 hours", errors: ["RESELLER_NOT_FOUND", "MERCHANT_NOT_FOUND"] }),
];

/** Names of the path parameters, in order. */
export const pathNames = (path: string): string[] => [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = ""]) => name);

/** Rows in the order they must be tried: a fixed word goes before a parameter in the same place. */
export function inMatchingOrder(rows: readonly Row[]): Row[] {
  const key = (path: string): string => path.split("/").map((part) => (part.startsWith("{") ? "1" : "0")).join("");
  return [...rows].sort((a, b) => key(a.path).localeCompare(key(b.path)));
}
