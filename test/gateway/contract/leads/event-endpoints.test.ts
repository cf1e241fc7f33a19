import config from "../../../../services/config/config.service.ts";
import blacklist from "../../../../services/blacklist/blacklist.service.ts";
import leads from "../../../../services/leads/leads.service.ts";
import webhook from "../../../../services/webhook/webhook.service.ts";
import { until } from "../../../../local/harness/stage.ts";
import { createdId, reminderTemplate, setHttpStage, type HttpStage } from "../../fixtures/http-stage.ts";

let http: HttpStage;
/** Two tenants: that of the tokens, and another. */
const mine = { reseller_id: "", merchant_id: "", template: "", lead: "" };
const theirs = { reseller_id: "", merchant_id: "", template: "", lead: "" };

async function push(tenant: typeof mine): Promise<string> {
  return createdId(
    http,
    "/leads",
    {
      request_id: "events-1",
      template_id: tenant.template,
      reseller_id: tenant.reseller_id,
      merchant_id: tenant.merchant_id,
      payload: { customer_mobile_number: "+14155550123" },
    },
    "lead_call_tracker_id",
  );
}

interface Page {
  events: { cursor: string; event: { subject: string; type: string; reseller: string } }[];
  next_cursor: string;
}
const pageOf = async (token: string, path = "/events"): Promise<Page> =>
  (await http.ask("GET", path, { token })).body as unknown as Page;

beforeAll(async () => {
  http = await setHttpStage([config, blacklist, leads, webhook]);
  Object.assign(mine, { reseller_id: http.reseller_id, merchant_id: http.merchant_id });
  theirs.reseller_id = await createdId(http, "/resellers", { name: "Another" });
  theirs.merchant_id = await createdId(http, "/merchants", {
    name: "Another",
    reseller_id: theirs.reseller_id,
    contact_email: "b@example.com",
  });
  for (const tenant of [mine, theirs]) {
    tenant.template = await createdId(http, "/templates", reminderTemplate(tenant));
    tenant.lead = await push(tenant);
  }
  await until("both events", async () => (await pageOf(http.tokens.admin)).events.length === 2 || undefined);
});
afterAll(() => http.stop());

test.each([
  ["admin", true],
  ["reseller", false],
  ["merchant", false],
  ["user", false],
] as const)("a token of role %s sees another tenant's events: %s", async (role, sees) => {
  const token = http.tokens[role];
  const subjects = (await pageOf(token)).events.map(({ event }) => event.subject);
  expect(subjects.includes(mine.lead)).toBe(true);
  expect(subjects.includes(theirs.lead)).toBe(sees);
  expect((await http.ask("GET", `/leads/${mine.lead}/events`, { token })).status).toBe(200);
  expect((await http.ask("GET", `/leads/${theirs.lead}/events`, { token })).status).toBe(sees ? 200 : 404);

  const cut = new AbortController();
  const headers = { accept: "text/event-stream", authorization: `Bearer ${token}` };
  const stream = await fetch(`${http.base}/events`, { headers, signal: cut.signal });
  let text = "";
  const reading = (async () => {
    for await (const some of stream.body!.pipeThrough(new TextDecoderStream())) text += some;
  })().catch(() => undefined);
  const after = await push(mine);
  await until("the new lead on the stream", () => text.includes(after) || undefined);
  cut.abort();
  await reading;
  expect(text.includes(theirs.lead)).toBe(sees);
});

test("a lead's events are read from a cursor on, as a page and as a stream with Last-Event-ID", async () => {
  const token = http.tokens.merchant;
  const path = `/leads/${mine.lead}/events`;
  await http.ask("POST", "/lead/abort", { token, body: { leads: [{ lead_id: mine.lead, cancellation_reason: "r" }] } });
  const types = async (query = "") => (await pageOf(token, `${path}${query}`)).events.map(({ event }) => event.type);
  await until("the end of the lead", async () => (await types()).includes("lead.finished") || undefined);
  expect(await types()).toEqual(["lead.queued", "lead.aborted", "lead.finished"]);
  const cursors = (await pageOf(token, path)).events.map(({ cursor }) => cursor);
  expect(await types(`?after=${cursors[0]}&limit=1`)).toEqual(["lead.aborted"]);
  const cut = new AbortController();
  const headers = { accept: "text/event-stream", authorization: `Bearer ${token}`, "last-event-id": cursors[1] ?? "" };
  const stream = await fetch(`${http.base}${path}`, { headers, signal: cut.signal });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = await reader.read();
  cut.abort();
  expect(value).toMatch(/^retry: 2000\n\nid: [\w-]+\ndata: \{.*"type":"lead\.finished".*\}\n\n$/);
  expect(value).toContain(`id: ${cursors[2]}\n`);
});

test("a cursor that nobody gave out is refused", async () => {
  const answer = await http.ask("GET", "/events?after=x");
  expect([answer.status, answer.body["code"]]).toEqual([400, "VALIDATION_FAILED"]);
});
