import { endInSound, endInWords, troubleIn } from "../../../services/conversation/pipelines/goodbyes.ts";
import type { SpeechModel } from "../../../services/conversation/providers/port.ts";
import { frameClock } from "../../../services/conversation/transport/frame-clock.ts";
import { FRAME_MS, type TextLeg, type TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { memoryLeg } from "../fixtures/memory-leg.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

const RATE = 8000;
const SENTENCE_MS = 1000;
const STEPS = 2000;
const sentence = troubleIn("de-DE");

const model = (speak: SpeechModel["speak"]): SpeechModel => ({ rate: RATE, signature: "s", speak });
const ready = model(async function* () {
  yield new Int16Array((SENTENCE_MS * RATE) / 1000).fill(1000);
});
const never = model(async function* (_text, signal) {
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  yield new Int16Array(0);
});

/** Moves time on in frames until the leg is ended; gives the milliseconds that passed. */
async function until(clock: VirtualClock, ending: Promise<void>, each: () => void): Promise<number> {
  const over = new AbortController();
  void ending.then(() => over.abort());
  let step = 0;
  for (; !over.signal.aborted && step < STEPS; step++) {
    await clock.advance(FRAME_MS);
    each();
  }
  return step * FRAME_MS;
}

test("a goodbye of a streamed call is played from the cache at once and heard to its end, then the leg is closed", async () => {
  const clock = virtualClock();
  const { leg, far } = memoryLeg("CA1", { codec: "pcmu", rate: RATE });
  let played = 0;
  let firstAt: number | null = null;
  const ending = endInSound(leg, sentence, clock, { clock, frames: frameClock(clock), speech: ready });
  await until(clock, ending, () => {
    played += far.play(1).length;
    if (played > 0) firstAt ??= clock.monotonicMs();
  });
  expect(played * FRAME_MS).toBeGreaterThanOrEqual(SENTENCE_MS);
  expect(firstAt).toBeLessThanOrEqual(100);
  expect(far.isClosed()).toBe(true);
});

test.each([
  ["the speech is not at hand", never],
  [
    "the speech fails",
    model(() => {
      throw new Error("no");
    }),
  ],
  ["nothing synthesises speech", null],
])("%s: the leg is closed soon, without a sound", async (_case, speech) => {
  const clock = virtualClock();
  const { leg, far } = memoryLeg("CA1", { codec: "pcmu", rate: RATE });
  const ending = endInSound(leg, sentence, clock, speech && { clock, frames: frameClock(clock), speech });
  let closedAt: number | null = null;
  await until(clock, ending, () => {
    if (far.isClosed()) closedAt ??= clock.monotonicMs();
  });
  expect(far.waiting()).toBe(0);
  expect(closedAt).toBeLessThanOrEqual(600);
});

test("a goodbye in words is in the conversation's language, waits until it was spoken, and ends the leg even where the carrier never gets ready", async () => {
  const clock = virtualClock();
  const done: string[] = [];
  let events: TextLegEvents | null = null;
  const leg = (): TextLeg => ({
    listen: (e) => {
      events = e;
    },
    say: (text) => void done.push(text),
    end: () => void done.push("end"),
    close: () => void done.push("close"),
  });
  const ending = endInWords(leg(), sentence, clock);
  events!.ready("CA1");
  expect(done).toEqual([sentence]);
  await clock.advance(500);
  expect(done).toEqual([sentence]);
  events!.speaking(false);
  await clock.advance(0);
  expect(done.slice(0, 2)).toEqual([sentence, "end"]);
  events!.closed();
  await ending;

  done.length = 0;
  await until(clock, endInWords(leg(), sentence, clock), () => undefined);
  expect(done).toEqual(["end", "close"]);
});
