import { randomUUID } from "node:crypto";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import { GATES } from "../../../shared/contracts/records/explanation.ts";
import { setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** GET /leads/{lead_id}/explain with the scheduler itself; the template's calling is switched off, so that nothing is dialled. */
let http: HttpStage;
let lead = "";
let foreign = "";
const made = async (path: string, body: object): Promise<string> => {
  const answer = await http.ask("POST", path, { body });
  if (answer.status >= 300) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return String(answer.body["id"] ?? answer.body["lead_call_tracker_id"]);
};
const world = async (reseller_id: string, merchant_id: string, settings: object = {}): Promise<string> => {
  const template_id = await made("/templates", {
    reseller_id,
    merchant_id,
    name: "reminder",
    initial_node: "hello",
    variables: ["customer_name"],
    nodes: [
      {
        name: "hello",
        prompt: "Greet {{customer_name}}.",
        functions: [{ name: "confirm", description: "It suits.", outcome: "confirmed", action: "end_call" }],
      },
    ],
  });
  await made("/configurations", {
    template_id,
    initial_offset: 0,
    retry_offset: 60,
    respect_callee_timezone: false,
    call_start_time: "09:00",
    call_end_time: "18:00",
    timezone: "UTC",
    max_retry: 1,
    calling_provider: "PROVIDER_ONE",
    enable_calling: false,
    ...settings,
  });
  return made("/leads", {
    request_id: "order-1",
    template_id,
    reseller_id,
    merchant_id,
    payload: { customer_name: "Ada", customer_mobile_number: "+14155550123" },
  });
};

beforeAll(async () => {
  http = await setHttpStage([blacklist, config, leads, numbers, scheduler], {}, { SWEEP_INTERVAL_MS: "60000" });
  lead = await world(http.reseller_id, http.merchant_id);
  const reseller_id = await made("/resellers", { name: "Other" });
  foreign = await world(
    reseller_id,
    await made("/merchants", { name: "Foreign", reseller_id, contact_email: "f@example.com" }),
  );
});
afterAll(async () => {
  await http.stop();
});

const code = (a: Answer) => [a.status, a.body["code"]];
const explain = (id: string, query = "", token = http.tokens.user) =>
  http.ask("GET", `/leads/${id}/explain${query}`, { token });
const gate = (a: Answer, name: string) =>
  (a.body["gates"] as { gate: string; verdict: string; detail: string; until: string | null }[]).find(
    (g) => g.gate === name,
  );

describe("GET /leads/{lead_id}/explain", () => {
  test.each(["admin", "reseller", "merchant", "user"] as const)(
    "every gate in its order, for an asker of role %s",
    async (role) => {
      const answer = await explain(lead, "", http.tokens[role]);
      expect(answer.status).toBe(200);
      expect(answer.body).toMatchObject({ lead_id: lead, status: "BACKLOG", eligible: false, next_eligible_at: null });
      expect((answer.body["gates"] as { gate: string }[]).map((g) => g.gate)).toEqual(GATES);
      expect(gate(answer, "calling_enabled")).toMatchObject({ verdict: "hold" });
      expect(answer.text).not.toContain("+14155550123");
    },
  );

  test("at another instant the window is judged for that instant", async () => {
    const date = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const [day, night] = [
      await explain(lead, `?at=${date(2)}T10:00:00Z`),
      await explain(lead, `?at=${date(2)}T23:00:00%2B01:00`),
    ];
    expect([day.body["at"], gate(day, "window")?.verdict]).toEqual([`${date(2)}T10:00:00.000Z`, "pass"]);
    expect([night.body["at"], gate(night, "window")]).toEqual([
      `${date(2)}T22:00:00.000Z`,
      expect.objectContaining({ verdict: "hold", until: `${date(3)}T09:00:00.000Z` }),
    ]);
  });

  test("where the callee's clock counts, explain says which clock held the lead", async () => {
    const abroad = { timezone: "Europe/Berlin", respect_callee_timezone: undefined };
    const id = await world(http.reseller_id, http.merchant_id, abroad);
    const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    const answer = await explain(id, `?at=${day}T11:00:00Z`);
    expect(gate(answer, "window")).toMatchObject({
      verdict: "hold",
      detail: expect.stringMatching(
        /^The calling window 09:00-18:00 America\/Los_Angeles, where the callee may be, is closed/,
      ),
      values: { clock: "callee", clock_zone: "America/Los_Angeles", callee_zones: ["America/Los_Angeles"] },
    });
  });

  test("at an instant after it expires it is dropped, and no later gate is judged", async () => {
    const later = await explain(lead, `?at=${new Date(Date.now() + 30 * 86_400_000).toISOString()}`);
    expect([gate(later, "expiry")?.verdict, gate(later, "window")?.verdict]).toEqual(["drop", "not_judged"]);
  });

  test("a pause of the merchant, and one of the deployment, are shown with their reason", async () => {
    await http.ask("POST", `/merchants/${http.merchant_id}/pause`, { body: { reason: "stock-taking" } });
    await http.ask("POST", "/deployment/pause", { body: { reason: "incident 7" } });
    const answer = await explain(lead);
    expect([gate(answer, "merchant"), gate(answer, "deployment")]).toEqual([
      expect.objectContaining({ verdict: "hold", detail: expect.stringContaining("stock-taking") }),
      expect.objectContaining({ verdict: "hold", detail: expect.stringContaining("incident 7") }),
    ]);
    await http.ask("POST", "/deployment/resume");
    await http.ask("POST", `/merchants/${http.merchant_id}/resume`);
    const after = await explain(lead);
    expect([gate(after, "merchant")?.verdict, gate(after, "deployment")?.verdict]).toEqual(["pass", "pass"]);
  });

  test.each(["tomorrow", "2027-01-05", "2027-13-45T00:00:00Z", "1767600000000", "2027-01-05T10:00:00"])(
    "at=%s is 400",
    async (at) => {
      const answer = await explain(lead, `?at=${encodeURIComponent(at)}`);
      expect([...code(answer), (answer.body["errors"] as { path: string }[])[0]?.path]).toEqual([
        400,
        "VALIDATION_FAILED",
        "at",
      ]);
    },
  );

  test.each(["?at=2027-01-05T10:00:00Z&at=2027-01-05T10:00:00Z", "?when=now", "?at[$gt]=1"])(
    "%s is 400",
    async (query) => {
      expect(code(await explain(lead, query))).toEqual([400, "VALIDATION_FAILED"]);
    },
  );

  test("a foreign lead, an unknown one and an invalid id read alike", async () => {
    for (const role of ["reseller", "merchant", "user"] as const) {
      const [theirs, nobodys, none] = [
        await explain(foreign, "", http.tokens[role]),
        await explain(randomUUID(), "", http.tokens[role]),
        await explain("x", "", http.tokens[role]),
      ];
      expect([code(theirs), theirs.body["detail"], none.body["detail"]]).toEqual([
        [404, "LEAD_NOT_FOUND"],
        nobodys.body["detail"],
        nobodys.body["detail"],
      ]);
    }
    expect((await explain(foreign, "", http.tokens.admin)).status).toBe(200);
  });
});
