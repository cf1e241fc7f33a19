import { until } from "../../../local/harness/stage.ts";
import { carrierChecks, verdictOf } from "../../../services/gateway/health.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  for (const name of Object.keys(http.script)) Reflect.deleteProperty(http.script, name);
  http.calls.length = 0;
});

const CALLBACK = "/carriers/PROVIDER_ONE/status/7f9c24e8-3b12-4fef-91e0-5a4d8c2b1a00.1";

describe("health", () => {
  test("live and ready", async () => {
    expect((await http.ask("GET", "/health/live", { origin: true, token: null })).body).toEqual({ status: "live" });
    const ready = await http.ask("GET", "/health/ready", { origin: true });
    expect([ready.status, ready.body["status"]]).toEqual([200, "ready"]);
    expect((ready.body["checks"] as { name: string }[]).map((c) => c.name)).toEqual([
      "auth",
      "blacklist",
      "config",
      "dialer",
      "leads",
      "merchants",
      "numbers",
      "webhook",
      "scheduler",
      "conversation",
      "store",
      "parked_leads",
      "clock",
    ]);
  });

  test("without a carrier: degraded, for no phone can be called; one is enough", () => {
    const none = { PROVIDER_ONE: "none", PROVIDER_TWO: "none", PROVIDER_THREE: "none" } as const;
    const checks = carrierChecks(none);
    expect(checks).toMatchObject([{ name: "carriers", reason: expect.stringContaining("no phone can be called") }]);
    expect(verdictOf(checks)).toBe("degraded");
    expect(carrierChecks({ ...none, PROVIDER_THREE: "telnyx" })).toEqual([]);
  });

  test("who is neither on this machine nor an admin learns the status alone", async () => {
    for (const token of [null, http.tokens.reseller, "nonsense"]) {
      const { status, body } = await http.ask("GET", "/health/ready", { origin: true, token });
      expect([status, body]).toEqual([200, { status: "ready" }]);
    }
    const here: unknown = await (await fetch(`${http.origin}/health/ready`)).json();
    expect(here).toMatchObject({ status: "ready", checks: expect.any(Array) });
  });

  test("parked leads: degraded, with their number and the commonest code of their faults", async () => {
    http.script["leads.parked"] = () => ({ count: 3, code: "STORE_UNAVAILABLE" });
    const found = await until("the check", async () => {
      const { status, body } = await http.ask("GET", "/health/ready", { origin: true });
      return body["status"] === "degraded" ? { status, checks: body["checks"] } : undefined;
    });
    expect(found.status).toBe(200);
    expect(found.checks).toContainEqual({
      name: "parked_leads",
      ok: false,
      needed: false,
      reason: expect.stringMatching(/^3 leads are parked: .* mostly STORE_UNAVAILABLE/),
    });
  });

  test.each([
    [{ clock_ahead_ms: 3_600_000 }, /^the database's clock was set and is 3600.0 s ahead of the deployment's time/],
    [{ clock_unknown: true }, /does not know the time/],
  ])("a clock that was set: degraded, with the reason", async (said, reason) => {
    http.script["leads.reachable"] = () => ({ now: new Date().toISOString(), ...said });
    const check = await until("the check", async () => {
      const { body } = await http.ask("GET", "/health/ready", { origin: true });
      const found = (body["checks"] as { name: string; ok: boolean }[]).find((c) => c.name === "clock" && !c.ok);
      return body["status"] === "degraded" ? found : undefined;
    });
    expect(check).toMatchObject({ needed: false, reason: expect.stringMatching(reason) });
    http.script["leads.reachable"] = () => ({});
    await until("readiness", async () => {
      const { body } = await http.ask("GET", "/health/ready", { origin: true });
      return (body["checks"] as { name: string; ok: boolean }[]).some((c) => c.name === "clock" && c.ok) || undefined;
    });
  });

  test("without the scheduler leads are still accepted: degraded; without the dialer: 503 with the reason, and carriers are asked to retry", async () => {
    const gone = async (name: string) => {
      const service = http.stage.broker.getLocalService(name);
      await http.stage.broker.destroyService(service);
    };
    const status = (wanted: string) =>
      until(`readiness ${wanted}`, async () => {
        const answer = await http.ask("GET", "/health/ready", { origin: true });
        return answer.body["status"] === wanted ? answer : undefined;
      });
    await gone("scheduler");
    expect((await status("degraded")).status).toBe(200);
    await gone("dialer");
    const answer = await status("not_ready");
    expect(answer.status).toBe(503);
    expect(answer.body["checks"]).toContainEqual({
      name: "dialer",
      ok: false,
      needed: true,
      reason: "no instance of this service is on the bus",
    });
    const callback = await http.ask("POST", CALLBACK, { origin: true, token: null, body: "a=1" });
    expect([callback.status, callback.body["code"], callback.headers.has("retry-after")]).toEqual([
      503,
      "DEPENDENCY_DOWN",
      true,
    ]);
  });
});
