import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { CallDoc } from "../../../../services/dialer/call/calls.model.ts";
import type { StoredRecording } from "../../../../services/dialer/call/calls.model.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { until } from "../../../../local/harness/stage.ts";
import { S3_ACCOUNT, startS3, type S3Server } from "../../../fixtures/s3-server.ts";
import { virtualClock } from "../../../fixtures/virtual-clock.ts";
import { callIs } from "../../fixtures/dialer-stage/call-waits.ts";
import { setDialerStage, type DialerStage } from "../../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const isIn =
  (state: string) =>
  (c: CallDoc): boolean =>
    c.recording?.state === state;
const recorded = async (
  order: DialJob,
  state: string,
  stage = d,
): Promise<CallDoc & { recording: StoredRecording }> => {
  const call = await callIs(stage, order, `the recording to be ${state}`, isIn(state), pass);
  if (!call.recording) throw new Error("it has no recording");
  return { ...call, recording: call.recording };
};
const where = (call: CallDoc, stage = d) =>
  stage.stage.bus.call("dialer.recordingOf", { call_id: call.carrier_call_id ?? "" });

describe("uploads", () => {
  let bucket: S3Server;
  let s: DialerStage;
  beforeAll(async () => {
    bucket = await startS3();
    s = await setDialerStage({
      clock,
      env: {
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

  test("a stored recording goes to the bucket, and the local copy goes when the bucket has it", async () => {
    const order = s.order("01");
    await s.dial(order);
    const call = await recorded(order, "uploaded", s);
    const { key = "", bytes } = call.recording;
    expect([
      bucket.objects.get(key)?.body.length,
      bucket.objects.get(key)?.content_type,
      (await where(call, s)).recording?.where,
    ]).toEqual([bytes, "audio/wav", "cloud"]);
    await until("the local copy to go", async () =>
      (await readFile(join(s.stage.env.RECORDINGS_DIR, key)).catch(() => null)) === null ? true : undefined,
    );
    await callIs(s, order, "nothing owed", (c) => c.recording?.due_at === undefined, pass);
  });

  test("a bucket that is down: the local copy is served, and the upload tried again and again", async () => {
    const order = s.order("01");
    bucket.failing = 3;
    await s.dial(order);
    const call = await callIs(
      s,
      order,
      "a failed upload",
      (c) => isIn("stored")(c) && c.recording?.error !== undefined,
      pass,
    );
    const key = call.recording?.key ?? "";
    expect([(await where(call, s)).recording, (await readFile(join(s.stage.env.RECORDINGS_DIR, key))).length]).toEqual([
      expect.objectContaining({ state: "stored", where: "local" }),
      call.recording?.bytes,
    ]);
    await callIs(s, order, "the upload", isIn("uploaded"), () => clock.advance(60_000));
    expect(bucket.objects.has(key)).toBe(true);
  });

  test("one whose local copy is gone before the upload is fetched anew", async () => {
    const order = s.order("01");
    await s.dial(order);
    const call = await recorded(order, "uploaded", s);
    await callIs(s, order, "nothing owed", (c) => c.recording?.due_at === undefined, pass);
    const key = call.recording.key ?? "";
    await until("the local copy to go", async () =>
      (await readFile(join(s.stage.env.RECORDINGS_DIR, key)).catch(() => null)) === null ? true : undefined,
    );
    bucket.objects.delete(key);
    await s.calls.updateOne(
      { _id: call._id },
      { $set: { "recording.state": "stored", "recording.due_at": clock.now() } },
    );
    await callIs(s, order, "the upload", (c) => isIn("uploaded")(c) && bucket.objects.has(key), pass);
  });
});
