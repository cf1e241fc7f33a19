import { utteranceBuffer } from "../../../services/conversation/transport/utterance-buffer.ts";
import { LOOSE } from "../fixtures/xml-leg.ts";

test("text kept for one reply is bounded; a change of interruptible begins a new utterance", () => {
  const kept = utteranceBuffer();
  kept.add("a", { last: false, interruptible: true });
  kept.add("b", { last: true, interruptible: false });
  expect(kept.take().map((u) => u.text)).toEqual(["a", "b"]);
  kept.add("x".repeat(50_000), LOOSE);
  kept.add("y", LOOSE);
  expect(kept.take().map((u) => u.text.length)).toEqual([20_000]);
  expect(kept.empty()).toBe(true);
});
