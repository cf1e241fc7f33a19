import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  sessionRecordings,
  type SessionRecordings,
} from "../../../../services/conversation/recording/session-recordings.ts";
import { WAV_HEADER_BYTES, wavHeader } from "../../../../services/conversation/recording/wav-file.ts";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { readEnv } from "../../../../shared/process/env.ts";
import { rootLog } from "../../../../shared/process/log.ts";
import { until } from "../../../../local/harness/stage.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { callIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
import { addressesTold } from "../../fixtures/told-addresses.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock, env: { RECORDING_SOURCE: "own" } });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const log = rootLog(readEnv({ LOG_LEVEL: "silent" }));
const ids = { uuid: () => randomUUID() };
const RATE = 8000;
const FRAME = 160;
const pass = () => clock.advance(200);
const growing = async (stage = d): Promise<string[]> =>
  readdir(join(stage.stage.env.RECORDINGS_DIR, ".talks")).catch(() => []);
const recordingOf = async (call: CallDoc, stage = d) =>
  (await stage.stage.bus.call("dialer.recordingOf", { call_id: call.carrier_call_id ?? "" })).recording;
const ours = (stage = d): SessionRecordings => {
  const { bus, env } = stage.stage;
  return sessionRecordings({ env, ids, bus, clock, log });
};

/** A call whose talk has been held over sound, as the dialer has it. */
async function talked(over: Partial<CallDoc> = {}, stage = d): Promise<{ order: DialJob; call: CallDoc }> {
  const order = stage.order("01");
  const { payload: _p, pre_checks: _c, pre_check_defers: _d, rate_limit: _r, ...kept } = order;
  const call: CallDoc = {
    _id: refOf(order),
    lead_id: order.lead_id,
    claim_no: 1,
    state: "ENDED",
    rank: 9,
    created_at: clock.now(),
    provider: "PROVIDER_ONE",
    carrier_call_id: `CA${randomUUID().replaceAll("-", "")}`,
    closed_at: clock.now(),
    ended: "completed",
    media: "audio",
    holder: "node-1",
    order: { ...kept, record: true },
    recording: {
      state: "wanted",
      own: true,
      told: true,
      tries: 0,
      looks: 0,
      due_at: new Date(clock.now().getTime() + 3_600_000),
    },
    ...over,
  };
  await stage.calls.insertOne(call);
  return { order, call };
}

/** Records a talk of so many seconds: the caller says ones, we say twos. */
async function record(recordings: SessionRecordings, ref: string, seconds: number): Promise<void> {
  const recorder = recordings.record(ref, RATE);
  for (let i = 0; i < seconds * 50; i += 1) {
    await clock.advance(20);
    recorder.heard(new Int16Array(FRAME).fill(1), clock.monotonicMs() - 20);
    recorder.played(new Int16Array(FRAME).fill(2), clock.monotonicMs() - 20);
  }
  await recorder.end();
}

describe("a recording of our own", () => {
  test("is kept where all are, and found by the call's id; nothing of it is left over", async () => {
    const { order, call } = await talked();
    await record(ours(), call._id, 3);
    const there = await callIs(
      d,
      order,
      "nothing owed",
      (c) => c.recording?.state === "stored" && c.recording.due_at === undefined,
      pass,
    );
    const key = `${clock.now().toISOString().slice(0, 10).replaceAll("-", "/")}/own/${call._id}.wav`;
    expect(there.recording).toMatchObject({
      own: true,
      key,
      content_type: "audio/wav",
      seconds: 3,
      channels: 2,
      told: true,
      bytes: WAV_HEADER_BYTES + 3 * RATE * 4,
    });
    expect(await recordingOf(call)).toEqual({
      lead_id: order.lead_id,
      state: "stored",
      key,
      content_type: "audio/wav",
      bytes: there.recording?.bytes,
      where: "local",
    });
    const file = await readFile(join(d.stage.env.RECORDINGS_DIR, key));
    expect([
      file.toString("latin1", 0, 4),
      file.readUInt32LE(40),
      file.readInt16LE(8044),
      file.readInt16LE(8046),
      await growing(),
    ]).toEqual(["RIFF", 3 * RATE * 4, 1, 2, []]);
  });

  test("the join has it waited for and its address told; the carrier is not asked to record", async () => {
    const order = d.order("01");
    await d.calls.insertOne(
      await talked({
        _id: refOf(order),
        lead_id: order.lead_id,
        state: "ANSWERED",
        rank: 3,
        answered_at: clock.now(),
      }).then(async ({ call }) => {
        await d.calls.deleteOne({ _id: call._id });
        const { recording: _r, holder: _h, closed_at: _c, ended: _e, ...live } = call;
        return live;
      }),
    );
    const join = (tells_placed: boolean) =>
      d.stage.bus.call("dialer.joined", {
        call_ref: refOf(order),
        node_id: "node-9",
        ...(tells_placed && { tells_placed }),
      });
    const joined = await join(true);
    const call = await callIs(d, order, "told", (c) => c.recording?.told === true, pass);
    expect([joined, call.recording, addressesTold(d, order)]).toEqual([
      expect.objectContaining({
        go: true,
        placed: expect.objectContaining({ recording_url: expect.stringContaining(String(call.carrier_call_id)) }),
      }),
      expect.objectContaining({ state: "wanted", own: true }),
      [],
    ]);
    // a conversation of the version before does not tell it
    await d.calls.updateOne({ _id: refOf(order) }, { $unset: { holder: 1 } });
    await join(false);
    await callIs(d, order, "told", () => addressesTold(d, order).length > 0, pass);
    expect(d.toldOf(order).map(({ params }) => params)).toContainEqual({
      lead_id: order.lead_id,
      claim_no: 1,
      call_id: call.carrier_call_id,
      call_initiated_time: expect.any(String),
      recording_url: expect.stringContaining(String(call.carrier_call_id)),
    });
  });

  test("one that never comes is given up after an hour, and taken all the same should it come later", async () => {
    const { order, call } = await talked();
    await callIs(
      d,
      order,
      "taken back",
      (c) => c.recording?.state === "absent" && c.recording.told === false,
      () => clock.advance(600_000),
    );
    // told until it is heard: once or more
    expect(new Set(addressesTold(d, order))).toEqual(new Set([null]));
    await record(ours(), call._id, 1);
    await callIs(d, order, "told", (c) => c.recording?.stored_told === true, pass);
    expect(addressesTold(d, order).at(-1)).toEqual(expect.stringContaining(String(call.carrier_call_id)));
  });

  test("told again it changes nothing; of calls that are none, or their carrier's, the file is removed", async () => {
    const { call } = await talked();
    const key = `2026/11/21/${call._id}.wav`;
    const tell = (ref: string, at = key) =>
      d.stage.bus.call("dialer.recorded", {
        call_ref: ref,
        key: at,
        bytes: 100,
        content_type: "audio/wav",
        seconds: 1,
      });
    expect([await tell(call._id), await tell(call._id), await tell(call._id, `2026/11/22/${call._id}.wav`)]).toEqual([
      { wanted: true },
      { wanted: true },
      { wanted: false },
    ]);
    await expect(tell(call._id, "2026/11/21/another.wav")).rejects.toMatchObject({ type: "VALIDATION_FAILED" });
    const text = await talked({ media: "text", recording: { state: "wanted", tries: 0 } });
    const nobody = `${randomUUID()}.1`;
    await record(ours(), text.call._id, 1);
    await record(ours(), nobody, 1);
    const kept = await readdir(d.stage.env.RECORDINGS_DIR, { recursive: true });
    expect([kept.filter((name) => name.includes(text.call._id) || name.includes(nobody)), await growing()]).toEqual([
      [],
      [],
    ]);
  });
});

describe("what is left over", () => {
  /** Makes the files of a talk look as if they had not grown for so long. */
  const age = async (ref: string, idleMs: number): Promise<void> => {
    const at = new Date(Date.now() - idleMs);
    for (const name of await growing())
      if (name.includes(ref)) await utimes(join(d.stage.env.RECORDINGS_DIR, ".talks", name), at, at);
  };
  const leave = async (ref: string, idleMs: number): Promise<void> => {
    const dir = join(d.stage.env.RECORDINGS_DIR, ".talks");
    await mkdir(dir, { recursive: true });
    await writeFile(
      join(dir, `2026-11-20_${ref}.wav`),
      Buffer.concat([wavHeader(RATE, 0), Buffer.alloc(2 * RATE * 4, 3)]),
    );
    await age(ref, idleMs);
  };
  test("of a process that died is finished and kept; what may still grow is left alone", async () => {
    const { order, call } = await talked();
    const live = `${randomUUID()}.1`;
    await leave(call._id, 301_000);
    await leave(live, 200_000);
    expect(await ours().recoverLeftovers()).toBe(1);
    const there = await callIs(d, order, "kept", (c) => c.recording?.state === "stored", pass);
    expect([there.recording?.key, there.recording?.seconds, await growing()]).toEqual([
      `2026/11/20/own/${call._id}.wav`,
      2,
      [`2026-11-20_${live}.wav`],
    ]);
    expect(await ours().recoverLeftovers()).toBe(0);
  });
  test("of a talk that is silent for long is not: the process that records it says so", async () => {
    const { order, call } = await talked();
    const mine = ours();
    const recorder = mine.record(call._id, RATE);
    const speak = async (): Promise<void> => {
      await clock.advance(20_000);
      recorder.heard(new Int16Array(FRAME).fill(1), clock.monotonicMs() - 20);
    };
    await speak();
    await speak();
    await until("the first sound to be written", async () =>
      (await growing()).some((name) => name.includes(call._id)) ? true : undefined,
    );
    await age(call._id, 900_000);
    await mine.recoverLeftovers();
    await ours().recoverLeftovers();
    expect((await growing()).some((name) => name.includes(call._id))).toBe(true);
    await recorder.end();
    expect((await callIs(d, order, "kept", (c) => c.recording?.state === "stored", pass)).recording?.seconds).toBe(40);
  });
  test("of a talk whose dialer could not be told is told later", async () => {
    const { order, call } = await talked();
    const { bus, env } = d.stage;
    let isAway = true;
    const away: Pick<typeof bus, "call"> = {
      call: (name, params, options) => (isAway ? Promise.reject(new Error("away")) : bus.call(name, params, options)),
    };
    const recordings = sessionRecordings({ env, ids, bus: away, clock, log });
    await record(recordings, call._id, 1);
    expect([
      (await growing()).some((name) => name.includes(call._id)),
      (await d.calls.findOne({ _id: call._id }))?.recording?.state,
    ]).toEqual([true, "wanted"]);
    await age(call._id, 400_000);
    isAway = false;
    expect(await recordings.recoverLeftovers()).toBeGreaterThan(0);
    await callIs(d, order, "kept", (c) => c.recording?.state === "stored", pass);
  });
});
