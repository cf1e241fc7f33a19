import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { reorderBuffer } from "../../../services/conversation/transport/reorder-buffer.ts";

describe("numbered frames", () => {
  const run = (numbers: (number | null)[]): number[] => {
    const out: number[] = [];
    const order = reorderBuffer<number>((frame) => {
      out.push(frame);
    });
    for (const number of numbers) order.push(number, number ?? -1);
    order.flush();
    return out;
  };
  /** Numbers from 1 in an order in which none is displaced by more than four, each up to three times. */
  const jittered = fc
    .integer({ min: 1, max: 60 })
    .chain((length) =>
      fc.array(fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 2 })), { minLength: length, maxLength: length }),
    )
    .map((moves) =>
      moves
        .flatMap(([late, repeats], i) =>
          Array.from({ length: repeats + 1 }, (_, r) => ({ number: i + 1, at: i + late + (r === 0 ? 0 : r * 2) })),
        )
        .toSorted((a, b) => a.at - b.at)
        .map(({ number }) => number),
    );

  test("come out in order, each once, where none is more than four late", () => {
    fc.assert(
      fc.property(jittered, (numbers) => {
        expect(run(numbers)).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
      }),
    );
  });
  test("never go back and never come twice, whatever comes in; at most so few are held back", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 24 }), (numbers) => {
        const out = run(numbers);
        expect(out).toEqual([...new Set(out)].toSorted((a, b) => a - b));
      }),
    );
  });
  test("lost ones hold the stream up for five frames at most", () => {
    const out: number[] = [];
    const order = reorderBuffer<number>((frame) => {
      out.push(frame);
    });
    for (const number of [1, 3, 4, 5, 6]) order.push(number, number);
    expect(out).toEqual([1]);
    order.push(7, 7);
    expect(out).toEqual([1, 3, 4, 5, 6, 7]);
  });
  test("a stream that begins late or anew is not lost; without numbers all goes on", () => {
    expect(run([40, 41, 42])).toEqual([40, 41, 42]);
    expect(run([null, null])).toEqual([-1, -1]);
    expect(
      run([...Array.from({ length: 11 }, (_, i) => i + 100), ...Array.from({ length: 40 }, (_, i) => i + 1)]).slice(
        -10,
      ),
    ).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39, 40]);
  });
});
