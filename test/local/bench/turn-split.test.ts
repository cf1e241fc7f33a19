import { lineOfSplits, splitOf, type TurnFacts } from "../../../local/bench/speech/turn-split.ts";

const turn: TurnFacts = {
  end: 1000,
  came: 1494,
  heard: [
    { at: 500, answered_at: 640 },
    { at: 1101, answered_at: 1245 },
  ],
  replies: [
    { at: 200, answered_at: 350, text: "One." },
    { at: 1248, answered_at: 1398, text: "Two." },
  ],
  said: [
    { at: 360, answered_at: 430, text: "One." },
    { at: 1410, answered_at: 1484, text: "Two." },
    { at: 1480, answered_at: null, text: "Three." },
  ],
  turns: [
    { at: 440, end: "silence", answer_ms: 470, quiet_ms: 300 },
    { at: 1496, end: "silence", answer_ms: 531, quiet_ms: 320 },
  ],
};

describe("where the time of an answered turn goes", () => {
  test("each instant is that of the question whose answer was heard", () => {
    expect(splitOf(turn)).toEqual({
      quiet: -37,
      asked: 101,
      words: 245,
      over: 283,
      reply_asked: 248,
      reply: 398,
      voice_asked: 410,
      voice: 484,
      frame: 494,
    });
  });

  test("a service that does not tell its turns leaves them open, and a sound that no model made is no answer", () => {
    const old = turn.turns.map((one) => ({ ...one, answer_ms: null, quiet_ms: null }));
    expect(splitOf({ ...turn, turns: old })).toMatchObject({ quiet: null, over: null, frame: 494 });
    expect(splitOf({ ...turn, turns: [] })).toMatchObject({ quiet: null, over: null });
    expect(splitOf({ ...turn, replies: [] })).toBeNull();
    expect(splitOf({ ...turn, heard: [] })).toBeNull();
  });

  test("a line says the medians, and what is not known", () => {
    const split = splitOf({ ...turn, turns: [] });
    expect(lineOfSplits("clean", split ? [split] : [])).toContain("turn over ?");
    expect(lineOfSplits("clean", split ? [split] : [])).toContain("first frame 494; 1 turns");
  });
});
