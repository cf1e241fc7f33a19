import { beforeEach, describe, expect, test } from "@jest/globals";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { Transition } from "../../../services/dialer/call/call-state-machine.ts";
import type { Capabilities } from "../../../services/dialer/carriers/carrier-port.ts";
import type { DialerParts } from "../../../services/dialer/deps.ts";
import { addressOf, expectRecording, recordingReported } from "../../../services/dialer/recordings/expect-recording.ts";
import { ENDED_RECORDING } from "../../../services/dialer/recordings/recording-state-machine.ts";
import { Failure } from "../../../shared/errors.ts";

const REF = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff.1";
const NOW = new Date("2026-11-21T12:00:00Z");

/** What happened, in order. */
let seen: string[] = [];
let refusals = 0;
let call: CallDoc;
const base = (): CallDoc => ({
  _id: REF,
  lead_id: REF.slice(0, 36),
  claim_no: 1,
  state: "ANSWERED",
  rank: 3,
  created_at: NOW,
  provider: "PROVIDER_TWO",
  carrier_call_id: "v3:abc/1",
  carrier_leg_id: "leg-1",
  holder: "node-1",
  order: { ...({} as NonNullable<CallDoc["order"]>), record: true, max_call_seconds: 600 },
});
beforeEach(() => {
  seen = [];
  refusals = 0;
  call = base();
});

/** The dialer as far as this needs it; time passes at once. */
const depsFor = (recording: Capabilities["recording"]): DialerParts => {
  const carrier = {
    capabilities: { recording },
    async record(handle: object, how: { limit_seconds: number; callback_base: string }) {
      seen.push(`record ${JSON.stringify(handle)} for ${how.limit_seconds} s, ${how.callback_base}`);
      if (refusals-- > 0) throw new Failure("CALL_REFUSED", "not now");
    },
  };
  const made = {
    env: { PUBLIC_HTTP_URL: "https://calls.example.com" },
    clock: {
      now: () => NOW,
      wait: async (ms: number) => {
        seen.push(`wait ${ms}`);
      },
    },
    log: { warn: () => undefined },
    leaving: new AbortController().signal,
    carriers: { of: () => carrier },
    calls: { find: async () => call },
    bus: {
      call: async (_action: string, p: { recording_url: string | null }) => {
        seen.push(`lead ${p.recording_url}`);
        return { done: true };
      },
    },
    recordings: {
      apply: async ({ update }: Transition) => {
        seen.push(
          String(
            update.$set?.["recording.state"] ??
              (update.$set?.["recording.looks"] === 0 ? "looks 0" : undefined) ??
              `told ${String(update.$set?.["recording.told"])}`,
          ),
        );
        return call;
      },
    },
    wakeRecordings: () => {
      seen.push("woken");
    },
  };
  return made as unknown as DialerParts;
};
const ADDRESS = "https://calls.example.com/agent/voice/callagent/leads/recording/v3%3Aabc%2F1";
const COMMAND =
  'record {"call_id":"v3:abc/1","leg_id":"leg-1"} for 690 s, https://calls.example.com/carriers/PROVIDER_TWO';

describe("an answered call that is to be recorded", () => {
  test("by the dial request: it is waited for; the lead is told the address with the call, and of an inbound one at once", async () => {
    await expectRecording(depsFor("dial"), call);
    expect(seen).toEqual(["wanted"]);
    seen = [];
    call = { ...call, direction: "INBOUND" };
    await expectRecording(depsFor("dial"), call);
    expect(seen).toEqual(["wanted", `lead ${ADDRESS}`]);
  });
  test.each<[string, Capabilities["recording"], Partial<CallDoc>, string | undefined]>([
    ["is to be recorded, as its conversation joins", "command", {}, ADDRESS],
    ["can't be recorded", "none", {}, undefined],
    [
      "was answered, and its conversation has not joined",
      "dial",
      { recording: { state: "wanted", tries: 0 } },
      ADDRESS,
    ],
    ["was not answered", "dial", { holder: "" }, undefined],
    ["has a recording", "none", { recording: { state: "stored", tries: 0 } }, ADDRESS],
    ["has none after all", "dial", { recording: { state: "absent", tries: 0 } }, undefined],
    ["has one that is lost", "dial", { recording: { state: "failed", tries: 0 } }, undefined],
    ["has one that was erased", "dial", { recording: ENDED_RECORDING }, undefined],
    ["has no name at a carrier", "dial", { carrier_call_id: "" }, undefined],
  ])("the address of the recording of a call that %s", (_which, how, fields, address) => {
    const { holder, carrier_call_id, ...rest } = { ...call, ...fields };
    const given = { ...rest, ...(holder && { holder }), ...(carrier_call_id && { carrier_call_id }) };
    expect(addressOf(depsFor(how), given)).toBe(address);
  });
  test("by command: once the talk has joined, for the talk's length and a margin", async () => {
    const { holder: _holder, ...alone } = call;
    await expectRecording(depsFor("command"), alone);
    expect(seen).toEqual([]);
    await expectRecording(depsFor("command"), call);
    expect(seen).toEqual(["wanted", COMMAND]);
  });
  test("by the dial request, the call over before: it is asked for soon all the same", async () => {
    call = { ...call, state: "ENDED", recording: { state: "wanted", tries: 0 } };
    const { recording: _none, ...before } = call;
    await expectRecording(depsFor("dial"), before);
    expect(seen).toEqual(["wanted", "looks 0"]);
  });
  test("a command that fails is tried again, then the call goes on without a recording", async () => {
    refusals = 1;
    await expectRecording(depsFor("command"), call);
    expect(seen).toEqual(["wanted", COMMAND, "wait 1000", COMMAND]);
    [seen, refusals] = [[], 9];
    await expectRecording(depsFor("command"), call);
    expect(seen).toEqual(["wanted", COMMAND, "wait 1000", COMMAND, "wait 4000", COMMAND, "absent"]);
  });
  test("a call that is over is not recorded any more", async () => {
    const before = call;
    call = { ...call, state: "ENDED" };
    await expectRecording(depsFor("command"), before);
    expect(seen).toEqual(["wanted", "absent"]);
  });
  test("nothing where it is not asked for, not possible, or under way already", async () => {
    await expectRecording(depsFor("none"), call);
    await expectRecording(depsFor("dial"), { ...call, recording: { state: "wanted", tries: 0 } });
    await expectRecording(depsFor("dial"), { ...call, order: { ...base().order!, record: false } });
    const { order: _order, ...bare } = call;
    await expectRecording(depsFor("dial"), bare);
    expect(seen).toEqual([]);
  });
});

test("a recording that is told of is seen to at once", async () => {
  await recordingReported(depsFor("dial"), REF, "v3:abc/1", {
    recording_id: "r",
    url: "https://x",
    seconds: null,
    channels: null,
  });
  expect(seen).toEqual(["wanted", "woken"]);
});
