import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { telnyxCarrier } from "../../../../services/dialer/carriers/telnyx/carrier.ts";
import { clock, until } from "../fixtures/agent.ts";
import { CONNECTION, FROM, KEY, startTelnyxBench, type TelnyxBench } from "../fixtures/telnyx-agent.ts";

let bench: TelnyxBench;
beforeAll(async () => {
  bench = await startTelnyxBench();
});
afterEach(async () => {
  bench.agent.script = () => undefined;
  bench.agent.reply = () => ({ status: 204 });
  await fetch(`${bench.carrier.url}/faults`, { method: "DELETE" });
});
afterAll(() => bench.close());
const eventTypes = (id: string): string[] =>
  bench.told.filter((t) => t.payload["call_control_id"] === id).map((t) => t.type);
const dialBody = { connection_id: CONNECTION, to: "+14155550107", from: FROM };
const hangUp = (id: string) => bench.sdk.calls.actions.hangup(id, {});
const answered = async (to: string, more = {}): Promise<string> => {
  const id = await bench.dial(to, more);
  await bench.event(id, "call.answered");
  return id;
};

describe("the API's door", () => {
  test.each<[string, string, string, object | string | undefined, number, string, string?]>([
    ["a wrong key", "POST", "/v2/calls", dialBody, 401, "10009", "KEYother"],
    ["another connection", "POST", "/v2/calls", { ...dialBody, connection_id: "1" }, 422, "10015"],
    ["no number", "POST", "/v2/calls", { ...dialBody, to: undefined }, 422, "10004"],
    ["a number without +", "POST", "/v2/calls", { ...dialBody, to: "14155550101" }, 422, "10016"],
    ["a refused number", "POST", "/v2/calls", { ...dialBody, to: "+14155550110" }, 422, "10002"],
    ["a short ring", "POST", "/v2/calls", { ...dialBody, timeout_secs: 4 }, 422, "10015"],
    ["a long talk", "POST", "/v2/calls", { ...dialBody, time_limit_secs: 14_401 }, 422, "10015"],
    [
      "a mode of detection that is none",
      "POST",
      "/v2/calls",
      { ...dialBody, answering_machine_detection: "guess" },
      422,
      "10015",
    ],
    ["an address that is none", "POST", "/v2/calls", { ...dialBody, webhook_url: "nowhere" }, 422, "10003"],
    ["no JSON", "POST", "/v2/calls", "{", 400, "10023"],
    ["a call nobody knows", "GET", "/v2/calls/v3:nobody", undefined, 404, "10005"],
    ["a recording nobody knows", "GET", "/v2/recordings/x", undefined, 404, "10005"],
    ["another connection's calls", "GET", "/v2/connections/1/active_calls", undefined, 404, "10005"],
    ["another resource", "GET", "/v2/fax", undefined, 404, "10005"],
    [
      "a time that is none",
      "GET",
      "/v2/call_events?filter[occurred_at][gte]=soon&filter[to]=%2B14155550105",
      undefined,
      422,
      "10015",
    ],
  ])("%s is refused", async (_name, method, path, body, status, code, key = KEY) => {
    if (path.includes("call_events")) await hangUp(await answered("+14155550105"));
    const answer = await bench.raw(method, path, body, key);
    expect([answer.status, answer.body]).toEqual([status, { errors: [expect.objectContaining({ code })] }]);
  });

  test("numbers that are not the account's can't be called from", async () => {
    const strict = await startTelnyxBench({ ownNumbers: [FROM] });
    try {
      expect((await strict.raw("POST", "/v2/calls", { ...dialBody, from: "+14155550000" })).body).toMatchObject({
        errors: [{ code: "D36" }],
      });
      expect((await strict.raw("POST", "/v2/calls", dialBody)).status).toBe(200);
    } finally {
      await strict.close();
    }
  });

  test("live calls and events are listed in pages, by number, by leg and by time", async () => {
    const to = "+14155557305";
    const ids = [await answered(to), await answered(to), await answered(to)];
    const listed: string[] = [];
    for await (const { call_control_id } of bench.sdk.connections.listActiveCalls(CONNECTION, { "page[size]": 1 }))
      listed.push(call_control_id);
    expect(listed).toEqual(expect.arrayContaining(ids));
    const events = [];
    for await (const event of bench.sdk.callEvents.list({ filter: { to, type: "webhook" }, "page[size]": 2 }))
      events.push(event);
    expect(events.map((e) => e.name)).toEqual([
      "call.initiated",
      "call.answered",
      "call.initiated",
      "call.answered",
      "call.initiated",
      "call.answered",
    ]);
    const shown = await bench.sdk.calls.retrieveStatus(ids[0] ?? "");
    expect(shown.data).toMatchObject({ is_alive: true, record_type: "call" });
    const ofLeg = await bench.sdk.callEvents.list({
      filter: { leg_id: shown.data?.call_leg_id ?? "", name: "call.answered" },
    });
    expect(ofLeg.data).toHaveLength(1);
    expect(
      (await bench.sdk.callEvents.list({ filter: { to, occurred_at: { gt: clock.now().toISOString() } } })).data,
    ).toEqual([]);
    for (const id of ids) await hangUp(id);
    expect((await bench.sdk.calls.retrieveStatus(ids[0] ?? "")).data).toMatchObject({
      is_alive: false,
      end_time: expect.any(String),
    });
  });
});

describe("recordings", () => {
  const carrierOf = (b: TelnyxBench) =>
    telnyxCarrier({
      api_key: KEY,
      api_base: b.carrier.url,
      connection_id: CONNECTION,
      public_key: b.carrier.telnyxPublicKey,
      public_http_url: "http://x",
      public_ws_url: "ws://x",
    });

  test("a link dies after ten minutes; the adapter asks for a fresh one", async () => {
    // ten minutes are a second and a half here: a fresh link must live until a busy machine has followed it
    const fast = await startTelnyxBench({ timeScale: 400 });
    try {
      const id = await fast.dial("+14155550105", {
        record: "record-from-answer",
        record_channels: "dual",
        record_format: "wav",
      });
      await fast.event(id, "call.answered");
      await fast.sdk.calls.actions.hangup(id, {});
      const saved = await fast.event(id, "call.recording.saved");
      const recording = carrierOf(fast).translate("event", {
        method: "POST",
        path: "/x",
        headers: saved.headers,
        body: saved.body,
      }).recording;
      const url = recording?.url ?? "";
      await until(async () => (await fetch(url)).status === 403, "the link to die");
      expect(recording).toMatchObject({ channels: 2, recording_id: expect.any(String) });
      const opened = await carrierOf(fast).openRecording(
        recording ?? { recording_id: "", url: null, seconds: null, channels: null },
      );
      expect(opened.content_type).toBe("audio/wav");
      expect(
        Buffer.concat((await opened.body.toArray()) as Buffer[])
          .subarray(0, 4)
          .toString(),
      ).toBe("RIFF");
    } finally {
      await fast.close();
    }
  });

  test("one that is begun by command is another; it is not ready before it has ended", async () => {
    const id = await answered("+14155550105");
    const { data } = await bench.sdk.calls.actions.startRecording(id, { channels: "single", format: "wav" });
    const recording_id = String((data as Record<string, unknown> | undefined)?.["recording_id"]);
    await expect(
      carrierOf(bench).openRecording({
        recording_id,
        url: `${bench.carrier.url}/telnyx-recordings/none.wav`,
        seconds: null,
        channels: null,
      }),
    ).rejects.toMatchObject({ type: "RECORDING_NOT_FOUND" });
    await bench.sdk.calls.actions.stopRecording(id, {});
    expect((await bench.event(id, "call.recording.saved")).payload).toMatchObject({
      recording_id,
      channels: "single",
      recording_urls: { wav: expect.stringContaining(recording_id) },
    });
    await hangUp(id);
    expect(eventTypes(id).filter((t) => t === "call.recording.saved")).toHaveLength(1);
  });
});
