import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { plivo } from "../../../fixtures/carriers/plivo-sdk.ts";
import { until } from "../fixtures/agent.ts";
import { account, FROM, startPlivoBench, type PlivoBench, type PlivoPosted } from "../fixtures/plivo-agent.ts";

let bench: PlivoBench;
beforeAll(async () => {
  bench = await startPlivoBench();
});
afterEach(async () => {
  bench.reply = () => ({ status: 200, body: "<Response/>" });
  await fetch(`${bench.carrier.url}/faults`, { method: "DELETE" });
});
afterAll(() => bench.close());

const doc = (inside: string): { status: number; body: string } => ({
  status: 200,
  body: `<?xml version="1.0" encoding="UTF-8"?><Response>${inside}</Response>`,
});
const holds = (): void => {
  bench.reply = () => doc('<Wait length="600"/>');
};
const answered = (request: string): Promise<PlivoPosted> => until(() => bench.of(request, "/answer")[0], "the answer");
const legOf = async (request: string): Promise<string> => (await answered(request)).form["CallUUID"] ?? "";

describe("callbacks", () => {
  test("ring, answer and hang-up are told with Plivo's fields, validly signed, each with a nonce of its own", async () => {
    bench.reply = ({ path }) => (path.startsWith("/answer") ? doc("<Speak>Hello.</Speak>") : { status: 200, body: "" });
    const request = await bench.call("+15553330005");
    const { form } = await bench.hangup(request);
    const all = bench.of(request);
    expect(all.map((p) => [p.form["Event"], p.form["CallStatus"]])).toEqual([
      ["Ring", "ringing"],
      ["StartApp", "in-progress"],
      ["Hangup", "completed"],
    ]);
    expect(form).toMatchObject({
      From: FROM,
      To: "15553330005",
      Direction: "outbound",
      ParentAuthID: account.authId,
      ALegRequestUUID: request,
      HangupCauseCode: "4010",
      HangupCauseName: "End Of XML Instructions",
      HangupSource: "Plivo",
      BillDuration: "60",
      Duration: "1",
      TotalCost: "0.00850",
      EndTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/),
    });
    expect(new Set(all.map((p) => p.headers["x-plivo-signature-v3-nonce"])).size).toBe(all.length);
    for (const p of all) {
      const [signature = "", nonce = ""] = [p.headers["x-plivo-signature-v3"], p.headers["x-plivo-signature-v3-nonce"]];
      expect(plivo.validateV3Signature("POST", p.url, nonce, account.authToken, signature, p.form)).toBe(true);
      expect(plivo.validateV3Signature("POST", p.url, nonce, "another", signature, p.form)).toBe(false);
      expect(
        plivo.validateV3Signature("POST", p.url, nonce, account.authToken, signature, {
          ...p.form,
          CallStatus: "busy",
        }),
      ).toBe(false);
    }
    expect((await bench.row(request)).reference).toBe("7a1c1a2e-0000-4000-8000-000000000001.1");
  });

  test.each([
    ["06", "busy", "3010"],
    ["07", "timeout", "6010"],
    ["15", "failed", "5000"],
  ])("%s ends as %s, cause %s", async (suffix, status, code) => {
    const request = await bench.call(`+155533300${suffix}`, { ringTimeout: 5 });
    expect((await bench.hangup(request)).form).toMatchObject({
      CallStatus: status,
      HangupCauseCode: code,
      AnswerTime: "",
      Duration: "0",
      TotalCost: "0.00000",
    });
  });

  test("a machine is told while the document runs; of a person nothing is told", async () => {
    holds();
    const amd = { machineDetection: "true", machineDetectionUrl: `${bench.http}/amd` };
    const [machine, person] = await Promise.all([bench.call("+15553350009", amd), bench.call("+15553350005", amd)]);
    const told = await until(() => bench.of(machine, "/amd")[0], "the verdict");
    expect(told.form).toMatchObject({
      Event: "MachineDetection",
      Machine: "true",
      IfMachine: "continue",
      CallStatus: "in-progress",
      CallUUID: await legOf(machine),
    });
    expect(bench.of(machine).findIndex((p) => p.path.startsWith("/answer"))).toBeLessThan(
      bench.of(machine).indexOf(told),
    );
    for (const request of [machine, person]) await bench.calls.hangup(await legOf(request));
    await bench.hangup(person);
    expect(bench.of(person, "/amd")).toEqual([]);
  });
  test('without an address of its own the verdict goes with the question for the document; "hangup" ends machines', async () => {
    holds();
    const [person, machine] = await Promise.all([
      bench.call("+15553360005", { machineDetection: "true" }),
      bench.call("+15553360009", { machineDetection: "hangup", machineDetectionUrl: `${bench.http}/amd` }),
    ]);
    expect((await answered(person)).form["Machine"]).toBe("false");
    await bench.calls.hangup(await legOf(person));
    expect((await bench.hangup(machine)).form).toMatchObject({ HangupCauseCode: "3070" });
  });

  test("callbacks are lost, doubled, late and forged on request", async () => {
    const events = (request: string) => bench.of(request, "/status").map((p) => p.form["Event"]);
    const valid = (p: PlivoPosted) =>
      plivo.validateV3Signature(
        "POST",
        p.url,
        p.headers["x-plivo-signature-v3-nonce"] ?? "",
        account.authToken,
        p.headers["x-plivo-signature-v3"] ?? "",
        p.form,
      );
    for (const [kind, to] of [
      ["lose_callbacks", "61"],
      ["duplicate_callbacks", "62"],
      ["forge_callbacks", "63"],
    ])
      await bench.post("/faults", { kind, to: `+155533700${to}` });
    const [lost, doubled, forged] = await Promise.all(["61", "62", "63"].map((n) => bench.call(`+155533700${n}`)));
    for (const request of [doubled, forged]) await bench.hangup(request ?? "");
    await until(
      async () => (await bench.entries("hangup")).some((e) => e.to === "+15553370061"),
      "the end of the lost one",
    );
    await until(() => events(doubled ?? "").length === 4, "all copies");
    await until(() => events(forged ?? "").length === 4, "all forgeries");
    expect(events(lost ?? "")).toEqual([]);
    expect(bench.of(forged ?? "", "/status").map(valid)).toEqual([false, true, false, true]);
    expect(bench.of(doubled ?? "", "/status").every(valid)).toBe(true);
  });
});
