import { coughPcm } from "../../../local/speech/noises.ts";
import {
  MAX_STALE_MS,
  MAX_TALK_MS,
  MAX_WORDLESS_MS,
  TurnBounds,
} from "../../../services/conversation/pipelines/cascaded/turn-bounds.ts";
import type { TranscriptionModel } from "../../../services/conversation/providers/port.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { audioCall, type AudioCall, type AudioCallOptions } from "../fixtures/audio-call.ts";
import { babble, inTurn, silence } from "../fixtures/sound.ts";

const LONG =
  "Your order is on its way and will be with you between nine and noon tomorrow morning, if that suits you, and the driver rings before.";
const GREETING = "Good day. Do you hear me?";

/** Hears these words in a stretch of so many milliseconds, whatever the sound is. */
const hearing = (
  words: (ms: number) => string,
  waits: () => Promise<void> = () => Promise.resolve(),
): { model: TranscriptionModel; asked: () => number } => {
  let asked = 0;
  const model: TranscriptionModel = {
    open() {
      let samples = 0;
      return {
        push: (pcm) => {
          samples += pcm.length;
        },
        text: async () => {
          asked++;
          const text = words(samples / 8);
          await waits();
          return text;
        },
        close: () => undefined,
      };
    },
  };
  return { model, asked: () => asked };
};
const NOTHING = hearing(() => "").model;
const call = (transcription: TranscriptionModel, more: Partial<AudioCallOptions> = {}): AudioCall =>
  audioCall({ flow: testFlow({ greeting: GREETING }), reply: () => ({ text: LONG }), transcription, ...more });
const happened = (c: AudioCall, type: string): boolean => c.told.some((event) => event.type === type);
const count = (c: AudioCall, type: string): number => c.told.filter((event) => event.type === type).length;
/** The greeting has been heard. */
async function greeted(c: AudioCall): Promise<void> {
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(600);
}

describe("a turn that never pauses is bounded", () => {
  test("words with noise behind them are answered three seconds after the last new word", async () => {
    const c = call(hearing((ms) => (ms < 1500 ? "Friday would" : "Friday would be better")).model);
    await greeted(c);
    const from = c.clock.monotonicMs();
    const noise = c.sound(babble(20_000));
    await noise;
    expect(c.told.find((event) => event.type === "heard")).toMatchObject({ text: "Friday would be better" });
    expect(c.timings[0]).toMatchObject({ end: "bound" });
    expect((c.firstSoundAfter(from) ?? Infinity) - from).toBeLessThan(9000);
  });

  test("words that were asked for with the last sound of an utterance are asked for again in the pause behind it", async () => {
    const at = { clock: virtualClock() };
    const slow = hearing(
      () => "Could you repeat that?",
      () => at.clock.wait(130),
    );
    const c = call(slow.model, { idle_ms: 60_000 });
    at.clock = c.clock;
    await greeted(c);
    for (let ms = 40; ms <= 200; ms += 20) {
      const before = count(c, "heard");
      // the words of the first part come while the second one lasts
      await c.sound(inTurn(babble(650), silence(200), babble(ms), silence(2000)));
      expect([ms, count(c, "heard")]).toEqual([ms, before + 1]);
    }
  });

  test("sound without any word is no turn, costs few questions, and the customer is asked in time", async () => {
    const { model, asked } = hearing(() => "");
    const c = call(model, { idle_ms: 4000 });
    await greeted(c);
    await c.sound(babble(24_000));
    expect(happened(c, "heard")).toBe(false);
    expect(c.transcript().filter((line) => line.includes("still there"))).toHaveLength(2);
    expect(asked()).toBeLessThan(14);
  });

  test("a courtesy that was recognised in sound far too long for it is no turn", async () => {
    const c = call(hearing(() => "Thank you.").model, { idle_ms: 60_000 });
    await greeted(c);
    await c.sound(inTurn(babble(5000), silence(1000)));
    expect(happened(c, "heard")).toBe(false);
    await c.sound(inTurn(babble(700), silence(1000)));
    expect(count(c, "heard")).toBe(1);
  });

  test("a cough every three seconds does not keep a silent customer from being asked", async () => {
    const c = call(NOTHING, { idle_ms: 4000 });
    await greeted(c);
    for (let n = 0; n < 4; n++) await c.sound(inTurn(coughPcm(350, 8000, n), silence(2650)));
    expect(happened(c, "idle")).toBe(true);
  });

  test("the customer is not asked while they begin to speak, nor while their words are known and not over", async () => {
    const c = call(hearing((ms) => (ms < 2000 ? "" : "I was thinking and")).model, { idle_ms: 4000 });
    await greeted(c);
    await c.pass(3000);
    await c.sound(babble(2600));
    await c.pass(1500);
    expect(happened(c, "idle")).toBe(false);
  });

  test("who talks for more than half a minute is answered at the next pause, though the sentence is open", async () => {
    const c = call(hearing((ms) => "I mean ".repeat(Math.ceil(ms / 500)).concat("and")).model);
    await greeted(c);
    await c.sound(inTurn(...Array.from({ length: 32 }, () => inTurn(babble(900), silence(150)))));
    expect(happened(c, "heard")).toBe(false);
    await c.pass(500);
    expect(happened(c, "heard")).toBe(true);
  });
});

describe("a television in the room", () => {
  /** Sentences as loud as a television is on a telephone, with the pauses of one who reads. */
  const reads = (sentences: number): Int16Array =>
    inTurn(...Array.from({ length: sentences }, () => inTurn(babble(3200, { db: -36 }), silence(400))));
  const READ = hearing((ms) => "some rain in the north and ".repeat(Math.ceil(ms / 900)).concat(".")).model;

  test("is no customer: its words are no turn, cut nothing, and a silent customer is asked in time", async () => {
    const c = call(READ, { idle_ms: 4000 });
    await c.sound(reads(8));
    expect([count(c, "heard"), count(c, "interrupted"), c.heard().includes("hear me?")]).toEqual([0, 0, true]);
    expect(c.transcript().filter((line) => line.includes("still there"))).toHaveLength(2);
  });

  test("does not hide who speaks nearer: their words are a turn of their own", async () => {
    const texts: string[] = [];
    const c = call(hearing((ms) => (texts.push(`${Math.round(ms / 1000)} s`), texts.at(-1) ?? "")).model, {
      idle_ms: 60_000,
    });
    await c.sound(reads(3));
    await c.sound(babble(1500, { db: -20 }));
    await c.sound(reads(1));
    expect(c.told.filter((event) => event.type === "heard")).toEqual([{ type: "heard", text: "2 s" }]);
  });

  test("a customer as soft as that is answered, and may interrupt, for they pause", async () => {
    const c = call(hearing(() => "Friday would be better.").model, { idle_ms: 4000 });
    await greeted(c);
    await c.sound(inTurn(babble(1500, { db: -36 }), silence(700)));
    expect(count(c, "heard")).toBe(1);
    await c.until(() => c.heard().includes("order is on"));
    await c.sound(inTurn(babble(1500, { db: -36 }), silence(1200)));
    expect([count(c, "heard"), count(c, "interrupted")]).toEqual([2, 1]);
  });
});

describe("sound over our speech", () => {
  const talking = async (c: AudioCall): Promise<void> => {
    await greeted(c);
    c.tell({ type: "heard", text: "Where is it?" });
    await c.until(() => c.heard().includes("order is on"));
  };

  test("a siren of six seconds never cuts: the sentence pauses, goes on over it, and is heard to its end", async () => {
    const c = call(NOTHING);
    await talking(c);
    await c.sound(babble(6000));
    await c.pass(15_000);
    expect([count(c, "interrupted"), c.heard().includes("the driver rings")]).toEqual([0, true]);
  });

  test("noise that has been going on for long does not pause what we say next", async () => {
    const c = call(NOTHING, { idle_ms: 4000 });
    await greeted(c);
    const from = c.clock.monotonicMs();
    await c.sound(babble(7000));
    expect(c.heard()).toContain("Are you still there?");
    expect(c.clock.monotonicMs() - from).toBe(7000);
  });

  test("words in a sound that goes on cut all the same", async () => {
    const c = call(hearing((ms) => (ms < 5500 ? "" : "Stop it now")).model);
    await talking(c);
    await c.sound(babble(9000));
    expect([count(c, "interrupted"), happened(c, "heard")]).toEqual([1, true]);
  });
});

describe("the bounds of a turn", () => {
  test("without a word after 8 s, with words 3 s after the latest new one; a repeated transcript is none", () => {
    const wordless = new TurnBounds(false);
    wordless.advance(MAX_WORDLESS_MS - 1);
    expect(wordless.reached).toBeNull();
    wordless.transcribed("…", wordless.asked());
    wordless.advance(1);
    expect(wordless.reached).toBe("wordless");

    const spoken = new TurnBounds(false);
    spoken.advance(2000);
    spoken.transcribed("Yes please", spoken.asked());
    spoken.advance(MAX_STALE_MS - 1);
    spoken.transcribed("Yes please.", spoken.asked());
    expect([spoken.reached, spoken.hasWords]).toEqual([null, true]);
    spoken.advance(1);
    spoken.transcribed("yes, please", spoken.asked());
    expect(spoken.reached).toBe("words");
  });

  test("new words begin the three seconds anew, also where the recogniser takes some back in between", () => {
    const turn = new TurnBounds(false);
    for (const text of ["one", "one two", "one", "one two three", "one two three four"]) {
      turn.advance(2500);
      turn.transcribed(text, turn.asked());
      if (text !== "one two three") expect(turn.reached).toBeNull();
    }
    expect(turn.long).toBe(false);
    turn.advance(MAX_TALK_MS);
    expect(turn.long).toBe(true);
  });

  test("sound is asked about from three seconds on, and less often where it went on from a turn without words", () => {
    const asks = (continues: boolean): number[] => {
      const [turn, at]: [TurnBounds, number[]] = [new TurnBounds(continues), []];
      for (let ms = 500; ms < MAX_WORDLESS_MS; ms += 500) {
        turn.advance(500);
        if (turn.probeDue) at.push(turn.asked());
      }
      return at;
    };
    expect(asks(false)).toEqual([3000, 4500, 6000, 7500]);
    expect(asks(true)).toEqual([4000]);
  });
});
