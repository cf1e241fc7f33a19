import { beforeEach, expect, test } from "@jest/globals";
import { BLOCK, startProgram } from "./fixtures/page-sound.ts";

const RATE = 48_000;
const BLOCK_MS = (BLOCK * 1000) / RATE;
/** A frame of the wire: 20 ms at 16 kHz. */
const FRAME_MS = 20;
const FRAME = 320;
const WIRE_RATE = 16_000;

type Message = { type: "sound"; pcm: Int16Array } | { type: "mark"; name: string } | { type: "clear" };

/** The loudspeaker's port as a test has it. */
class Port {
  readonly marks: string[] = [];
  tell: (event: { data: Message }) => void = () => undefined;
  start = (): void => undefined;
  addEventListener(_type: string, told: (event: { data: Message }) => void): void {
    this.tell = told;
  }
  postMessage(mark: string): void {
    this.marks.push(mark);
  }
}

interface Loudspeaker {
  port: Port;
  process(inputs: unknown[], outputs: [[Float32Array]]): boolean;
}

/** Starts the page's loudspeaker outside of a browser. */
const started = (rate = RATE): Loudspeaker => startProgram<Loudspeaker>("loudspeaker", rate, () => new Port());

let loudspeaker: Loudspeaker;
beforeEach(() => {
  loudspeaker = started();
});

/** What is heard of an utterance. `began`: after its first frame came, ms; `gaps`: silences within it, ms. */
interface Heard {
  began: number;
  gaps: number[];
}

/** The next utterance follows so soon after the one before: a gap of that length would count. */
const PAUSE_MS = 200;
/** Plays an utterance of frames that come at these times, ms, and its mark once `markAt`, ms; absent: with its last frame. */
function heard(arrivals: readonly number[], markAt = arrivals.at(-1) ?? 0): Heard {
  const [first = 0] = arrivals;
  const sounds: boolean[] = [];
  let next = 0;
  let isMarked = false;
  let silentMs = 0;
  for (let now = 0; next < arrivals.length || now < markAt || silentMs < PAUSE_MS; now += BLOCK_MS) {
    for (; next < arrivals.length && (arrivals[next] ?? 0) <= now; next++)
      loudspeaker.port.tell({ data: { type: "sound", pcm: new Int16Array(FRAME).fill(10_000) } });
    if (!isMarked && now >= markAt) {
      loudspeaker.port.tell({ data: { type: "mark", name: "m" } });
      isMarked = true;
    }
    const block = new Float32Array(BLOCK);
    loudspeaker.process([], [[block]]);
    const isSound = block.some((sample) => sample !== 0);
    sounds.push(isSound);
    silentMs = isSound ? 0 : silentMs + BLOCK_MS;
  }
  const text = sounds.map((isSound) => (isSound ? "s" : " ")).join("");
  const silences = text.trim().match(/ +/g) ?? [];
  return { began: text.indexOf("s") * BLOCK_MS - first, gaps: silences.map(({ length }) => length * BLOCK_MS) };
}

/** Frames in real time, those from `from` on so much later, until the sender has caught up. */
const late = (frames: number, from = 0, ms = 0): number[] =>
  Array.from({ length: frames }, (_, n) => {
    const due = n * FRAME_MS;
    return n < from ? due : Math.max(due, from * FRAME_MS + ms);
  });
const STEADY = late(50);
const BEGINS_MS = [FRAME_MS - BLOCK_MS, FRAME_MS + BLOCK_MS] as const;

test("sound begins once 40 ms of it are there, and has no gap while packets come in time", () => {
  const { began, gaps } = heard(STEADY);
  expect(began).toBeGreaterThan(BEGINS_MS[0]);
  expect(began).toBeLessThanOrEqual(BEGINS_MS[1]);
  expect(gaps).toEqual([]);
  expect(loudspeaker.port.marks).toEqual(["m"]);
});
test("packets that come 60 ms late make a gap once: more is kept of what follows", () => {
  expect(heard(late(50, 20, 60)).gaps).toHaveLength(1);
  expect(heard(late(50, 20, 60)).gaps).toEqual([]);
});
test("packets that come late again and again make no more gaps while the sound goes on", () => {
  // every half a second the sender stands still for 70 ms
  const due = Array.from({ length: 200 }, (_, n) => n * FRAME_MS);
  const arrivals = due.map((at) => at + Math.max(0, 70 - (at % 500)));
  expect(heard(arrivals).gaps.length).toBeLessThanOrEqual(2);
});
test("no more than 120 ms is kept", () => {
  for (let n = 0; n < 5; n++) heard(late(50, 20, 400));
  const { began } = heard(STEADY);
  expect(began).toBeGreaterThan(80);
  expect(began).toBeLessThanOrEqual(100 + BLOCK_MS);
});
test("after half a minute without a gap sound begins as at first", () => {
  heard(late(50, 20, 400));
  for (let n = 0; n < 30; n++) heard(STEADY);
  expect(heard(STEADY).began).toBeLessThanOrEqual(BEGINS_MS[1]);
});
test("the end of an utterance is no gap, also where its mark comes after it was played", () => {
  for (let n = 0; n < 5; n++) heard(STEADY, 50 * FRAME_MS + 100);
  expect(heard(STEADY).began).toBeLessThanOrEqual(BEGINS_MS[1]);
});
test("a pause of the speaker is no gap that a buffer would fill", () => {
  const { gaps } = heard(late(50, 20, 700));
  expect(gaps).toHaveLength(1);
  expect(heard(STEADY).began).toBeLessThanOrEqual(BEGINS_MS[1]);
});
test("what was thrown away is not played, and its end is no gap", () => {
  heard(STEADY);
  for (let n = 0; n < 5; n++) loudspeaker.port.tell({ data: { type: "sound", pcm: new Int16Array(FRAME).fill(1) } });
  loudspeaker.port.tell({ data: { type: "clear" } });
  const { began, gaps } = heard(STEADY);
  expect([began <= BEGINS_MS[1], gaps]).toEqual([true, []]);
});

/** How loud a tone of the wire is at these pitches of what is played, dB below its own loudness. */
function played(hertz: number, rate: number, at: readonly number[]): number[] {
  const amplitude = 16_000;
  const speaker = started(rate);
  const wire = Int16Array.from(
    { length: 50 * FRAME },
    (_, i) => amplitude * Math.sin((2 * Math.PI * hertz * i) / WIRE_RATE),
  );
  for (let i = 0; i < wire.length; i += FRAME)
    speaker.port.tell({ data: { type: "sound", pcm: wire.slice(i, i + FRAME) } });
  const samples: number[] = [];
  while (samples.length < rate / 2) {
    const block = new Float32Array(BLOCK);
    speaker.process([], [[block]]);
    samples.push(...block);
  }
  const steady = samples.slice(rate / 10);
  // a window, so that one pitch is not taken for another
  const window = (i: number): number => 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / steady.length);
  return at.map((pitch) => {
    const part = (of: (x: number) => number): number =>
      steady.reduce((sum, sample, i) => sum + window(i) * sample * of((2 * Math.PI * pitch * i) / rate), 0);
    const level = (4 * Math.hypot(part(Math.sin), part(Math.cos))) / steady.length;
    return 20 * Math.log10(level / (amplitude / 32_768) + 1e-9);
  });
}

test.each([44_100, 48_000].flatMap((rate) => [1000, 3000, 5500].map((hertz) => [hertz, rate] as const)))(
  "a tone of %i Hz is played as it is, and no other beside it, at %i Hz",
  (hertz, rate) => {
    const [own = -Infinity, ...others] = played(hertz, rate, [hertz, WIRE_RATE - hertz, WIRE_RATE + hertz]);
    expect(Math.abs(own)).toBeLessThan(0.5);
    expect(Math.max(...others)).toBeLessThan(-50);
  },
);

test("a frame without a sample is passed over", () => {
  loudspeaker.port.tell({ data: { type: "sound", pcm: new Int16Array() } });
  expect(heard(STEADY).gaps).toEqual([]);
});
