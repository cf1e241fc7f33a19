import { holeOf, latenessOf } from "../../../local/bench/voice/frame-arrivals.ts";
import { missing, wordsApart } from "../../../local/bench/voice/barge-in.ts";
import { leftOf } from "../../../local/bench/voice/concurrent-calls.ts";
import { factsOf, lineOfRow } from "../../../local/bench/voice/result-rows.ts";
import { soundOf, words } from "../../../local/bench/voice/sounds.ts";

const FRAME_MS = 20;
/** Nine frames at once, then one each 20 ms; some of them later. */
const came = (late: Record<number, number> = {}, count = 15): number[] =>
  Array.from({ length: count }, (_, k) => 1000 + Math.max(0, k - 8) * FRAME_MS + (late[k] ?? 0));

describe("how late frames come", () => {
  test("an even pace is never late; the first burst is not looked at", () => {
    expect(latenessOf(came())).toEqual([0, 0, 0, 0, 0, 0]);
    expect(latenessOf(came({}, 5))).toEqual([]);
  });
  test("against the most punctual frame: one that is late is, and an utterance that is late as a whole is not", () => {
    expect(latenessOf(came({ 11: 35 }))).toEqual([0, 0, 35, 0, 0, 0]);
    expect(latenessOf(came({ 9: 7, 10: 7, 11: 7, 12: 7, 13: 7, 14: 7 }))).toEqual([0, 0, 0, 0, 0, 0]);
  });
  test("a hole is what the carrier's stock does not bridge", () => {
    expect(holeOf(came())).toBe(0);
    expect(holeOf(came({ 12: 150 }))).toBe(0);
    expect(holeOf(came({ 12: 200, 13: 200, 14: 200 }))).toBe(40);
    expect(holeOf([])).toBe(0);
  });
  test("frames at moments that nobody knows are in time", () => {
    expect(latenessOf(came({ 10: NaN, 12: 30 }))).toEqual([0, 0, 30, 0, 0]);
    expect(holeOf(came({ 12: NaN, 13: NaN }))).toBe(0);
  });
});

describe("what was heard and kept", () => {
  test("words that one side has more", () => {
    expect(wordsApart("one two three", "one two")).toBe(1);
    expect(wordsApart("", "one two")).toBe(-2);
    expect(wordsApart(" one  two ", "one two")).toBe(0);
  });
  test("words missing of a text", () => {
    expect(missing("one two three four", "one two three four")).toBe(0);
    expect(missing("one two three four", "one tw three four")).toBe(1);
    expect(missing("one two three four", "one two")).toBe(2);
  });
});

describe("sounds", () => {
  test("the frames in which a sound begins and ends, and where in them", () => {
    const pcm = new Int16Array(800);
    pcm.fill(5000, 200, 500); // 25 ms to 62.5 ms
    const sound = soundOf(pcm);
    expect(sound.messages).toHaveLength(3);
    expect(sound.onset_ms).toBe(5);
    expect(sound.end_ms).toBe(2.5);
    expect(soundOf(pcm, 10).onset_ms).toBe(15);
    expect(soundOf(pcm, 10).end_ms).toBe(12.5);
  });
  test("words end with the last tone", () => {
    const { messages, end_ms } = words("Yes.");
    expect((messages.length - 1) * FRAME_MS + end_ms).toBeCloseTo(5 * 64 - 8, -1);
    expect(JSON.parse(messages[0]?.toString() ?? "")).toMatchObject({ event: "media", media: { track: "inbound" } });
  });
});

test("what is open beyond what was before", () => {
  expect(leftOf({ Timeout: 2, TCPSocketWrap: 5 }, { Timeout: 1, TCPSocketWrap: 7, PipeWrap: 1 })).toEqual({
    TCPSocketWrap: 2,
    PipeWrap: 1,
  });
});

test("a row says what is asked, and whether it is met", () => {
  const row = { name: "a row", unit: "ms", values: [3, 1, 2], asked: "p95 <= 2", met: false };
  expect(factsOf(row)).toMatchObject({ n: 3, p50: 2, p95: 3, p99: 3, max: 3 });
  expect(lineOfRow(row)).toContain("asked: p95 <= 2: MISSED");
});
