import { frameClock } from "../../../services/conversation/transport/frame-clock.ts";
import { spokenPrefix } from "../../../services/conversation/audio/speech-duration.ts";
import { LEAD_MS, AudioPlayout } from "../../../services/conversation/transport/audio-playout.ts";
import { FRAME_MS } from "../../../services/conversation/transport/port.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const RATE = 8000;
const ms = (n: number, value = 1000): Int16Array => new Int16Array((n * RATE) / 1000).fill(value);

/** A carrier that plays what it is given in time, and tells its marks. */
function carrier() {
  const clock = virtualClock();
  const levels: number[] = [];
  const written: { at: number; first: number | undefined }[] = [];
  const marks: string[] = [];
  let clears = 0;
  const recorded: { at: number; samples: number }[] = [];
  const playout = new AudioPlayout({
    clock,
    rate: RATE,
    encode: (pcm) => new Uint8Array(pcm.slice().buffer),
    played: (pcm, at) => recorded.push({ at, samples: pcm.length }),
    leg: {
      write: (frame) => {
        levels.push(...new Int16Array(frame.buffer));
        written.push({ at: clock.monotonicMs(), first: new Int16Array(frame.buffer)[0] });
      },
      mark: (name) => marks.push(name),
      clear: () => {
        clears++;
      },
    },
  });
  const run = async (forMs: number): Promise<void> => {
    for (let n = 0; n < forMs; n += FRAME_MS) {
      playout.tick();
      await clock.advance(FRAME_MS);
    }
    playout.tick();
  };
  const heardMs = (): number => recorded.reduce((sum, r) => sum + (r.samples * 1000) / RATE, 0);
  return { clock, playout, written, levels, marks, recorded, run, heardMs, clears: () => clears };
}

const part = (text: string, group = 1, more: { interruptible?: boolean; aside?: boolean } = {}) => ({
  text,
  group,
  interruptible: true,
  aside: false,
  ...more,
});

describe("ducking", () => {
  test("what is sent from then on is 12 dB quieter, gliding both ways, and nothing is cleared or repeated", async () => {
    const { playout, levels, run, clears } = carrier();
    playout.add(part("a long sentence")).push(ms(1600));
    await run(400);
    const before = levels.length;
    playout.duck(true);
    await run(400);
    playout.duck(false);
    await run(1200);
    expect(levels.slice(0, before).every((v) => v === 1000)).toBe(true);
    expect([Math.min(...levels), levels.at(-1), clears(), levels.length / 8]).toEqual([250, 1000, 0, 1600]);
    expect(Math.max(...levels.map((v, n) => Math.abs(v - (levels[n - 1] ?? v))))).toBeLessThanOrEqual(3);
    expect(levels.filter((v) => v === 250).length / 8).toBeGreaterThanOrEqual(340);
  });

  test("speech that is paused while it is ducked comes back as loud as it was", async () => {
    const { playout, written, run } = carrier();
    playout.add(part("a long sentence")).push(ms(2000));
    playout.duck(true);
    await run(400);
    playout.pause();
    playout.resume();
    await run(100);
    expect(written.at(-1)?.first).toBe(1000);
  });
});

describe("pacing", () => {
  test("never more than the lead is handed over ahead of time, and nothing gaps", async () => {
    const { playout, written, run } = carrier();
    const sink = playout.add(part("a long sentence"));
    sink.push(ms(2000));
    sink.end();
    await run(2200);
    expect(written).toHaveLength(2000 / FRAME_MS);
    for (const [i, { at }] of written.entries()) {
      expect(i * FRAME_MS + FRAME_MS - at).toBeLessThanOrEqual(LEAD_MS);
      expect(at).toBeLessThanOrEqual(i * FRAME_MS);
    }
  });

  test("sound that comes in odd pieces, over the seam of two parts, is one stream of whole frames", async () => {
    const { playout, written, run } = carrier();
    const one = playout.add(part("one"));
    const two = playout.add(part("two"));
    for (let left = 333; left > 0; left -= 7) one.push(new Int16Array(Math.min(7, left)).fill(1));
    two.push(new Int16Array(467).fill(2));
    await run(40);
    expect(written).toHaveLength(Math.floor(333 / 160)); // the third frame may still be filled by the first part
    one.end();
    two.end();
    await run(200);
    expect(written.map((w) => w.first)).toEqual([1, 1, 1, 2, 2]);
  });

  test("after a lull it begins anew, with the lead of a beginning", async () => {
    const { playout, written, run, clock } = carrier();
    const sink = playout.add(part("one"));
    sink.push(ms(100));
    await run(1000);
    sink.push(ms(100));
    sink.end();
    const from = clock.monotonicMs();
    await run(200);
    expect(written.slice(5).every((w) => w.at - from <= FRAME_MS)).toBe(true);
    expect(playout.busy).toBe(true); // its mark is still to come
  });

  test("beats that are a little early or late hand over a frame each all the same", async () => {
    const { playout, written, clock } = carrier();
    const sink = playout.add(part("a long sentence"));
    sink.push(ms(2000));
    sink.end();
    const burst = written.length;
    let at = 0;
    for (const [n, jitter] of [3, -4, 6, -7, 0, 8, -8, 5, -2, 7].entries()) {
      const next = (n + 1) * FRAME_MS + jitter;
      await clock.advance(next - at);
      at = next;
      playout.tick();
      expect(written).toHaveLength(burst + n + 1);
    }
  });

  test("who is silent begins with the first sound there is, between two beats too", async () => {
    const { playout, written, run, clock, marks } = carrier();
    await run(100);
    await clock.advance(7);
    const sink = playout.add(part("one"));
    sink.push(ms(100));
    expect(written.map((w) => w.at)).toEqual(Array.from({ length: 5 }, () => clock.monotonicMs()));
    sink.push(ms(200));
    expect(written).toHaveLength(5); // the rest keeps the beat
    sink.end();
    await run(400);
    expect(written).toHaveLength(300 / FRAME_MS);
    expect(marks).toEqual(["m1"]);
  });
});

describe("what was heard", () => {
  test("a cut in the middle: the words until there, and the carrier is cleared once", async () => {
    const { playout, run, clears, heardMs } = carrier();
    const sink = playout.add(part("one two three four five six seven eight nine ten"));
    sink.push(ms(3000));
    sink.end();
    await run(1500);
    expect(playout.audible).toBe(true);
    expect(playout.flush().spoken).toBe(spokenPrefix("one two three four five six seven eight nine ten", 0.5));
    expect([clears(), playout.busy, Math.round(heardMs())]).toEqual([1, false, 1500]);
    await run(500);
    expect(Math.round(heardMs())).toBe(1500);
  });

  test("a cut in the second sentence of an utterance: both, the second to where it was", async () => {
    const { playout, run } = carrier();
    for (const text of ["First sentence.", "The second one is longer."]) {
      const s = playout.add(part(text));
      s.push(ms(1000));
      s.end();
    }
    await run(1600);
    expect(playout.flush().spoken).toBe("First sentence. The second one");
  });

  test("a cut before anything of the next utterance was heard is about the one before; nothing heard at all is nothing", async () => {
    const { playout, run } = carrier();
    expect(playout.flush().spoken).toBe("");
    const first = playout.add(part("Hello.", 1));
    first.push(ms(500));
    first.end();
    playout.add(part("How are you?", 2));
    await run(600);
    expect(playout.flush().spoken).toBe("Hello.");
    const third = playout.add(part("Not a word of this.", 3));
    third.push(ms(500));
    expect(playout.flush().spoken).toBe("");
  });

  test("committed speech is not reported again, and a filler has no words", async () => {
    const { playout, run } = carrier();
    const one = playout.add(part("Hello.", 1));
    one.push(ms(300));
    one.end();
    await run(400);
    playout.commitHeard();
    const filler = playout.add(part("One moment.", 2, { aside: true }));
    filler.push(ms(900));
    filler.end();
    await run(300);
    expect(playout.flush().spoken).toBe("");
  });

  test("sound that still comes is reckoned from the text", async () => {
    const { playout, run } = carrier();
    const text = "x".repeat(149) + " y"; // ten seconds, of which one has come
    const sink = playout.add(part(text));
    sink.push(ms(1000));
    await run(1100);
    expect(playout.flush().spoken).toBe("");
  });
});

describe("a pause", () => {
  test("silence at once, and what the carrier had and did not play is played when it goes on", async () => {
    const { playout, run, clears, heardMs, marks } = carrier();
    const sink = playout.add(part("a sentence"));
    sink.push(ms(1000));
    sink.end();
    await run(400);
    playout.pause();
    expect(clears()).toBe(1);
    const before = heardMs();
    await run(1000);
    expect([heardMs(), playout.busy, playout.paused]).toEqual([before, true, true]);
    playout.resume();
    await run(800);
    expect(Math.round(heardMs())).toBe(1000);
    playout.markReturned(marks.at(-1) ?? "");
    expect(playout.busy).toBe(false);
  });
});

describe("the end", () => {
  test("a mark follows the last frame, and speech is over when it is back", async () => {
    const { playout, run, marks } = carrier();
    const sink = playout.add(part("bye"));
    sink.push(ms(100));
    sink.end();
    await run(300);
    expect(marks).toEqual(["m1"]);
    expect(playout.busy).toBe(true);
    playout.markReturned("m0");
    expect(playout.busy).toBe(true);
    playout.markReturned("m1");
    expect(playout.busy).toBe(false);
  });

  test("a mark that never comes back is not waited for longer than a second after its sound", async () => {
    const { playout, run } = carrier();
    const sink = playout.add(part("bye"));
    sink.push(ms(100));
    sink.end();
    await run(1060);
    expect(playout.busy).toBe(true);
    await run(120);
    expect(playout.busy).toBe(false);
  });
});

describe("the frame clock", () => {
  test("ticks every 20 ms for each subscriber and stops without subscribers", async () => {
    const clock = virtualClock();
    const beats = [0, 0, 0];
    const m = frameClock(clock);
    const leave = beats.map((_, i) =>
      m.subscribe(() => {
        beats[i] = (beats[i] ?? 0) + 1;
      }),
    );
    for (let n = 0; n < 200; n++) await clock.advance(5);
    for (const count of beats) expect(Math.abs(count - 50)).toBeLessThanOrEqual(1);
    for (const l of leave) {
      l();
      l();
    }
    const after = [...beats];
    for (let n = 0; n < 40; n++) await clock.advance(5);
    expect(beats).toEqual(after);
    m.subscribe(() => {
      beats[0] = -1;
    });
    await clock.advance(25);
    expect(beats[0]).toBe(-1);
  });
});

test.each([
  ["one two three", 0, ""],
  ["one two three", 1, "one two three"],
  ["one two three", 0.3, "one"],
  ["one two three", 0.5, "one"],
  ["one two three", 0.56, "one two"],
  ["", 0.5, ""],
])("%j heard to %d is %j", (text, share, heard) => {
  expect(spokenPrefix(text, share)).toBe(heard);
});
