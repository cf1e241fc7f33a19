import { randomUUID } from "node:crypto";
import { createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Pausing and resuming over HTTP: a merchant, and the deployment. */
let http: HttpStage;
let foreign = "";
beforeAll(async () => {
  http = await setHttpStage();
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  foreign = await createdId(http, "/merchants", { name: "Foreign", reseller_id, contact_email: "f@example.com" });
});
afterAll(async () => {
  await http.stop();
});

const code = (a: Answer) => [a.status, a.body["code"]];
const ISO = /^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/;
const audited = async (action: string) =>
  (
    (await http.ask("GET", `/audit?action=${action}`)).body["entries"] as {
      subject: string;
      details: object;
      by: object;
    }[]
  )[0];

describe("POST /merchants/{id}/pause and /resume", () => {
  const path = (deed: "pause" | "resume", id = http.merchant_id) => `/merchants/${id}/${deed}`;

  test.each(["admin", "reseller", "merchant"] as const)(
    "an asker of role %s pauses with a reason and resumes",
    async (role) => {
      const paused = await http.ask("POST", path("pause"), { token: http.tokens[role], body: { reason: "holiday" } });
      expect([paused.status, paused.body]).toEqual([
        200,
        expect.objectContaining({
          id: http.merchant_id,
          paused: { at: expect.stringMatching(ISO), by: expect.stringMatching(/^(user|s2s):/), reason: "holiday" },
        }),
      ]);
      expect(
        (await http.ask("GET", `/merchants/${http.merchant_id}`, { token: http.tokens.user })).body["paused"],
      ).toEqual(paused.body["paused"]);
      expect(
        (await http.ask("POST", path("pause"), { token: http.tokens[role], body: { reason: "again" } })).body["paused"],
      ).toEqual(paused.body["paused"]);
      expect(await audited("merchant.paused")).toMatchObject({
        subject: http.merchant_id,
        details: { reason: "holiday" },
      });
      const resumed = await http.ask("POST", path("resume"), { token: http.tokens[role] });
      expect([resumed.status, resumed.body["paused"]]).toEqual([200, null]);
      expect(await audited("merchant.resumed")).toMatchObject({ subject: http.merchant_id });
    },
  );

  test("the reason, and with it the body, may be left out", async () => {
    for (const options of [{}, { body: {} }, { body: "" }]) {
      expect((await http.ask("POST", path("pause"), options)).body["paused"]).toMatchObject({ reason: null });
      await http.ask("POST", path("resume"));
    }
  });

  test.each<[string, object]>([
    ["an empty reason", { reason: "" }],
    ["a number", { reason: 1 }],
    ["null", { reason: null }],
    ["a reason without end", { reason: "x".repeat(501) }],
    ["operators", { reason: { $gt: "" } }],
    ["an unknown field", { reason: "x", until: "2027-01-01T00:00:00Z" }],
    ["another merchant's id", { id: "x" }],
    ["a list", []],
  ])("%s is 400 and pauses nothing", async (_what, body) => {
    expect(code(await http.ask("POST", path("pause"), { body }))).toEqual([400, "VALIDATION_FAILED"]);
    expect((await http.ask("GET", `/merchants/${http.merchant_id}`)).body["paused"]).toBeNull();
  });

  test.each(["pause", "resume"] as const)(
    "%s: not by a user, not in a foreign scope, not of an unknown merchant",
    async (deed) => {
      expect(code(await http.ask("POST", path(deed), { token: http.tokens.user }))).toEqual([403, "FORBIDDEN"]);
      for (const role of ["reseller", "merchant"] as const)
        expect(code(await http.ask("POST", path(deed, foreign), { token: http.tokens[role] }))).toEqual([
          404,
          "MERCHANT_NOT_FOUND",
        ]);
      for (const role of ["admin", "reseller", "merchant"] as const)
        expect(code(await http.ask("POST", path(deed, randomUUID()), { token: http.tokens[role] }))).toEqual([
          404,
          "MERCHANT_NOT_FOUND",
        ]);
      expect((await http.ask("GET", `/merchants/${foreign}`)).body["paused"]).toBeNull();
    },
  );
});

describe("the deployment", () => {
  test("is read, paused and resumed by an admin", async () => {
    expect((await http.ask("GET", "/deployment")).body).toEqual({ paused: null });
    const paused = await http.ask("POST", "/deployment/pause", { body: { reason: "incident 7" } });
    expect([paused.status, paused.body]).toEqual([
      200,
      { paused: { at: expect.stringMatching(ISO), by: expect.stringMatching(/^user:/), reason: "incident 7" } },
    ]);
    expect((await http.ask("GET", "/deployment")).body).toEqual(paused.body);
    expect((await http.ask("POST", "/deployment/pause")).body).toEqual(paused.body);
    expect(await audited("deployment.paused")).toMatchObject({
      subject: "deployment",
      details: { reason: "incident 7" },
    });
    expect((await http.ask("POST", "/deployment/resume")).body).toEqual({ paused: null });
    expect((await http.ask("GET", "/deployment")).body).toEqual({ paused: null });
  });

  test.each([
    ["GET", "/deployment"],
    ["POST", "/deployment/pause"],
    ["POST", "/deployment/resume"],
  ])("%s %s is an admin's alone", async (method, path) => {
    for (const role of ["reseller", "merchant", "user"] as const)
      expect(code(await http.ask(method, path, { token: http.tokens[role] }))).toEqual([403, "FORBIDDEN"]);
    expect((await http.ask("GET", "/deployment")).body).toEqual({ paused: null });
  });

  test("a body that is none, or names more than a reason, is 400", async () => {
    for (const body of [[], { paused: true }, { reason: "" }])
      expect(code(await http.ask("POST", "/deployment/pause", { body }))).toEqual([400, "VALIDATION_FAILED"]);
  });
});
