import { expect, test } from "@jest/globals";
import { createExchange } from "../../../local/carriers/exchange/exchange.ts";
import { type Call } from "../../../local/carriers/exchange/call.ts";
import { createFaults } from "../../../local/carriers/exchange/faults.ts";
import { openLedger } from "../../../local/carriers/ledger/ledger.ts";
import { recordLeg, type LegRecorder } from "../../../local/carriers/exchange/leg-recording.ts";
import { startTime, type SimTime } from "../../../local/carriers/exchange/simulated-time.ts";
import { skippingClock } from "../../fixtures/skipping-clock.ts";

const FRAME_BYTES = 4;
const HEADER_BYTES = 44;
const FRAMES_PER_MS = 8;

/** A call to a person who never says a word, recorded from the answer. */
async function recorded(
  talk: (call: Call, time: SimTime) => Promise<void>,
): Promise<{ wav: Buffer; seconds: number; recorder: LegRecorder }> {
  const time = startTime(1, skippingClock());
  const ledger = openLedger();
  const exchange = createExchange({ time, ledger, faults: createFaults(), seed: "recording" });
  const recorder = await new Promise<LegRecorder>((resolve, reject) => {
    exchange.place(
      {
        sid: "CA1",
        account: "AC1",
        to: "+15550000005",
        from: "+15551110000",
        reference: null,
        ringTimeoutMs: 40_000,
        maxAnsweredMs: 3_600_000,
        details: {},
      },
      {
        onPhase: (call) => {
          if (call.phase === "ended" && call.answeredAt === null) reject(new Error("nobody answered"));
        },
        async runAnsweredCall(call) {
          const line = recordLeg(call);
          await talk(call, time);
          resolve(line);
          return "carrier";
        },
      },
    );
  });
  await ledger.close();
  return { ...withWav(recorder), recorder };
}

const withWav = (recorder: LegRecorder): { wav: Buffer; seconds: number } => {
  const { wav, seconds } = recorder.stop();
  return { wav, seconds };
};

/** Mean loudness of a channel between two instants. */
function loudness(wav: Buffer, channel: 0 | 1, fromMs: number, untilMs: number): number {
  let sum = 0;
  for (let frame = fromMs * FRAMES_PER_MS; frame < untilMs * FRAMES_PER_MS; frame += 1)
    sum += Math.abs(wav.readInt16LE(HEADER_BYTES + frame * FRAME_BYTES + channel * 2));
  return sum / ((untilMs - fromMs) * FRAMES_PER_MS);
}

const talk = async ({ leg, over }: Call, time: SimTime): Promise<void> => {
  await time.wait(1_000, over);
  leg.voice.say("x".repeat(30), { last: true }); // 2 s
  await leg.voice.drained();
  await time.wait(1_000, over);
  await leg.say("y".repeat(15)); // 1 s, and 250 ms until it is recognized
  leg.press("5");
  await time.wait(750, over);
};

test("a recording is a stereo file of the talk's length, the person left, the agent right, silent where nobody speaks", async () => {
  const { wav, seconds } = await recorded(talk);
  expect([wav.toString("latin1", 0, 4), wav.toString("latin1", 8, 16), wav.toString("latin1", 36, 40)]).toEqual([
    "RIFF",
    "WAVEfmt ",
    "data",
  ]);
  expect([
    wav.readUInt32LE(4),
    wav.readUInt16LE(20),
    wav.readUInt16LE(22),
    wav.readUInt32LE(24),
    wav.readUInt16LE(34),
    wav.readUInt32LE(40),
  ]).toEqual([wav.length - 8, 1, 2, 8_000, 16, wav.length - 44]);
  expect(seconds).toBe(6);
  expect(wav.length).toBe(HEADER_BYTES + 6_000 * FRAMES_PER_MS * FRAME_BYTES);
  const heard = (from: number, until: number): boolean[] =>
    ([0, 1] as const).map((channel) => loudness(wav, channel, from, until) > 1_000);
  expect([
    heard(0, 990),
    heard(1_010, 2_990),
    heard(3_010, 3_990),
    heard(4_010, 4_990),
    heard(5_000, 5_240),
    heard(5_260, 5_340),
    heard(5_400, 6_000),
  ]).toEqual([
    [false, false],
    [false, true],
    [false, false],
    [true, false],
    [false, false],
    [true, false],
    [false, false],
  ]);
});

test("the same talk gives the same file, stopping twice gives the same recording, and what comes after is not on it", async () => {
  const first = await recorded(talk);
  const second = await recorded(talk);
  expect(first.wav.equals(second.wav)).toBe(true);
  expect(first.recorder.stop()).toBe(first.recorder.stop());
});

test("a talk without an end is recorded for ten minutes", async () => {
  const { wav, seconds } = await recorded(async ({ leg, over }, time) => {
    leg.voice.say("z".repeat(15 * 700), { last: true });
    await time.wait(800_000, over);
  });
  expect(seconds).toBe(600);
  expect(wav.length).toBe(HEADER_BYTES + 600_000 * FRAMES_PER_MS * FRAME_BYTES);
  expect(loudness(wav, 1, 599_000, 599_900)).toBeGreaterThan(1_000);
});
