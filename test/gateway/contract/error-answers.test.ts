import { randomUUID } from "node:crypto";
import { accessAndLeadErrors } from "../fixtures/access-and-lead-errors.ts";
import { ErrorStage } from "../fixtures/error-stage.ts";
import { setHttpStage } from "../fixtures/http-stage.ts";
import { resourceErrors } from "../fixtures/resource-errors.ts";

/** Every documented error answer: an endpoint, a status and its cause, with the requests that get it. */
const s = new ErrorStage();
beforeAll(() => s.start());
afterAll(() => s.http.stop());

describe.each([...accessAndLeadErrors(s), ...resourceErrors(s)])("%s | %i | %s", (_endpoint, status, _cause, cases) => {
  test.each(cases.map((c) => [c.why, c] as const))("%s", async (_why, { ask, code }) => {
    const answer = await ask();
    expect([answer.status, answer.body["code"]]).toEqual([status, code]);
    expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
    expect(answer.body).toMatchObject({
      type: expect.any(String),
      title: expect.any(String),
      status,
      detail: expect.any(String),
      request_id: answer.headers.get("x-request-id"),
    });
    expect(answer.text).not.toMatch(/mongo|moleculer|at .*\.ts|stack/i);
  });
});

describe("POST /leads | 500 | Database write failed; the lead is not queued; retry.", () => {
  test("the store refuses the write", async () => {
    const down = await setHttpStage();
    down.script["leads.push"] = () => {
      throw Object.assign(new Error("x"), { name: "MongoNetworkError" });
    };
    try {
      const answer = await down.ask("POST", "/leads", { body: { ...s.lead(), reseller_id: down.reseller_id } });
      expect([answer.status, answer.body["code"]]).toEqual([500, "STORE_UNAVAILABLE"]);
    } finally {
      await down.stop();
    }
  });
});

describe("POST /lead/abort | 200 | Always; failures are per-lead statuses.", () => {
  test("an unknown lead", async () => {
    const answer = await s.post("/lead/abort", {
      leads: [
        { lead_id: randomUUID(), cancellation_reason: "x" },
        { lead_id: "nonsense", cancellation_reason: "x" },
      ],
    });
    expect([answer.status, (answer.body["leads"] as { status: string }[]).map((l) => l.status)]).toEqual([
      200,
      ["error", "error"],
    ]);
  });
});

test("a refused request changes nothing", async () => {
  expect((await s.http.ask("GET", "/leads?limit=500&include_test=true")).body["count"]).toBe(0);
  expect((await s.http.ask("GET", `/configurations/${s.configuration}`)).body).toMatchObject({
    max_retry: 1,
    call_start_time: "09:00",
    call_end_time: "18:00",
    retry_offset: 60,
  });
  expect((await s.http.ask("GET", `/numbers/${s.number}`)).body).toMatchObject({
    phone_number: "+14155550100",
    status: "AVAILABLE",
    channel: "voice",
  });
});
