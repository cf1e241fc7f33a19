import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { telnyxCarrier } from "../../../../services/dialer/carriers/telnyx/carrier.ts";
import { orderAgent, until } from "../fixtures/agent.ts";
import { CONNECTION, FROM, KEY, startTelnyxBench, type TelnyxBench, type Told } from "../fixtures/telnyx-agent.ts";

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

const REF = "7a1c1a2e-0000-4000-8000-000000000001.1";
const state = Buffer.from(REF).toString("base64");
const relay = (path = "t0") => ({
  conversation_relay_config: {
    url: `${bench.agent.ws}/relay/${path}`,
    dtmf_detection: true,
    custom_parameters: { who: "a & b" },
  },
});
const eventTypes = (id: string): string[] =>
  bench.told.filter((t) => t.payload["call_control_id"] === id).map((t) => t.type);
const dialBody = { connection_id: CONNECTION, to: "+14155550107", from: FROM };
const hangUp = (id: string) => bench.sdk.calls.actions.hangup(id, {});
const answered = async (to: string, more = {}): Promise<string> => {
  const id = await bench.dial(to, more);
  await bench.event(id, "call.answered");
  return id;
};

describe("a whole call", () => {
  test("is told event by event, signed so that the SDK believes them, and costs something", async () => {
    bench.agent.script = orderAgent;
    const id = await bench.dial("+14155550101", {
      client_state: state,
      answering_machine_detection: "detect",
      record: "record-from-answer",
      record_channels: "dual",
      record_format: "wav",
      ...relay("whole"),
    });
    // the relay's end leaves the call alone: Telnyx waits for a command
    const over = await bench.event(id, "call.conversation.ended");
    expect(over.payload).toMatchObject({
      reason: null,
      duration_sec: expect.any(Number),
      conversation_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    await hangUp(id);
    const hangup = await bench.event(id, "call.hangup");
    expect(hangup.payload).toMatchObject({
      client_state: state,
      connection_id: CONNECTION,
      to: "+14155550101",
      from: FROM,
      hangup_cause: "normal_clearing",
      hangup_source: "caller",
      sip_hangup_cause: "200",
      state: "hangup",
    });
    await bench.event(id, "call.cost");
    await bench.event(id, "call.recording.saved");
    expect(eventTypes(id)).toEqual(
      expect.arrayContaining([
        "call.initiated",
        "call.answered",
        "call.machine.detection.ended",
        "call.conversation.ended",
        "call.hangup",
        "call.recording.saved",
        "call.cost",
      ]),
    );
    for (const { body, headers } of bench.told.filter((t) => t.payload["call_control_id"] === id))
      await bench.sdk.webhooks.unwrap(body, { headers });
    expect((await bench.event(id, "call.cost")).payload).toMatchObject({
      total_cost: "0.0090",
      billed_duration_secs: 60,
      status: "success",
      cost_parts: [{ currency: "USD" }],
    });
    const session = bench.agent.sessions.find((s) => s.setup["callControlId"] === id);
    expect(session?.setup).toMatchObject({
      type: "setup",
      callSid: id,
      from: FROM,
      to: "+14155550101",
      direction: "outbound",
      callStatus: "active",
      customParameters: { who: "a & b" },
    });
    expect(session?.frames.some((f) => f.type === "info")).toBe(false); // Telnyx has no such frames
    const row = (await bench.entries("placed", id))[0];
    expect(row).toMatchObject({ reference: REF, account: CONNECTION });
  });

  test.each([
    ["+14155550106", "user_busy", "486"],
    ["+14155550107", "timeout", "487"],
    ["+14155550115", "unspecified", "503"],
  ])("%s: %s", async (to, hangup_cause, sip_hangup_cause) => {
    const id = await bench.dial(to, { timeout_secs: 5 });
    expect((await bench.event(id, "call.hangup")).payload).toMatchObject({ hangup_cause, sip_hangup_cause });
    expect(eventTypes(id)).not.toContain("call.answered");
  });

  test("a call that we end before the answer was cancelled by its originator; a talk past its limit is cut", async () => {
    const ringing = await bench.dial("+14155550107");
    await bench.event(ringing, "call.initiated");
    await hangUp(ringing);
    expect((await bench.event(ringing, "call.hangup")).payload).toMatchObject({
      hangup_cause: "originator_cancel",
      hangup_source: "caller",
      sip_hangup_cause: "487",
    });
  });

  test.each<[string, string, "detect" | "greeting_end" | "premium", string[]]>([
    ["a person", "+14155550101", "detect", ["call.machine.detection.ended human"]],
    ["nobody", "+14155550105", "detect", ["call.machine.detection.ended not_sure"]],
    ["a mailbox", "+14155550109", "detect", ["call.machine.detection.ended machine"]],
    [
      "a mailbox to its beep",
      "+14155550109",
      "greeting_end",
      ["call.machine.detection.ended machine", "call.machine.greeting.ended beep_detected"],
    ],
    [
      "a mailbox, premium",
      "+14155550109",
      "premium",
      ["call.machine.premium.detection.ended machine", "call.machine.premium.greeting.ended beep_detected"],
    ],
    ["a person, premium", "+14155550101", "premium", ["call.machine.premium.detection.ended human_residence"]],
  ])("detection of %s", async (_name, to, answering_machine_detection, expected) => {
    const id = await bench.dial(to, { answering_machine_detection });
    const verdicts = (): string[] =>
      bench.told
        .filter((t) => t.payload["call_control_id"] === id && t.type.includes("machine"))
        .map((t) => `${t.type} ${String(t.payload["result"])}`);
    await until(() => verdicts().length === expected.length, "the verdicts");
    await hangUp(id);
    expect(verdicts()).toEqual(expected);
  });
});

describe("commands", () => {
  test("speak is heard and told of; keys are pressed; a relay may begin and end on a call that lives", async () => {
    const id = await answered("+14155550105");
    await bench.sdk.calls.actions.speak(id, { payload: "Good morning.", voice: "female" });
    expect((await bench.event(id, "call.speak.ended")).payload).toMatchObject({ status: "completed" });
    await bench.sdk.calls.actions.sendDtmf(id, { digits: "1w2#" });
    await bench.sdk.calls.actions.startConversationRelay(id, {
      url: `${bench.agent.ws}/relay/late`,
      greeting: "Hello again.",
    });
    await until(
      async () => (await bench.entries("heard", id)).some((e) => e["text"] === "Hello again."),
      "the greeting",
    );
    await bench.sdk.calls.actions.stopConversationRelay(id, {});
    await bench.event(id, "call.conversation.ended");
    expect((await bench.entries("heard", id)).map((e) => e["media"] ?? e["text"])).toEqual([
      "Good morning.",
      "keys:1w2#",
      "Hello again.",
    ]);
    await hangUp(id);
  });

  test("a transfer bridges and ends; state given with a command is told from then on", async () => {
    const id = await answered("+14155550105", { client_state: state });
    await bench.sdk.calls.actions.transfer(id, {
      to: "+14155550701",
      client_state: Buffer.from("later").toString("base64"),
    });
    await bench.event(id, "call.bridged");
    expect((await bench.event(id, "call.hangup")).payload["client_state"]).toBe(
      Buffer.from("later").toString("base64"),
    );
    expect((await bench.entries("dial", id))[0]).toMatchObject({ number: "+14155550701", status: "completed" });
  });

  test("a command whose id was seen on the call is ignored, and so is a dial", async () => {
    const id = await answered("+14155550105", { command_id: "once" });
    expect(await bench.dial("+14155550105", { command_id: "once" })).toBe(id);
    for (let n = 0; n < 3; n += 1) await bench.sdk.calls.actions.sendDtmf(id, { digits: "5", command_id: "five" });
    await until(async () => (await bench.entries("heard", id)).length > 0, "a key");
    await hangUp(id);
    expect((await bench.entries("heard", id)).filter((e) => e["media"] === "keys:5")).toHaveLength(1);
    expect(await bench.entries("ring", id)).toHaveLength(1);
  });

  test.each<[string, string, object, number, string]>([
    ["an unknown call", "v3:nobody/actions/hangup", {}, 422, "90015"],
    ["an unknown command", "LIVE/actions/dance", {}, 404, "10005"],
    ["no digits", "LIVE/actions/send_dtmf", {}, 422, "10004"],
    ["bad digits", "LIVE/actions/send_dtmf", { digits: "x" }, 422, "10015"],
    ["an answer to our own call", "LIVE/actions/answer", {}, 422, "90032"],
    ["speech without a voice", "LIVE/actions/speak", { payload: "x" }, 422, "10004"],
    ["a recording without channels", "LIVE/actions/record_start", { format: "wav" }, 422, "10004"],
    [
      "a state that is not base64",
      "LIVE/actions/speak",
      { payload: "x", voice: "female", client_state: "§" },
      422,
      "10015",
    ],
    ["a bad relay", "LIVE/actions/conversation_relay_start", { url: "https://x" }, 422, "10015"],
    ["a call that is over", "OVER/actions/hangup", {}, 422, "90018"],
    ["a call that rings", "RINGING/actions/speak", { payload: "x", voice: "y" }, 422, "90034"],
  ])("%s is refused", async (_name, path, body, status, code) => {
    const id = await bench.dial(path.startsWith("RINGING") ? "+14155550107" : "+14155550105");
    if (!path.startsWith("RINGING")) await bench.event(id, "call.answered");
    if (path.startsWith("OVER")) {
      await hangUp(id);
      await bench.event(id, "call.hangup");
    }
    const answer = await bench.raw("POST", `/v2/calls/${path.replace(/^[A-Z]+/, id)}`, body);
    expect([answer.status, answer.body]).toEqual([
      status,
      {
        errors: [
          { code, title: expect.any(String), detail: expect.any(String), meta: { url: expect.stringContaining(code) } },
        ],
      },
    ]);
    if (!path.startsWith("OVER")) await hangUp(id);
  });
});

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
      (await bench.sdk.callEvents.list({ filter: { to, occurred_at: { gt: new Date().toISOString() } } })).data,
    ).toEqual([]);
    for (const id of ids) await hangUp(id);
    expect((await bench.sdk.calls.retrieveStatus(ids[0] ?? "")).data).toMatchObject({
      is_alive: false,
      end_time: expect.any(String),
    });
  });
});

describe("faults", () => {
  test("lost, doubled, late and forged events; what is lost is listed all the same", async () => {
    const to = "+14155550401";
    await bench.fault({ kind: "lose_callbacks", to, times: 1 });
    await bench.fault({ kind: "duplicate_callbacks", to, times: 1 });
    await bench.fault({ kind: "forge_callbacks", to, times: 1 });
    const id = await answered(to);
    await hangUp(id);
    await bench.event(id, "call.hangup");
    expect(eventTypes(id)).not.toContain("call.initiated");
    const verdicts = await Promise.all(
      bench.told
        .filter((t) => t.payload["call_control_id"] === id && t.type === "call.answered")
        .map(({ body, headers }: Told) =>
          bench.sdk.webhooks.unwrap(body, { headers }).then(
            () => true,
            () => false,
          ),
        ),
    );
    expect(verdicts).toEqual([false, true, true]);
    const events = await bench.sdk.callEvents.list({ filter: { to } });
    expect(events.data.map((e) => e.name)).toContain("call.initiated");
  });

  test("a call that waits in the queue is found among the live ones before anything is told of it", async () => {
    const to = "+14155550501";
    await bench.fault({ kind: "queue_delay", to, seconds: 20 });
    const id = await bench.dial(to, { client_state: state });
    const carrier = telnyxCarrier({
      api_key: KEY,
      api_base: bench.carrier.url,
      connection_id: CONNECTION,
      public_key: bench.carrier.telnyxPublicKey,
      public_http_url: "http://x",
      public_ws_url: "ws://x",
    });
    expect(await carrier.find({ call_ref: REF, to, from: FROM, since: new Date(), until: new Date() })).toEqual([
      { call_id: id, created_at: null, live: true, progress: [], cost: null },
    ]);
    await carrier.hangUp({ call_id: id, leg_id: null }, false);
  });

  test("after a restart the calls of before are known, and those that lived are over", async () => {
    const folder = mkdtempSync(join(tmpdir(), "telnyx-"));
    try {
      const ledgerFile = join(folder, "ledger");
      const first = await startTelnyxBench({ ledgerFile });
      const [done, live] = [
        await first.dial("+14155550105", { client_state: state }),
        await first.dial("+14155550105"),
      ];
      for (const id of [done, live]) await first.event(id, "call.answered");
      await first.sdk.calls.actions.hangup(done, {});
      await first.event(done, "call.hangup");
      await first.close();
      const second = await startTelnyxBench({ ledgerFile });
      try {
        const carrier = telnyxCarrier({
          api_key: KEY,
          api_base: second.carrier.url,
          connection_id: CONNECTION,
          public_key: second.carrier.telnyxPublicKey,
          public_http_url: "http://x",
          public_ws_url: "ws://x",
        });
        for (const call_id of [done, live]) {
          const seen = await carrier.fetch({ call_id, leg_id: null });
          expect(seen).toMatchObject({ live: false });
          expect(seen?.progress.map((p) => p.type)).toEqual(["queued", "answered", "ended"]);
        }
        expect(
          (
            await carrier.find({ call_ref: REF, to: "+14155550105", from: FROM, since: new Date(0), until: new Date() })
          ).map((c) => c.call_id),
        ).toEqual([done]);
      } finally {
        await second.close();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
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
    const fast = await startTelnyxBench({ timeScale: 10_000 });
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
