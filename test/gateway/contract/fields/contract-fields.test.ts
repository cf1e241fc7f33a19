import { finishedFacts } from "../../fixtures/finished-facts.ts";
import { CONFIGURATION, FieldStage, HOOK, OPTIONAL, PHONE } from "../../fixtures/field-stage.ts";
import { ADMIN, type Answer } from "../../fixtures/http-stage.ts";

/** Every field that the contract's sections 2 and 4 answer with or must have, over HTTP; each row names its line. States and options stand beside. */
const s = new FieldStage();
let finished = "";
/** Answers that rows look at, by name. */
const answers: Record<string, Answer> = {};

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

beforeAll(async () => {
  await s.start();
  const { http } = s;
  const { reseller_id, merchant_id } = http;
  const post = (path: string, body: object, token?: null) =>
    http.ask("POST", path, { body, ...(token === undefined ? {} : { token }) });
  finished = await s.finished();
  answers["number"] = s.number;
  answers["lead"] = await http.ask("GET", `/leads/${finished}`);
  answers["summaries"] = await http.ask("GET", "/leads/request/finished");
  answers["push"] = await s.push();
  answers["login"] = await post("/login", ADMIN, null);
  answers["s2s"] = await post("/s2s-token", { name: "erp", role: "merchant", reseller_id, merchant_id });
  answers["configuration"] = await post("/configurations", {
    template_id: await s.another(),
    ...CONFIGURATION,
    ...OPTIONAL,
  });
  answers["merchant"] = await post("/merchants", { name: "Shop", reseller_id, contact_email: "b@example.com" });
});
afterAll(() => s.http.stop());

/** A field by its path in an answer. */
const at = (name: string, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], answers[name]?.body); // prettier-ignore

const TEXT: unknown = expect.any(String);
const matching = (pattern: RegExp): unknown => expect.stringMatching(pattern);
type FieldRow = [line: string, answer: string, path: string, value: () => unknown];
const same = (value: unknown) => (): unknown => value;

const ANSWERED: FieldRow[] = [
  ["2.1 id", "lead", "id", () => finished],
  ["2.1 reseller_id", "lead", "reseller_id", () => s.http.reseller_id],
  ["2.1 merchant_id", "lead", "merchant_id", () => s.http.merchant_id],
  ["2.1 template, the name", "lead", "template", same("reminder")],
  ["2.1 request_id", "lead", "request_id", same("finished")],
  ["2.1 status", "lead", "status", same("FINISHED")],
  ["2.1 outcome", "lead", "outcome", same("confirmed")],
  ["2.1 attempt_count", "lead", "attempt_count", same(1)],
  ["2.1 call_id", "lead", "call_id", same("CA1")],
  ["2.1 call_initiated_time", "lead", "call_initiated_time", same(matching(ISO))],
  ["2.1 call_end_time", "lead", "call_end_time", same(matching(ISO))],
  ["2.1 recording_url", "lead", "recording_url", same(matching(/^https:\/\/.*\/leads\/recording\/CA1$/))],
  ["2.1 cost", "lead", "cost", same(0.014)],
  ["2.1 execution_mode", "lead", "execution_mode", same("TELEPHONY")],
  ["2.1 call_direction", "lead", "call_direction", same("OUTBOUND")],
  ["2.1 outbound_number_id", "lead", "outbound_number_id", () => s.number.body["id"]],
  ["2.1 trace_scores", "lead", "trace_scores", same({ politeness: 9 })],
  ["2.1 payload, its number", "lead", "payload.customer_mobile_number", same(PHONE)],
  ["2.1 payload, its webhook address", "lead", "payload.reporting_webhook_url", same(HOOK)],
  ["2.1 created_at", "lead", "created_at", same(matching(ISO))],
  ["2.1 updated_at", "lead", "updated_at", same(matching(ISO))],
  ["2.2 transcription", "lead", "metaData.transcription", () => finishedFacts.talk?.transcription],
  ["2.2 call_ended_by", "lead", "metaData.call_ended_by", same("agent")],
  ["2.2 node_traversal", "lead", "metaData.node_traversal", same(["hello"])],
  ["2.2 errors, empty on a clean run", "lead", "metaData.errors", same([])],
  ["2.2 pre_check_results", "lead", "metaData.pre_check_results", same([{ name: "stock", status: "passed" }])],
  ["2.3 id", "summaries", "leads.0.id", () => finished],
  ["2.3 reseller_id", "summaries", "leads.0.reseller_id", () => s.http.reseller_id],
  ["2.3 merchant_id", "summaries", "leads.0.merchant_id", () => s.http.merchant_id],
  ["2.3 template", "summaries", "leads.0.template", same("reminder")],
  ["2.3 request_id", "summaries", "leads.0.request_id", same("finished")],
  ["2.3 status", "summaries", "leads.0.status", same("FINISHED")],
  ["2.3 outcome", "summaries", "leads.0.outcome", same("confirmed")],
  ["2.3 attempt_count", "summaries", "leads.0.attempt_count", same(1)],
  ["2.5 phone_number", "number", "phone_number", same("+14155550100")],
  ["2.5 provider", "number", "provider", same("PROVIDER_ONE")],
  ["2.5 status", "number", "status", same("AVAILABLE")],
  ["2.5 channel", "number", "channel", same("voice")],
  ["2.6 name", "merchant", "name", same("Shop")],
  ["2.6 reseller_id", "merchant", "reseller_id", () => s.http.reseller_id],
  ["2.6 contact_email", "merchant", "contact_email", same("b@example.com")],
  ["2.7 id", "login", "user.id", same(TEXT)],
  ["2.7 email", "login", "user.email", same(ADMIN.email)],
  ["2.7 role", "login", "user.role", same("admin")],
  ["2.7 reseller_id", "login", "user.reseller_id", same(null)],
  ["2.8 id", "configuration", "id", same(matching(UUID))],
  ["2.8 reseller_id", "configuration", "reseller_id", () => s.http.reseller_id],
  ["2.8 merchant_id", "configuration", "merchant_id", () => s.http.merchant_id],
  ["2.8 template", "configuration", "template", same("reminder")],
  ["2.8 created_at", "configuration", "created_at", same(matching(ISO))],
  ...Object.entries({ ...CONFIGURATION, ...OPTIONAL })
    .filter(([name]) => name !== "pre_checks")
    .map(([name, value]): FieldRow => [`2.8 ${name}`, "configuration", name, same(value)]),
  ...Object.entries(OPTIONAL.pre_checks[0] ?? {}).map(([name, value]): FieldRow => [
    `2.8 pre_checks[].${name}`,
    "configuration",
    `pre_checks.0.${name}`,
    same(value),
  ]),
  ["4.1 access_token", "login", "access_token", same(matching(/^[\w-]+\.[\w-]+\.[\w-]+$/))],
  ["4.1 token_type", "login", "token_type", same("bearer")],
  ["4.1 token", "s2s", "token", same(TEXT)],
  ["4.1 name", "s2s", "name", same("erp")],
  ["4.1 role", "s2s", "role", same("merchant")],
  ["4.1 reseller_id", "s2s", "reseller_id", () => s.http.reseller_id],
  ["4.1 merchant_id", "s2s", "merchant_id", () => s.http.merchant_id],
  ["4.1 created_at", "s2s", "created_at", same(matching(ISO))],
  ["4.2 status", "push", "status", same("queued")],
  ["4.2 lead_call_tracker_id", "push", "lead_call_tracker_id", same(matching(UUID))],
  ["4.2 order_id", "push", "order_id", same("order-1")],
  ["4.2 message", "push", "message", same(TEXT)],
  ["4.2 request_id", "summaries", "request_id", same("finished")],
  ["4.2 count", "summaries", "count", same(1)],
];

test.each(ANSWERED)("%s is answered", (_line, answer, path, value) => {
  expect(answers[answer]?.status).toBeLessThan(300);
  expect(at(answer, path)).toEqual(value());
});

describe("what a request must have", () => {
  const without = (body: Record<string, unknown>, field: string) =>
    Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
  const MERCHANT = () => ({ name: "x", reseller_id: s.http.reseller_id, contact_email: "a@example.com" });
  const TOKEN = () => ({ name: "x", role: "user", reseller_id: s.http.reseller_id, merchant_id: s.http.merchant_id });
  const NUMBER = () => ({ phone_number: "+14155550101", provider: "PROVIDER_ONE" });
  const REQUESTS: [section: string, path: string, body: () => Record<string, unknown>, status: number, fields: string[]][] = [
    ["2.8", "/configurations", () => ({ template_id: s.template, ...CONFIGURATION }), 400, ["template_id", ...Object.keys(CONFIGURATION)]],
    ["4.1", "/login", () => ({ ...ADMIN }), 422, ["email", "password"]],
    ["4.1", "/s2s-token", TOKEN, 422, ["name", "role", "reseller_id", "merchant_id"]],
    ["4.2", "/leads", () => s.lead(), 400, ["request_id", "template_id", "payload", "reseller_id", "merchant_id"]],
    ["4.2", "/lead/abort", () => ({ leads: [] }), 400, ["leads"]],
    ["4.3", "/numbers", NUMBER, 400, ["phone_number", "provider"]],
    ["4.4", "/merchants", MERCHANT, 400, ["name", "reseller_id", "contact_email"]],
    ["4.5", "/blacklist", () => ({ phone_numbers: ["+14155550166"] }), 400, ["phone_numbers"]],
  ]; // prettier-ignore
  test.each(REQUESTS.flatMap(([section, path, body, status, fields]) =>
    fields.map((field) => [`${section} POST ${path}`, field, path, body, status] as const),
  ))("%s: %s", async (_line, field, path, body, status) => {
    const answer = await s.http.ask("POST", path, { body: without(body(), field), ...(path === "/login" ? { token: null } : {}) });
    expect([answer.status, (answer.body["errors"] as { path: string }[]).map((e) => e.path)]).toEqual([status, [field]]);
  }); // prettier-ignore
});
