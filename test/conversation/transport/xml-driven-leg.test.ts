import { lastHeard, speechMs } from "../../../services/conversation/audio/speech-duration.ts";
import type { Floor, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { carrierTempo } from "../../../services/conversation/transport/carrier-tempo.ts";
import {
  REPLY_TIMEOUT_MS,
  xmlDrivenLeg,
  type TurnInput,
} from "../../../services/conversation/transport/xml-driven-leg.ts";
import { utteranceBuffer } from "../../../services/conversation/transport/utterances.ts";
import type { XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const FLOOR: Floor = { idle_ms: 8000, keys_only: false };
const LISTEN = { kind: "listen", seconds: 8, keys_only: false };
const LOOSE = { last: true, interruptible: true };
const FIRM = { last: true, interruptible: false };

/** A leg that somebody listens to; `ask` gives the reply once there is one. */
function open(react: (leg: ReturnType<typeof xmlDrivenLeg>, name: string, args: unknown[]) => void = () => undefined) {
  const clock = virtualClock();
  const known = carrierTempo();
  known.observe(9000, 10_000);
  const leg = xmlDrivenLeg({ clock, call_id: "CA1", language: "en-US", voice: null, tempo: known });
  const seen: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      seen.push([name, ...args]);
      react(leg, name, args);
    };
  const events: TextLegEvents = {
    ready: note("ready"),
    prompt: note("prompt"),
    digit: note("digit"),
    interrupt: note("interrupt"),
    speaking: note("speaking"),
    customer: note("customer"),
    silence: note("silence"),
    fault: note("fault"),
    closed: note("closed"),
  };
  leg.listen(events);
  let last = 0;
  const ask = async (input: Partial<TurnInput> = {}): Promise<XmlTurnReply> => {
    const reply = await leg.turn({ heard: null, digits: null, follows: last, ...input });
    last = reply.turn;
    return reply;
  };
  /** The first document: a text, then the floor. */
  const opened = async (text = "Hello.", floor = FLOOR): Promise<XmlTurnReply> => {
    leg.say(text, LOOSE);
    leg.giveFloor?.(floor);
    return ask();
  };
  return { clock, leg, seen, ask, opened };
}

describe("a turn", () => {
  test("waits for what the talk says, and is answered when the floor passes: everything said, in order", async () => {
    const t = open();
    const first = t.ask();
    t.leg.say("Good ", { last: false, interruptible: true });
    t.leg.say("day.", { last: false, interruptible: true });
    t.leg.say("", LOOSE);
    t.leg.say("This is recorded.", FIRM);
    t.leg.giveFloor?.(FLOOR);
    t.leg.say("Who is there?", LOOSE); // within the same step
    expect(await first).toEqual({
      turn: 1,
      say: [
        { text: "Good day.", interruptible: true },
        { text: "This is recorded.", interruptible: false },
        { text: "Who is there?", interruptible: true },
      ],
      next: LISTEN,
      language: "en-US",
      voice: null,
    });
    expect(t.seen).toEqual([["ready", "CA1"]]);
  });
  test.each([
    [1000, 5],
    [8000, 8],
    [8001, 9],
    [120_000, 60],
  ])("an idle time of %d ms is listened for %d s", async (idle_ms, seconds) =>
    expect((await open().opened("Hi.", { idle_ms, keys_only: true })).next).toEqual({
      kind: "listen",
      seconds,
      keys_only: true,
    }),
  );
  test("words are told, keys one by one; the next document waits for the talk", async () => {
    const t = open((leg, name, [what]) => {
      if (name === "prompt") {
        leg.say(`You said ${String(what)}`, LOOSE);
        leg.giveFloor?.(FLOOR);
      }
    });
    await t.opened();
    expect((await t.ask({ heard: "Yes." })).say).toEqual([{ text: "You said Yes.", interruptible: true }]);
    const keys = t.ask({ digits: "12" });
    t.leg.say("Thanks.", LOOSE);
    t.leg.giveFloor?.(FLOOR);
    await keys;
    expect(t.seen.slice(1)).toEqual([
      ["speaking", false],
      ["prompt", "Yes.", true],
      ["speaking", false],
      ["digit", "1"],
      ["digit", "2"],
    ]);
  });
  test("an entry of keys ends with # where keys are gathered, once", async () => {
    const t = open((leg) => leg.giveFloor?.({ idle_ms: 8000, keys_only: true }));
    await t.opened("Code?", { idle_ms: 8000, keys_only: true });
    await t.ask({ digits: "12" });
    await t.ask({ digits: "3#" });
    expect(
      t.seen
        .filter(([name]) => name === "digit")
        .map(([, key]) => key)
        .join(""),
    ).toBe("12#3#");
  });
  test("a talk that still thinks after 8 s is asked again, with the utterances said so far", async () => {
    const t = open();
    await t.opened();
    const waiting = t.ask({ heard: "How much?" });
    t.leg.say("One moment.", LOOSE);
    t.leg.say("It costs", { last: false, interruptible: true });
    await t.clock.advance(REPLY_TIMEOUT_MS);
    expect(await waiting).toMatchObject({ say: [{ text: "One moment." }], next: { kind: "again" } });
    const later = t.ask();
    t.leg.say(" a lot.", LOOSE);
    t.leg.giveFloor?.(FLOOR);
    expect(await later).toMatchObject({ say: [{ text: "It costs a lot." }], next: LISTEN });
    expect(t.seen.filter(([name]) => name === "silence")).toEqual([]);
  });
  test("a retry, while it waits and after, gets the same answer and is no second turn; the same words again are one", async () => {
    const t = open();
    await t.opened();
    const [a, b] = [
      t.leg.turn({ heard: "Yes.", digits: null, follows: 1 }),
      t.leg.turn({ heard: "Yes.", digits: null, follows: 1 }),
    ];
    t.leg.say("Really?", LOOSE);
    t.leg.giveFloor?.(FLOOR);
    expect(await a).toBe(await b);
    expect(await t.leg.turn({ heard: "Yes.", digits: null, follows: 1 })).toBe(await a);
    expect(await t.leg.turn({ heard: null, digits: null, follows: 0 })).toBe(await a);
    const again = t.leg.turn({ heard: "Yes.", digits: null, follows: 2 });
    t.leg.giveFloor?.(FLOOR);
    expect((await again).turn).toBe(3);
    expect(t.seen.filter(([name]) => name === "prompt").length).toBe(2);
  });
});

describe("silence", () => {
  const reprompt = (leg: ReturnType<typeof xmlDrivenLeg>, name: string): void => {
    if (name === "silence") leg.say("Still there?", LOOSE);
    if (name === "silence" || name === "speaking") leg.giveFloor?.(FLOOR);
  };
  test("is told when the listening was in vain, and answered in the same turn", async () => {
    const t = open(reprompt);
    await t.opened();
    expect(await t.ask()).toMatchObject({ say: [{ text: "Still there?" }], next: LISTEN });
    expect(t.seen.slice(1)).toEqual([["speaking", false], ["silence"]]);
  });
  test("an idle time longer than a carrier listens is listened for twice, without a word between", async () => {
    const t = open();
    await t.opened("Hi.", { idle_ms: 90_000, keys_only: false });
    expect(await t.ask()).toMatchObject({ say: [], next: { kind: "listen", seconds: 30 } });
    void t.ask();
    expect(t.seen.filter(([name]) => name === "silence").length).toBe(1);
  });
  test("what was said meanwhile comes first", async () => {
    const t = open();
    await t.opened();
    t.leg.say("By the way.", LOOSE);
    expect(await t.ask()).toMatchObject({ say: [{ text: "By the way." }], next: LISTEN });
    expect(t.seen.filter(([name]) => name === "silence")).toEqual([]);
  });
  test("begins anew with every word", async () => {
    const t = open((leg, name) => {
      if (name === "prompt") leg.giveFloor?.({ idle_ms: 90_000, keys_only: false });
    });
    await t.opened("Hi.", { idle_ms: 90_000, keys_only: false });
    await t.ask();
    expect((await t.ask({ heard: "Well" })).next).toMatchObject({ seconds: 60 });
  });
});

describe("input that comes while we speak", () => {
  const text = "Ada, do you confirm the order of last week?"; // 2.9 s
  const interrupts = async (afterMs: number, heard: string, said = text): Promise<unknown[]> => {
    const t = open();
    await t.opened(said);
    await t.clock.advance(afterMs);
    void t.ask({ heard });
    return t.seen.slice(1).map(([name, what]) => (name === "interrupt" ? what : name));
  };
  test("what can have been heard is told, ended at a word, before the words", async () =>
    expect(await interrupts(2300, "Yes.")).toEqual(["Ada, do you", "prompt"]));
  test("the last half second counts as heard", async () =>
    expect(await interrupts(3700, "Yes.")).toEqual(["speaking", "prompt"]));
  test("one that began before us: nothing was heard", async () =>
    expect(await interrupts(1800, "Hello? Who is it, please?")).toEqual(["", "prompt"]));
  test("keys tell at once", async () => {
    const t = open();
    await t.opened(text);
    await t.clock.advance(1000);
    void t.ask({ digits: "1" });
    expect(t.seen.slice(1)).toEqual([
      ["interrupt", "Ada, do you"],
      ["digit", "1"],
    ]);
  });
  test("a carrier whose time is not known to run like ours is not believed: all counts as heard", async () => {
    const known = carrierTempo();
    expect(known.isRealTime()).toBe(false);
    known.observe(13_100, 13_000);
    expect(known.isRealTime()).toBe(true);
    const t = open((leg, name) => {
      if (name === "silence") {
        leg.say(text, LOOSE);
        leg.giveFloor?.(FLOOR);
      }
    });
    await t.opened(text);
    await t.clock.advance(540); // a talk of 11 s, twenty times as fast
    await t.ask();
    await t.clock.advance(1600);
    void t.ask({ heard: "Yes." });
    expect(t.seen.map(([name]) => name)).not.toContain("interrupt");
  });
  test.each([
    [
      "both heard in part",
      [
        ["Good day.", true],
        ["Do you confirm?", true],
      ],
      1000,
      "Do you",
    ],
    [
      "the second not at all",
      [
        ["Good day.", true],
        ["Do you confirm?", true],
      ],
      620,
      "Good day.",
    ],
    ["nothing", [["Good day.", true]], 0, ""],
    [
      "a text that can't be talked over, and what came before it",
      [
        ["Well.", true],
        ["This is recorded.", false],
        ["Do you confirm?", true],
      ],
      2000,
      "Do you",
    ],
    ["all", [["Good day.", true]], 9000, "Good day."],
  ] as const)("of several texts the last that was heard: %s", (_what, said, ms, heard) =>
    expect(
      lastHeard(
        said.map(([words, interruptible]) => ({ text: words, interruptible })),
        ms,
      ),
    ).toBe(heard),
  );
  test("speech of 15 characters takes a second", () => expect(speechMs("x".repeat(15))).toBe(1000));
});

describe("the end", () => {
  test("goes out with the last words, to a carrier that waits or to the next one; nothing is said or told after it", async () => {
    const t = open();
    await t.opened();
    const waiting = t.ask({ heard: "No." });
    t.leg.say("Goodbye!", FIRM);
    t.leg.end();
    expect(await waiting).toMatchObject({ say: [{ text: "Goodbye!" }], next: { kind: "hang_up" } });
    t.leg.say("late", LOOSE);
    const seen = t.seen.length;
    expect(await t.ask({ heard: "Wait!" })).toMatchObject({ say: [], next: { kind: "hang_up" } });
    expect(t.seen.length).toBe(seen);
    const idle = open();
    await idle.opened();
    idle.leg.say("Time is up.", FIRM);
    idle.leg.end();
    expect(await idle.ask()).toMatchObject({ say: [{ text: "Time is up." }], next: { kind: "hang_up" } });
  });
  test("a closed leg answers nothing, tells its end once, and keeps the answer for a retry", async () => {
    const t = open();
    await t.opened();
    const waiting = t.ask({ heard: "A person." });
    t.leg.close();
    t.leg.gone();
    expect((await waiting).next).toEqual({ kind: "nothing" });
    expect((await t.ask()).next).toEqual({ kind: "nothing" });
    expect(await t.leg.turn({ heard: "A person.", digits: null, follows: 1 })).toBe(await waiting);
    expect(t.seen.filter(([name]) => name === "closed").length).toBe(1);
  });
  test("words before a transfer are handed over, the floor stays with us", async () => {
    const t = open();
    await t.opened();
    const waiting = t.ask({ heard: "A person." });
    t.leg.say("I put you through.", LOOSE);
    t.leg.flush?.();
    expect(await waiting).toMatchObject({ say: [{ text: "I put you through." }], next: { kind: "again" } });
    t.leg.flush?.();
  });
  test("a carrier that asks no more is let go half a minute after it should have asked", async () => {
    const t = open();
    await t.opened("x".repeat(150)); // ten seconds, and eight to listen
    await t.clock.advance(47_900);
    expect(t.seen.at(-1)).toEqual(["ready", "CA1"]);
    await t.clock.advance(200);
    expect(t.seen.at(-1)).toEqual(["closed"]);
  });
});

describe("a message", () => {
  test("is what a waiting carrier, or the next turn, is told instead of anything else; what the machine says is not heard", async () => {
    const taken: string[] = [];
    const t = open();
    await t.opened();
    t.leg.say("Never mind.", LOOSE);
    t.leg.leaveMessage?.("Please call back.", 30, () => taken.push("taken"));
    expect(taken).toEqual([]);
    expect(await t.ask({ heard: "You have reached" })).toMatchObject({
      say: [],
      next: { kind: "message", message: "Please call back.", patience_seconds: 30 },
    });
    expect(taken).toEqual(["taken"]);
    expect(t.seen).toEqual([["ready", "CA1"]]);
    expect((await t.ask()).next).toEqual({ kind: "hang_up" });
    const waiting = open();
    const first = waiting.ask();
    waiting.leg.leaveMessage?.("Hi.", 30, () => undefined);
    expect((await first).next.kind).toBe("message");
  });
  test("whose time has come is said at once", async () => {
    const t = open();
    await t.opened();
    t.leg.leaveMessage?.("Please call back.", 30, () => undefined);
    t.leg.say("Please call back.", FIRM);
    t.leg.end();
    expect(await t.ask()).toMatchObject({
      say: [{ text: "Please call back.", interruptible: false }],
      next: { kind: "hang_up" },
    });
  });
});

test("what is kept for one reply is bounded; another kind of text begins another utterance", () => {
  const kept = utteranceBuffer();
  kept.add("a", { last: false, interruptible: true });
  kept.add("b", { last: true, interruptible: false });
  expect(kept.take().map((u) => u.text)).toEqual(["a", "b"]);
  kept.add("x".repeat(50_000), LOOSE);
  kept.add("y", LOOSE);
  expect(kept.take().map((u) => u.text.length)).toEqual([20_000]);
  expect(kept.empty()).toBe(true);
});
