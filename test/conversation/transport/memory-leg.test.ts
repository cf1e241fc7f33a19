import { expect, test } from "@jest/globals";
import { memoryLeg } from "../fixtures/memory-leg.ts";
import { receiver } from "../fixtures/stream-frames.ts";

describe("a leg in memory", () => {
  test("plays what was written, returns marks on the way and forgets what was cleared", () => {
    const { leg, far } = memoryLeg("room", { codec: "s16le", rate: 16_000 });
    const { seen, events } = receiver();
    far.speak(Uint8Array.from([1]));
    leg.listen(events);
    far.press("3");
    leg.write(Uint8Array.from([2]));
    leg.mark("a");
    leg.write(Uint8Array.from([3]));
    leg.mark("b");
    expect([far.play(1), far.waiting()]).toEqual([[Uint8Array.from([2])], 1]);
    leg.clear();
    leg.sendDtmf?.("9");
    far.complain();
    far.hangUp();
    leg.close();
    far.speak(Uint8Array.from([1]));
    expect(seen).toEqual([
      ["ready", "room", "s16le", 16_000],
      ["audio", [1]],
      ["digit", "3"],
      ["mark", "a", "played"],
      ["mark", "b", "cleared"],
      ["fault"],
      ["closed"],
    ]);
    expect([far.keys(), far.clears(), far.isClosed(), far.play(5)]).toEqual([["9"], 1, true, []]);
  });
});
