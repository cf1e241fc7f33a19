import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
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

describe("with uploads", () => {
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

  test("it goes to the bucket like any other; handed over once more, the copy is removed", async () => {
    const { order, call } = await talked({}, s);
    await record(ours(s), call._id, 2);
    const there = await callIs(
      s,
      order,
      "the upload",
      (c) => c.recording?.state === "uploaded" && c.recording.due_at === undefined,
      pass,
    );
    expect([bucket.objects.get(there.recording?.key ?? "")?.body.length, (await recordingOf(call, s))?.where]).toEqual([
      WAV_HEADER_BYTES + 2 * RATE * 4,
      "cloud",
    ]);
    await record(ours(s), call._id, 1);
    expect([
      (await readdir(s.stage.env.RECORDINGS_DIR, { recursive: true })).filter((name) => name.endsWith(".wav")),
      await growing(s),
    ]).toEqual([[], []]);
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
