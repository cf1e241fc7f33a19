import * as fc from "fast-check";
import { preRoll } from "../../../services/conversation/audio/pre-roll.ts";

describe("the audio before speech", () => {
  test("is the last of what came, whatever the length of its pieces", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.array(fc.integer({ min: -100, max: 100 }), { maxLength: 70 }), { maxLength: 20 }),
        (samples, pieces) => {
          const kept = preRoll(samples);
          for (const piece of pieces) kept.push(Int16Array.from(piece));
          expect([...kept.take()]).toEqual(pieces.flat().slice(-samples));
          expect(kept.take()).toHaveLength(0);
        },
      ),
    );
  });

  test("begins anew once it was taken", () => {
    const kept = preRoll(4);
    kept.push(Int16Array.of(1, 2, 3, 4, 5));
    kept.take();
    kept.push(Int16Array.of(6, 7));
    expect([...kept.take()]).toEqual([6, 7]);
  });
});
