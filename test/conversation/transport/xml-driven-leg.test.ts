import { REPLY_TIMEOUT_MS } from "../../../services/conversation/transport/xml-driven-leg.ts";
import { FIRM, FLOOR, LISTEN, LOOSE, openXmlLeg } from "../fixtures/xml-leg.ts";

describe("a turn", () => {
  test("waits for speech and is answered when the customer gets the floor: everything said, in order", async () => {
    const t = openXmlLeg();
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
    expect((await openXmlLeg().opened("Hi.", { idle_ms, keys_only: true })).next).toEqual({
      kind: "listen",
      seconds,
      keys_only: true,
    }),
  );
  test("reports words, and DTMF digit by digit; the next document waits for the conversation", async () => {
    const t = openXmlLeg((leg, name, [what]) => {
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
  test("a DTMF entry ends with one # where only DTMF counts", async () => {
    const t = openXmlLeg((leg) => leg.giveFloor?.({ idle_ms: 8000, keys_only: true }));
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
  test("a conversation without an answer after 8 s is asked again, with the utterances so far", async () => {
    const t = openXmlLeg();
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
  test("a retry, before and after the answer, gets the same answer and is no second turn; the same words again are one", async () => {
    const t = openXmlLeg();
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

describe("the end", () => {
  test("goes out with the last words, to the pending request or the next one; nothing is said or reported after it", async () => {
    const t = openXmlLeg();
    await t.opened();
    const waiting = t.ask({ heard: "No." });
    t.leg.say("Goodbye!", FIRM);
    t.leg.end();
    expect(await waiting).toMatchObject({ say: [{ text: "Goodbye!" }], next: { kind: "hang_up" } });
    t.leg.say("late", LOOSE);
    const seen = t.seen.length;
    expect(await t.ask({ heard: "Wait!" })).toMatchObject({ say: [], next: { kind: "hang_up" } });
    expect(t.seen.length).toBe(seen);
    const idle = openXmlLeg();
    await idle.opened();
    idle.leg.say("Time is up.", FIRM);
    idle.leg.end();
    expect(await idle.ask()).toMatchObject({ say: [{ text: "Time is up." }], next: { kind: "hang_up" } });
  });
  test("a closed leg answers nothing, reports its end once and keeps the answer for a retry", async () => {
    const t = openXmlLeg();
    await t.opened();
    const waiting = t.ask({ heard: "A person." });
    t.leg.close();
    t.leg.callEnded();
    expect((await waiting).next).toEqual({ kind: "nothing" });
    expect((await t.ask()).next).toEqual({ kind: "nothing" });
    expect(await t.leg.turn({ heard: "A person.", digits: null, follows: 1 })).toBe(await waiting);
    expect(t.seen.filter(([name]) => name === "closed").length).toBe(1);
  });
  test("words before a transfer are handed over; the floor stays with us", async () => {
    const t = openXmlLeg();
    await t.opened();
    const waiting = t.ask({ heard: "A person." });
    t.leg.say("I put you through.", LOOSE);
    t.leg.flush?.();
    expect(await waiting).toMatchObject({ say: [{ text: "I put you through." }], next: { kind: "again" } });
    t.leg.flush?.();
  });
  test("a carrier that stops asking ends the call half a minute after it was due", async () => {
    const t = openXmlLeg();
    await t.opened("x".repeat(150)); // ten seconds, and eight to listen
    await t.clock.advance(47_900);
    expect(t.seen.at(-1)).toEqual(["ready", "CA1"]);
    await t.clock.advance(200);
    expect(t.seen.at(-1)).toEqual(["closed", "broken"]);
  });
});

describe("a voicemail message", () => {
  test("replaces every other answer to the pending request or the next one; what the voicemail says is ignored", async () => {
    const taken: string[] = [];
    const t = openXmlLeg();
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
    const waiting = openXmlLeg();
    const first = waiting.ask();
    waiting.leg.leaveMessage?.("Hi.", 30, () => undefined);
    expect((await first).next.kind).toBe("message");
  });
  test("after the beep is said at once", async () => {
    const t = openXmlLeg();
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
