import { randomUUID } from "node:crypto";
import { finishedFacts } from "../../fixtures/finished-facts.ts";
import { CONFIGURATION, FieldStage, OPTIONAL, PHONE } from "../../fixtures/field-stage.ts";
import { createdId } from "../../fixtures/http-stage.ts";

/** The contract's modes, states and options over HTTP (2.4, 3, 4.2 to 4.6); each test names its line. */
const s = new FieldStage();
beforeAll(() => s.start());
afterAll(() => s.http.stop());

describe("2.4 execution modes, 4.2 execution_mode", () => {
  test.each(["TELEPHONY", "TELEPHONY_TEST", "RTC", "RTC_TEST", "RTC_STREAM"])("%s is kept", async (execution_mode) => {
    expect((await s.read(await s.pushed({ execution_mode })))["execution_mode"]).toBe(execution_mode);
  });
  test.each(["TELEPHONY_TEST", "RTC_TEST"])("%s is out of the production list", async (execution_mode) => {
    const id = await s.pushed({ execution_mode });
    const list = async (query: string): Promise<string[]> =>
      ((await s.http.ask("GET", `/leads?limit=500${query}`)).body["leads"] as { id: string }[]).map((l) => l.id);
    expect([(await list("")).includes(id), (await list("&include_test=true")).includes(id)]).toEqual([false, true]);
  });
});

describe("3.1 lead status", () => {
  test("none to BACKLOG: a push; without customer_mobile_number too, and it stays with no error", async () => {
    expect((await s.read(await s.pushed()))["status"]).toBe("BACKLOG");
    const answer = await s.push({ payload: { customer_name: "Ada", customer_mobil_number: PHONE } });
    const stays = await s.read(String(answer.body["lead_call_tracker_id"]));
    expect([answer.status, stays["status"], stays["outcome"]]).toEqual([201, "BACKLOG", null]);
  });
  test("BACKLOG to PROCESSING to RETRY to PROCESSING to FINISHED; aborts by state", async () => {
    const id = await s.pushed();
    const first = await s.claimed(id);
    expect([(await s.read(id))["status"], await s.abort(id)]).toEqual(["PROCESSING", "processing"]);
    const failed = { ...finishedFacts, ended: "no_answer" as const, answered_at: null, talk: null };
    await s.http.stage.bus.call("leads.settle", { lead_id: id, claim_no: first, facts: failed });
    expect((await s.read(id))["status"]).toBe("RETRY");
    const second = await s.claimed(id);
    await s.http.stage.bus.call("leads.settle", { lead_id: id, claim_no: second, facts: failed });
    const over = await s.read(id);
    expect([over["status"], over["outcome"], over["attempt_count"], await s.abort(id)]).toEqual(["FINISHED", "no_answer", 2, "already_aborted"]); // prettier-ignore
  });
  test("BACKLOG and RETRY: an abort is success, of an unknown lead error", async () => {
    const [waiting, retried] = [await s.pushed(), await s.pushed()];
    const failed = { ...finishedFacts, ended: "busy" as const, answered_at: null, talk: null };
    const claim_no = await s.claimed(retried);
    await s.http.stage.bus.call("leads.settle", { lead_id: retried, claim_no, facts: failed });
    expect([await s.abort(waiting), await s.abort(retried), await s.abort(randomUUID())]).toEqual(["success", "success", "error"]); // prettier-ignore
    expect((await s.read(retried))["metaData"]).toMatchObject({ cancellation: { reason: "changed" } });
  });
});

test("3.2 outbound number status: AVAILABLE, IN_USE while a call has it, DISABLED", async () => {
  const id = await createdId(s.http, "/numbers", { phone_number: "+14155550188", provider: "PROVIDER_THREE" });
  const status = async () => (await s.http.ask("GET", `/numbers/${id}`)).body["status"];
  const before = await status();
  const holder = randomUUID();
  await s.http.stage.bus.call("numbers.reserveMany", {
    reseller_id: s.http.reseller_id,
    merchant_id: s.http.merchant_id,
    provider: "PROVIDER_THREE",
    lease_seconds: 60,
    same_country: false,
    wants: [{ to: PHONE, holder }],
  });
  const during = await status();
  await s.http.stage.bus.call("numbers.releaseMany", { holders: [holder] });
  await s.http.ask("PUT", `/numbers/${id}`, { body: { status: "DISABLED" } });
  expect([before, during, await status()]).toEqual(["AVAILABLE", "IN_USE", "DISABLED"]);
});

describe("4.2 what a push may have", () => {
  test("request_id is a tag: the same one twice makes two leads", async () => {
    await s.push({ request_id: "tag" });
    await s.push({ request_id: "tag" });
    expect((await s.http.ask("GET", "/leads/request/tag")).body["count"]).toBe(2);
  });
  test("is_playground keeps a lead out of analytics", async () => {
    const leadsOf = async () => (await s.http.ask("GET", "/analytics/summary")).body["leads"];
    const before = await leadsOf();
    await s.push({ is_playground: true });
    expect(await leadsOf()).toBe(before);
  });
  test("configurations_override counts with is_playground, and is ignored without", async () => {
    const override = { configurations_override: { enable_calling: false } };
    const gate = async (id: string): Promise<unknown> =>
      (await s.http.stage.bus.call("leads.overrideOf", { lead_id: id })).override;
    expect(await gate(await s.pushed({ is_playground: true, ...override }))).toEqual({ enable_calling: false });
    expect(await gate(await s.pushed(override))).toBeNull();
  });
});

describe("4.3 to 4.6: list, change, delete", () => {
  test("4.3 numbers", async () => {
    const id = await createdId(s.http, "/numbers", { phone_number: "+14155550189", provider: "PROVIDER_TWO" });
    const list = (await s.http.ask("GET", "/numbers")).body["numbers"] as { id: string }[];
    const changed = await s.http.ask("PUT", `/numbers/${id}`, { body: { channel: "sms" } });
    const gone = await s.http.ask("DELETE", `/numbers/${id}`);
    expect([list.some((n) => n.id === id), changed.status, changed.body["channel"], gone.status]).toEqual([true, 200, "sms", 204]); // prettier-ignore
  });
  test("4.4 merchants", async () => {
    const merchant = { name: "Shop", reseller_id: s.http.reseller_id, contact_email: "b@example.com" };
    const id = await createdId(s.http, "/merchants", merchant);
    const list = (await s.http.ask("GET", "/merchants")).body["merchants"] as { id: string }[];
    const changed = await s.http.ask("PUT", `/merchants/${id}`, { body: { name: "Shop two" } });
    const gone = await s.http.ask("DELETE", `/merchants/${id}`);
    expect([list.some((m) => m.id === id), changed.status, changed.body["name"], gone.status]).toEqual([true, 200, "Shop two", 204]); // prettier-ignore
  });
  test("4.5 blacklist: a listed number is refused with 403 at a push", async () => {
    const phone_numbers = ["+14155550167"];
    const added = await s.http.ask("POST", "/blacklist", { body: { phone_numbers } });
    const refused = await s.push({ payload: { customer_name: "Ada", customer_mobile_number: phone_numbers[0] } });
    const list = (await s.http.ask("GET", "/blacklist")).body["entries"] as { phone_number: string }[];
    const gone = await s.http.ask("DELETE", "/blacklist", { body: { phone_numbers } });
    expect([added.status, refused.status, list.map((e) => e.phone_number), gone.status]).toEqual([201, 403, phone_numbers, 204]); // prettier-ignore
  });
  test("4.6 configurations: filters, and a change of every field but template_id", async () => {
    const template_id = await s.another();
    const id = await createdId(s.http, "/configurations", { template_id, ...CONFIGURATION, ...OPTIONAL });
    const { reseller_id, merchant_id } = s.http;
    for (const query of [`template_id=${template_id}`, `reseller_id=${reseller_id}&merchant_id=${merchant_id}`]) {
      const found = (await s.http.ask("GET", `/configurations?${query}`)).body["configurations"] as { id: string }[];
      expect(found.map((c) => c.id)).toContain(id);
    }
    for (const [name, value] of Object.entries({ ...CONFIGURATION, ...OPTIONAL })) {
      const changed = await s.http.ask("PUT", `/configurations/${id}`, { body: { [name]: value } });
      expect([name, changed.status]).toEqual([name, 200]);
    }
    const refused = await s.http.ask("PUT", `/configurations/${id}`, { body: { template_id: s.template } });
    expect(refused.status).toBe(400);
  });
});
