import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { clock, until } from "../fixtures/agent.ts";
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
    await clock.wait(50); // so that there is a second to hear
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
