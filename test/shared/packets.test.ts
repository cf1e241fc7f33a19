import * as fc from "fast-check";
import { packets } from "../../shared/packets.ts";

test("packets: everything once, in order, none longer than asked, none larger than allowed unless one item is, and no more of them than greed needs", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(500)),
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 20 }),
      (sizes, most, longest) => {
        const parts = packets(sizes, (n) => n, most, longest);
        const sum = (part: readonly number[]): number => part.reduce((a, b) => a + b, 0);
        expect(parts.flat()).toEqual(sizes);
        for (const [i, part] of parts.entries()) {
          expect(part.length > 0 && part.length <= longest && (part.length === 1 || sum(part) <= most)).toBe(true);
          const next = parts[i + 1]?.[0];
          if (next !== undefined) expect(part.length === longest || sum(part) + next > most).toBe(true);
        }
      },
    ),
  );
});
