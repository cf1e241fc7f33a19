import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { plivo } from "../../../fixtures/carriers/plivo-sdk.ts";
import { until } from "../fixtures/agent.ts";
import {
  account,
  ACCOUNT_PATH,
  FROM,
  startPlivoBench,
  type PlivoBench,
  type PlivoPosted,
} from "../fixtures/plivo-agent.ts";

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
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("REST, by Plivo's own client", () => {
  test("a call is fired, shown while it waits, lives and is over", async () => {
    holds();
    await bench.post("/faults", { kind: "queue_delay", to: "+15551110001", seconds: 0.3 });
    const request = await bench.call("+15551110001");
    expect(request).toMatch(UUID);
    const { calls: waiting } = (await (await bench.rest("/Call/?status=queued")).json()) as { calls: string[] };
    expect(waiting).toHaveLength(1);
    expect(await bench.calls.getQueuedCall(waiting[0] ?? "")).toMatchObject({
      callStatus: "queued",
      requestUuid: request,
      to: "15551110001",
      from: FROM,
    });
    const leg = await legOf(request);
    expect(leg).not.toBe(request);
    expect(await bench.calls.getLiveCall(leg)).toMatchObject({
      callStatus: "in-progress",
      callUuid: leg,
      requestUuid: request,
      direction: "outbound",
    });
    expect(await (await bench.rest("/Call/?status=live")).json()).toMatchObject({
      calls: expect.arrayContaining([leg]),
    });
    await expect(bench.calls.get(leg)).rejects.toThrow();
    await bench.calls.hangup(leg);
    await bench.hangup(request);
    expect(await bench.calls.get(leg)).toMatchObject({
      callUuid: leg,
      callDirection: "outbound",
      fromNumber: `+${FROM}`,
      toNumber: "15551110001",
      hangupCauseCode: 4000,
      hangupSource: "API Request",
      totalAmount: "0.00850",
      totalRate: "0.00850",
      endTime: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\+00:00$/),
    });
    const listed = await bench.calls.list({
      from_number: FROM,
      to_number: "15551110001",
      end_time__gte: "2020-01-01 00:00:00",
    });
    expect(Array.from(listed as object[])).toMatchObject([{ callUuid: leg }]);
    await expect(bench.calls.getLiveCall(leg)).rejects.toThrow();
    await expect(bench.calls.hangup(leg)).rejects.toThrow();
  });

  test("a request that nobody has answered is taken back; one in progress is not", async () => {
    holds();
    const ringing = await bench.call("+15551110007", { ringTimeout: 600 });
    await until(() => bench.of(ringing).find((p) => p.form["Event"] === "Ring"), "the ring");
    await bench.calls.cancel(ringing);
    expect((await bench.hangup(ringing)).form).toMatchObject({
      CallStatus: "cancel",
      HangupCauseCode: "1000",
      HangupCause: "ORIGINATOR_CANCEL",
      AnswerTime: "",
    });
    const talking = await bench.call("+15551110005");
    const leg = await legOf(talking);
    await expect(bench.calls.cancel(talking)).rejects.toThrow();
    await bench.calls.hangup(leg);
  });

  test.each<[string, string, object | string | null, number, object | string]>([
    ["no account", "/Call/", {}, 401, expect.stringContaining("Could not verify your access level")],
    ["no answer_url", "/Call/", { from: FROM, to: "15551110001" }, 400, { error: "answer_url parameter is required" }],
    [
      "a number it does not take",
      "/Call/",
      { from: FROM, to: "15551110010", answer_url: "http://x.example" },
      400,
      { error: "to is not a valid phone number" },
    ],
    ["no JSON", "/Call/", "{", 400, { error: "the body is not a JSON object" }],
    [
      "a bad URL",
      "/Call/",
      { from: FROM, to: "15551110001", answer_url: "nowhere" },
      400,
      { error: "answer_url is not a valid url" },
    ],
    [
      "a call it does not know",
      "/Call/nothing/",
      { legs: "aleg", aleg_url: "http://x.example" },
      404,
      { error: "not found" },
    ],
    ["a resource it does not know", "/Conference/", {}, 404, { error: "not found" }],
  ])("%s", async (what, path, body, status, expected) => {
    const wrong =
      what === "no account"
        ? { headers: { authorization: `Basic ${Buffer.from(`${account.authId}:wrong`).toString("base64")}` } }
        : {};
    const answer = await bench.rest(path, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...wrong,
    });
    const text = await answer.text();
    expect(answer.status).toBe(status);
    if (status === 401) expect(text).toEqual(expected);
    else expect(JSON.parse(text)).toEqual({ api_id: expect.stringMatching(UUID), ...(expected as object) });
  });
  test("another account's path is no entry", async () => {
    expect((await bench.rest("/../MAOTHER00000000000AA/Call/")).status).toBe(401);
  });

  test("faults: too many, an answer lost, an error after placing", async () => {
    const dial = (to: string) =>
      bench.rest("/Call/", {
        method: "POST",
        body: JSON.stringify({ from: FROM, to, answer_url: `${bench.http}/answer` }),
      });
    await bench.post("/faults", { kind: "rate_limit", to: "+15551120006", seconds: 3 });
    const limited = await dial("15551120006");
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "3"]);
    await bench.post("/faults", { kind: "error_after_placing", to: "+15551120006" });
    expect((await dial("15551120006")).status).toBe(500);
    await bench.post("/faults", { kind: "drop_reply", to: "+15551120006" });
    await expect(dial("15551120006")).rejects.toThrow();
    expect((await bench.entries("placed")).filter((e) => e.to === "+15551120006")).toHaveLength(2);
  });
});

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

describe("recordings", () => {
  test("a call is recorded by a command, told of, and its file read", async () => {
    holds();
    const request = await bench.call("+15554440001");
    const leg = await legOf(request);
    const started = (await (
      await bench.rest(`/Call/${leg}/Record/`, {
        method: "POST",
        body: JSON.stringify({
          time_limit: 600,
          file_format: "wav",
          callback_url: `${bench.http}/recording?call=${request}`,
        }),
      })
    ).json()) as Record<string, string>;
    expect(started).toMatchObject({
      message: "call recording started",
      recording_id: expect.stringMatching(UUID),
      url: `https://media.plivo.com${ACCOUNT_PATH}/Recording/${started["recording_id"]}.wav`,
    });
    expect((await bench.rest(`/Call/${leg}/Record/`, { method: "POST", body: "{}" })).status).toBe(400);
    expect((await bench.rest(`/Recording/${started["recording_id"]}.wav`)).status).toBe(404);
    await new Promise((resolve) => setTimeout(resolve, 50)); // so that there is a second to hear
    await bench.calls.hangup(leg);
    const told = await until(() => bench.posted.find((p) => p.path.startsWith("/recording")), "the recording");
    expect(told.form).toMatchObject({
      call_uuid: leg,
      recording_id: started["recording_id"],
      record_url: started["url"],
      api_id: started["api_id"],
    });
    expect(Number(told.form["recording_duration"])).toBeGreaterThan(0);
    const file = Buffer.from(await (await bench.rest(`/Recording/${started["recording_id"]}.wav`)).arrayBuffer());
    expect(file.subarray(0, 4).toString()).toBe("RIFF");
    expect(await (await bench.rest(`/Recording/${started["recording_id"]}/`)).json()).toMatchObject({
      recording_id: started["recording_id"],
      call_uuid: leg,
    });
  });
});
