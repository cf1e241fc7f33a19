import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  LATENESS_MS,
  stereoRecorder,
  type RecordingSink,
} from "../../../services/conversation/recording/stereo-recorder.ts";
import {
  repairWavFile,
  wavFileSink,
  WAV_HEADER_BYTES,
  wavHeader,
} from "../../../services/conversation/recording/wav-file.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "recorder-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const RATE = 8000;
const FRAME = 160;
const FRAME_MS = 20;
const tone = (hz: number, from: number, samples: number): Int16Array =>
  Int16Array.from({ length: samples }, (_, i) => Math.round(8000 * Math.sin((2 * Math.PI * hz * (from + i)) / RATE)));

/** Both sides of a WAV file, and what its header says. */
const read = (file: Buffer) => {
  const frames = (file.length - WAV_HEADER_BYTES) / 4;
  const side = (offset: number): Int16Array =>
    Int16Array.from({ length: frames }, (_, i) => file.readInt16LE(WAV_HEADER_BYTES + i * 4 + offset));
  return {
    rate: file.readUInt32LE(24),
    bytes: file.readUInt32LE(40),
    seconds: frames / file.readUInt32LE(24),
    left: side(0),
    right: side(2),
  };
};
/** Normalised correlation of two stretches of the same length. */
const likeness = (a: Int16Array, b: Int16Array): number => {
  let ab = 0,
    aa = 0,
    bb = 0;
  for (const [i, x] of a.entries()) {
    const y = b[i] ?? 0;
    ab += x * y;
    aa += x * x;
    bb += y * y;
  }
  return ab / Math.sqrt(aa * bb || 1);
};
const loudest = (pcm: Int16Array): number => pcm.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** A sink in memory that can be held up, or broken. */
function memorySink() {
  const parts: { at: number; bytes: Uint8Array }[] = [];
  const state = { finished: -1, abandoned: 0, most: 0, writing: 0, broken: false, parts };
  let held: Promise<void> | null = null;
  let free: () => void = () => undefined;
  const sink: RecordingSink = {
    async write(bytes, at) {
      state.writing += 1;
      state.most = Math.max(state.most, state.writing);
      await held;
      state.writing -= 1;
      if (state.broken) throw new Error("disk full");
      parts.push({ at, bytes });
    },
    finish: async (bytes) => {
      state.finished = bytes;
    },
    abandon: async () => {
      state.abandoned += 1;
    },
  };
  return {
    sink,
    state,
    hold() {
      held = new Promise((resolve) => {
        free = resolve;
      });
    },
    free: () => free(),
  };
}

const recorderOn = (clock: VirtualClock, sink: RecordingSink, faults: unknown[] = []) =>
  stereoRecorder({
    rate: RATE,
    clock,
    open: () => sink,
    onFault: (error) => {
      faults.push(error);
    },
  });

describe("a recorded conversation", () => {
  /** Records to a file while `frame` says what is told at each 20 ms. Virtual time waits for the disk, of which a recorder waits for 8 s. */
  const record = async (
    name: string,
    frames: number,
    frame: (recorder: ReturnType<typeof recorderOn>, i: number, now: number) => void,
  ) => {
    const clock = virtualClock();
    const path = join(dir, name);
    const file = wavFileSink(path, RATE);
    let written: Promise<void> = Promise.resolve();
    const recorder = recorderOn(clock, { ...file, write: (bytes, at) => (written = file.write(bytes, at)) });
    for (let i = 0; i < frames; i += 1) {
      await clock.advance(FRAME_MS);
      await written;
      frame(recorder, i, clock.monotonicMs());
    }
    await recorder.end();
    await recorder.end();
    return read(await readFile(path));
  };

  test("is as long as it lasted; the caller is left, we are right, each where it sounded", async () => {
    const wav = await record("both.wav", 500, (recorder, i, now) => {
      if (i >= 100 && i < 200) recorder.heard(tone(440, i * FRAME, FRAME), now - FRAME_MS);
      if (i >= 250 && i < 400) recorder.played(tone(700, i * FRAME, FRAME), now - FRAME_MS);
    });
    expect([wav.rate, wav.bytes, wav.seconds]).toEqual([RATE, 500 * FRAME * 4, 10]);
    expect(likeness(wav.left.subarray(100 * FRAME, 200 * FRAME), tone(440, 100 * FRAME, 100 * FRAME))).toBeGreaterThan(
      0.999,
    );
    expect(likeness(wav.right.subarray(250 * FRAME, 400 * FRAME), tone(700, 250 * FRAME, 150 * FRAME))).toBeGreaterThan(
      0.999,
    );
    expect([loudest(wav.left.subarray(0, 100 * FRAME)), loudest(wav.left.subarray(200 * FRAME))]).toEqual([0, 0]);
    expect([loudest(wav.right.subarray(0, 250 * FRAME)), loudest(wav.right.subarray(400 * FRAME))]).toEqual([0, 0]);
  });

  test("arrival that wavers leaves no seam; a clock that runs a little off stays within 150 ms", async () => {
    const waver = [0, 30, -15, 45, 5];
    const wav = await record("waver.wav", 1000, (recorder, i, now) => {
      recorder.heard(tone(440, i * FRAME, FRAME), now - FRAME_MS + (waver[i % 5] ?? 0));
      if (i % 100 !== 99) recorder.played(tone(700, i * FRAME, FRAME), now - FRAME_MS); // our side is 1 % slow
    });
    expect(wav.seconds).toBe(20);
    const shift = Array.from({ length: 61 }, (_, ms) =>
      likeness(wav.left.subarray(8 * ms, 8 * ms + 8000), tone(440, 0, 8000)),
    );
    expect(Math.max(...shift)).toBeGreaterThan(0.999);
    expect(loudest(wav.right.subarray(-1600))).toBeGreaterThan(0);
  });

  test("a bunch of late frames after a stall of the network is put where it was spoken", async () => {
    let late: Int16Array[] = [];
    const wav = await record("stall.wav", 300, (recorder, i, now) => {
      late.push(tone(440, i * FRAME, FRAME));
      if (i >= 100 && i < 120) return;
      for (const pcm of late) recorder.heard(pcm, now - FRAME_MS);
      late = [];
    });
    expect(likeness(wav.left.subarray(0, 240 * FRAME), tone(440, 0, 240 * FRAME))).toBeGreaterThan(0.95);
    expect(likeness(wav.left.subarray(200 * FRAME, 295 * FRAME), tone(440, 200 * FRAME, 95 * FRAME))).toBeGreaterThan(
      0.1,
    );
  });

  test.each([80, 100, 120, 200, 400])(
    "frames that come %d ms late at once leave no hole in what was said",
    async (ms) => {
      const [from, frames] = [100, ms / FRAME_MS];
      const wav = await record(`late-${ms}.wav`, 300, (recorder, i, now) => {
        if (i >= from && i < from + frames) return;
        const waited = i === from + frames ? frames : 0;
        for (let n = i - waited; n <= i; n++) recorder.heard(tone(440, n * FRAME, FRAME), now - FRAME_MS);
      });
      const around = wav.left.subarray((from - 50) * FRAME, (from + 50) * FRAME);
      expect(likeness(around, tone(440, (from - 50) * FRAME, 100 * FRAME))).toBeGreaterThan(0.97);
    },
  );

  test("cleared audio is not in it; our audio may be reported late, far too late audio is left out", async () => {
    const wav = await record("clear.wav", 300, (recorder, i, now) => {
      if (i === 149)
        for (let k = 0; k < 50; k += 1) recorder.played(tone(700, k * FRAME, FRAME), now - 1000 + k * FRAME_MS);
      if (i === 290) recorder.played(tone(700, 0, FRAME), now - LATENESS_MS - 2000);
    });
    expect([
      loudest(wav.right.subarray(0, 100 * FRAME)),
      loudest(wav.right.subarray(150 * FRAME)),
      wav.seconds,
    ]).toEqual([0, 0, 6]);
    expect(likeness(wav.right.subarray(100 * FRAME, 150 * FRAME), tone(700, 0, 50 * FRAME))).toBeGreaterThan(0.999);
  });

  test("minutes without any sound are silence of that length", async () => {
    const wav = await record("still.wav", 3100, (recorder, i, now) => {
      if (i < 10 || i >= 3090) recorder.heard(tone(440, 0, FRAME), now - FRAME_MS);
    });
    expect([
      wav.seconds,
      loudest(wav.left.subarray(10 * FRAME, 3080 * FRAME)),
      loudest(wav.left.subarray(3090 * FRAME)) > 0,
      loudest(wav.right),
    ]).toEqual([62, 0, true, 0]);
  });

  test("of five hours four are recorded, and what is silent is never written", async () => {
    const clock = virtualClock();
    const { sink, state } = memorySink();
    const recorder = recorderOn(clock, sink);
    for (let hour = 0; hour < 5; hour += 1) {
      await clock.advance(3_600_000);
      recorder.heard(tone(440, 0, FRAME), clock.monotonicMs() - FRAME_MS);
    }
    await recorder.end();
    expect([state.finished, Math.max(...state.parts.map(({ at }) => at)) < state.finished]).toEqual([
      4 * 3600 * RATE * 4,
      true,
    ]);
  });
});

describe("the disk", () => {
  const talk = async (seconds: number, recorder: ReturnType<typeof recorderOn>, clock: VirtualClock): Promise<void> => {
    for (let i = 0; i < seconds * 50; i += 1) {
      await clock.advance(FRAME_MS);
      recorder.heard(tone(440, i * FRAME, FRAME), clock.monotonicMs() - FRAME_MS);
    }
  };
  test("is written to in pieces of about a second, one at a time; while it is busy a few wait and the rest is lost", async () => {
    const clock = virtualClock();
    const faults: unknown[] = [];
    const { sink, state, hold, free } = memorySink();
    const recorder = recorderOn(clock, sink, faults);
    await talk(10, recorder, clock);
    expect([state.parts.length, Math.max(...state.parts.map(({ bytes }) => bytes.length)) <= 1.1 * RATE * 4]).toEqual([
      8,
      true,
    ]);
    hold();
    await talk(30, recorder, clock);
    expect([state.parts.length, state.most]).toEqual([8, 1]);
    free();
    await recorder.end();
    expect([state.finished, state.parts.length < 20, faults.length]).toEqual([40 * RATE * 4, true, 1]);
  });
  test("a full disk costs the recording, not the conversation", async () => {
    const clock = virtualClock();
    const faults: unknown[] = [];
    const { sink, state } = memorySink();
    state.broken = true;
    const recorder = recorderOn(clock, sink, faults);
    await talk(5, recorder, clock);
    await recorder.end();
    expect([state.finished, state.abandoned, faults]).toEqual([-1, 1, [new Error("disk full")]]);
  });
  test("a file that is there already is another's: it is neither written nor removed", async () => {
    const clock = virtualClock();
    const faults: unknown[] = [];
    const path = join(dir, "there.wav");
    await writeFile(path, "another's");
    const recorder = recorderOn(clock, wavFileSink(path, RATE), faults);
    await talk(5, recorder, clock);
    await recorder.end();
    expect([await readFile(path, "utf8"), faults.length]).toEqual(["another's", 1]);
  });
  test("a conversation that ends at once leaves nothing", async () => {
    const path = join(dir, "never.wav");
    await recorderOn(virtualClock(), wavFileSink(path, RATE)).end();
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });
});

describe("the file of a crashed process", () => {
  test("is finished: as long as what reached the disk", async () => {
    const path = join(dir, "left.wav");
    await writeFile(path, Buffer.concat([wavHeader(RATE, 0), Buffer.alloc(4 * RATE), Buffer.alloc(4 * RATE + 2, 1)])); // the last moment half
    expect(await repairWavFile(path)).toBe(RATE);
    const wav = read(await readFile(path));
    expect([wav.rate, wav.bytes, wav.seconds, wav.left[0], wav.left[RATE]]).toEqual([RATE, 8 * RATE, 2, 0, 257]);
  });
  test.each([
    ["empty", Buffer.alloc(0)],
    ["a header only", wavHeader(RATE, 0)],
    ["no sound", Buffer.alloc(500)],
  ])("nothing where there is nothing in it: %s", async (name, content) => {
    const path = join(dir, `${name}.wav`);
    await writeFile(path, content);
    expect(await repairWavFile(path)).toBeNull();
  });
});
