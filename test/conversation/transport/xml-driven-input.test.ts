import { carrierTempo } from "../../../services/conversation/transport/carrier-tempo.ts";
import type { XmlDrivenLeg } from "../../../services/conversation/transport/xml-driven-leg.ts";
import { FIRM, FLOOR, LISTEN, LOOSE, openXmlLeg } from "../fixtures/xml-leg.ts";

describe("silence", () => {
  const reprompt = (leg: XmlDrivenLeg, name: string): void => {
    if (name === "silence") leg.say("Still there?", LOOSE);
    if (name === "silence" || name === "speaking") leg.giveFloor?.(FLOOR);
  };
  test("is reported after the idle time and answered in the same turn", async () => {
    const t = openXmlLeg(reprompt);
    await t.opened();
    expect(await t.ask()).toMatchObject({ say: [{ text: "Still there?" }], next: LISTEN });
    expect(t.seen.slice(1)).toEqual([["speaking", false], ["silence"]]);
  });
  test("an idle time longer than the carrier listens takes two listening periods without speech between", async () => {
    const t = openXmlLeg();
    await t.opened("Hi.", { idle_ms: 90_000, keys_only: false });
    expect(await t.ask()).toMatchObject({ say: [], next: { kind: "listen", seconds: 30 } });
    void t.ask();
    expect(t.seen.filter(([name]) => name === "silence").length).toBe(1);
  });
  test("speech added meanwhile comes first", async () => {
    const t = openXmlLeg();
    await t.opened();
    t.leg.say("By the way.", LOOSE);
    expect(await t.ask()).toMatchObject({ say: [{ text: "By the way." }], next: LISTEN });
    expect(t.seen.filter(([name]) => name === "silence")).toEqual([]);
  });
  test("restarts with every word", async () => {
    const t = openXmlLeg((leg, name) => {
      if (name === "prompt") leg.giveFloor?.({ idle_ms: 90_000, keys_only: false });
    });
    await t.opened("Hi.", { idle_ms: 90_000, keys_only: false });
    await t.ask();
    expect((await t.ask({ heard: "Well" })).next).toMatchObject({ seconds: 60 });
  });
});

describe("barge-in", () => {
  const text = "Ada, do you confirm the order of last week?"; // 2.9 s
  const interrupts = async (afterMs: number, heard: string, said = text): Promise<unknown[]> => {
    const t = openXmlLeg();
    await t.opened(said);
    await t.clock.advance(afterMs);
    void t.ask({ heard });
    return t.seen.slice(1).map(([name, what]) => (name === "interrupt" ? what : name));
  };
  test("reports what was heard, ended at a word, before the words", async () =>
    expect(await interrupts(2300, "Yes.")).toEqual(["Ada, do you", "prompt"]));
  test("the last half second counts as heard", async () =>
    expect(await interrupts(3700, "Yes.")).toEqual(["speaking", "prompt"]));
  test("words that began before our speech: nothing was heard", async () =>
    expect(await interrupts(1800, "Hello? Who is it, please?")).toEqual(["", "prompt"]));
  test("DTMF interrupts at once", async () => {
    const t = openXmlLeg();
    await t.opened(text);
    await t.clock.advance(1000);
    void t.ask({ digits: "1" });
    expect(t.seen.slice(1)).toEqual([
      ["interrupt", "Ada, do you"],
      ["digit", "1"],
    ]);
  });
  test("without a carrier known to play in real time all speech counts as heard", async () => {
    const known = carrierTempo();
    expect(known.isRealTime()).toBe(false);
    known.observe(13_100, 13_000);
    expect(known.isRealTime()).toBe(true);
    const t = openXmlLeg((leg, name) => {
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
});

describe("a call that ends on our last words", () => {
  const LAST = "Your flight is cancelled, please do not come.";
  const ended = async (after_ms: number) => {
    const { clock, leg, seen, ask, opened } = openXmlLeg();
    await opened();
    leg.say(LAST, FIRM);
    leg.end();
    await ask();
    await clock.advance(after_ms);
    seen.splice(0);
    leg.callEnded();
    return seen;
  };
  test("soon after they were handed over tells what was heard of them", async () => {
    expect(await ended(1000)).toEqual([
      ["interrupt", "Your flight is"],
      ["closed", "closed"],
    ]);
  });
  test("when they have been said is the end alone", async () => {
    expect(await ended(5000)).toEqual([["closed", "closed"]]);
  });
  test("before the carrier has asked for them tells that they were not said", async () => {
    const { leg, seen, opened } = openXmlLeg();
    await opened("Hello there.");
    leg.say(LAST, FIRM);
    seen.splice(0);
    leg.callEnded();
    expect(seen.map(([name]) => name)).toEqual(["interrupt", "closed"]);
    expect(JSON.stringify(seen)).not.toContain("flight");
  });
  test("that leaves a message by itself: too soon after it was handed over it was not left", async () => {
    const { clock, leg, seen, ask, opened } = openXmlLeg();
    await opened();
    leg.leaveMessage?.("Hello Ada, please call us back about your order.", 30, () => undefined);
    await ask({ heard: "You have reached Ada." });
    await clock.advance(500);
    seen.splice(0);
    leg.callEnded();
    expect(seen).toEqual([
      ["interrupt", ""],
      ["closed", "closed"],
    ]);
  });
});
