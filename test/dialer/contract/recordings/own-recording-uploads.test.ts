import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { readdir, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import {
  sessionRecordings,
  type SessionRecordings,
} from "../../../../services/conversation/recording/session-recordings.ts";
import { WAV_HEADER_BYTES } from "../../../../services/conversation/recording/wav-file.ts";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { readEnv } from "../../../../shared/process/env.ts";
import { rootLog } from "../../../../shared/process/log.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../../fixtures/s3-server.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { callIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../../fixtures/dialer-stage/dial-orders.ts";
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
const growing = (): Promise<string[]> => readdir(join(elsewhere, ".talks")).catch(() => []);
/** Each recording in a folder. */
const recordingsIn = async (dir: string): Promise<string[]> =>
  (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(".wav"));
/** What the bucket holds of a call. */
const objectsOf = ({ objects }: S3Server, { _id }: CallDoc): string[] =>
  [...objects.keys()].filter((key) => key.includes(_id));
/** An hour later in the folder, as nobody wrote there meanwhile. */
async function age(): Promise<void> {
  const then = new Date(Date.now() - 3_600_000);
  for (const name of await growing()) await utimes(join(elsewhere, ".talks", name), then, then);
}
const recordingOf = async (call: CallDoc, stage = d) =>
  (await stage.stage.bus.call("dialer.recordingOf", { call_id: call.carrier_call_id ?? "" })).recording;
/** Recordings of a process whose folder no dialer sees. */
const elsewhere = mkdtempSync(join(tmpdir(), "callagent-own-folder-"));
afterAll(() => rmSync(elsewhere, { recursive: true }));
const ours = (stage = d): SessionRecordings => {
  const { bus, env } = stage.stage;
  return sessionRecordings({ env: { ...env, RECORDINGS_DIR: elsewhere }, ids, bus, clock, log });
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

describe("a recording of our own, with a bucket", () => {
  let bucket: S3Server;
  let s: DialerStage;
  beforeAll(async () => {
    bucket = await startS3();
    s = await setDialerStage({
      clock,
      env: {
        RECORDING_SOURCE: "own",
        UPLOAD_CALL_RECORDINGS_TO_CLOUD: "true",
        S3_BUCKET: S3_ACCOUNT.bucket,
        S3_ENDPOINT: bucket.url,
        S3_ACCESS_KEY_ID: S3_ACCOUNT.access_key_id,
        S3_SECRET_ACCESS_KEY: S3_ACCOUNT.secret_access_key,
      },
    });
  });
  afterAll(async () => {
    await s.stop();
    await bucket.stop();
  });

  const uploaded = (order: DialJob) =>
    callIs(s, order, "the upload", (c) => c.recording?.state === "uploaded" && c.recording.due_at === undefined, pass);

  test("goes to the bucket from a folder that the dialer does not see, is told of, and is there once when handed over twice", async () => {
    const { order, call } = await talked({}, s);
    await record(ours(s), call._id, 2);
    const there = await uploaded(order);
    const key = `${clock.now().toISOString().slice(0, 10).replaceAll("-", "/")}/own/${call._id}.wav`;
    expect(there.recording).toMatchObject({ key, own: true, seconds: 2, channels: 2, told: true, stored_told: true });
    expect(bucket.objects.get(key)).toMatchObject({ content_type: "audio/wav" });
    expect(bucket.objects.get(key)?.body).toHaveLength(WAV_HEADER_BYTES + 2 * RATE * 4);
    expect((await recordingOf(call, s))?.where).toBe("cloud");
    expect(s.toldOf(order).filter(({ params }) => params["recording_stored"] !== undefined)).toHaveLength(1);

    await record(ours(s), call._id, 2);
    expect([objectsOf(bucket, call), await recordingOf(call, s)]).toEqual([
      [key],
      expect.objectContaining({ state: "uploaded", key }),
    ]);
    const left = await Promise.all([elsewhere, s.stage.env.RECORDINGS_DIR].map(recordingsIn));
    expect([left, await growing()]).toEqual([[[], []], []]);
  });

  test("a bucket that is away when the conversation ends has it later; until then it stays in the folder", async () => {
    const { order, call } = await talked({}, s);
    bucket.failing = Infinity;
    const recordings = ours(s);
    await record(recordings, call._id, 1);
    expect([(await growing()).length, recordings.waiting(), objectsOf(bucket, call)]).toEqual([1, 1, []]);
    await recordings.handOverRest();
    expect([(await growing()).length, recordings.waiting(), objectsOf(bucket, call)]).toEqual([1, 1, []]);
    expect((await recordingOf(call, s))?.state).toBe("wanted");
    bucket.failing = 0;
    expect(await recordings.recoverLeftovers()).toBe(1);
    expect((await uploaded(order)).recording?.bytes).toBe(WAV_HEADER_BYTES + RATE * 4);
    expect([await growing(), recordings.waiting()]).toEqual([[], 0]);
  });

  test("one that waits and that another process of the folder has handed over waits no more", async () => {
    const { order, call } = await talked({}, s);
    bucket.failing = Infinity;
    const recordings = ours(s);
    await record(recordings, call._id, 1);
    expect(recordings.waiting()).toBe(1);
    bucket.failing = 0;
    await age();
    expect(await ours(s).recoverLeftovers()).toBe(1);
    await recordings.recoverLeftovers();
    expect([recordings.waiting(), await growing(), objectsOf(bucket, call).length]).toEqual([0, [], 1]);
    await uploaded(order);
  });

  test("one that was handed over in the folder, before there was a bucket, is in the bucket alone when it is handed over again", async () => {
    const { order, call } = await talked({}, s);
    const { bus, env } = s.stage;
    const before = { ...env, UPLOAD_CALL_RECORDINGS_TO_CLOUD: false };
    bucket.failing = Infinity;
    await record(sessionRecordings({ env: before, ids, bus, clock, log }), call._id, 1);
    await callIs(s, order, "it to be stored", (c) => c.recording?.state === "stored");
    bucket.failing = 0;
    await record(ours(s), call._id, 1);
    await uploaded(order);
    expect([objectsOf(bucket, call).length, await recordingsIn(s.stage.env.RECORDINGS_DIR)]).toEqual([1, []]);
  });

  test("one that waits is tried once more when its process ends", async () => {
    const { order, call } = await talked({}, s);
    bucket.failing = Infinity;
    const recordings = ours(s);
    await record(recordings, call._id, 1);
    bucket.failing = 0;
    await recordings.handOverRest();
    await uploaded(order);
    expect([await growing(), recordings.waiting()]).toEqual([[], 0]);
  });

  test("one that no dialer can be told of is put there again, and told then", async () => {
    const { order, call } = await talked({}, s);
    const { bus, env } = s.stage;
    const away = { call: () => Promise.reject(new Error("nobody answers")) };
    const deps = { env: { ...env, RECORDINGS_DIR: elsewhere }, ids, clock, log };
    await record(sessionRecordings({ ...deps, bus: away }), call._id, 1);
    expect([(await growing()).length, objectsOf(bucket, call).length]).toEqual([1, 1]);
    await age();
    expect(await sessionRecordings({ ...deps, bus }).recoverLeftovers()).toBe(1);
    await uploaded(order);
    expect(objectsOf(bucket, call)).toHaveLength(1);
  });

  test("of a call that its carrier records nothing stays in the bucket but the carrier's", async () => {
    const key = "2026/01/01/theirs.wav";
    bucket.objects.set(key, { body: Buffer.from("theirs"), content_type: "audio/wav" });
    const recording = { state: "uploaded", told: true, tries: 0, key, bytes: 6, content_type: "audio/wav" } as const;
    const { call } = await talked({ recording }, s);
    await record(ours(s), call._id, 1);
    expect([objectsOf(bucket, call), bucket.objects.has(key), await growing()]).toEqual([[], true, []]);
    expect((await recordingOf(call, s))?.key).toBe(key);
  });

  test("one whose local copy is gone before the upload is nowhere else: failed", async () => {
    const { order } = await talked(
      {
        recording: {
          state: "stored",
          own: true,
          told: true,
          tries: 0,
          key: "2026/01/01/x.wav",
          bytes: 5,
          content_type: "audio/wav",
          due_at: clock.now(),
        },
      },
      s,
    );
    const there = await callIs(s, order, "the end of it", (c) => c.recording?.state === "failed", pass);
    expect(there.recording?.due_at).toBeUndefined();
  });
});
