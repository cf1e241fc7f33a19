import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { orderAgent, until } from "../fixtures/agent.ts";
import { CONNECTION, FROM, startTelnyxBench, type TelnyxBench } from "../fixtures/telnyx-agent.ts";

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
    // tidying up: a phone that rang may have stopped by itself meanwhile
    if (!path.startsWith("OVER")) await hangUp(id).catch(() => undefined);
  });
});
