import { createPermitPace } from "../../../services/dialer/outbound/permit-pace.ts";

describe("asking for dial permits", () => {
  test("never more than four at once, in order of arrival; a failed one makes room as well", async () => {
    const pace = createPermitPace(() => 0.5);
    const ends: (() => void)[] = [];
    const begun: number[] = [];
    let most = 0;
    let live = 0;
    const all = Array.from({ length: 12 }, (_, i) =>
      pace
        .inTurn(async () => {
          begun.push(i);
          most = Math.max(most, ++live);
          await new Promise<void>((resolve) => {
            ends.push(resolve);
          });
          live -= 1;
          if (i % 3 === 0) throw new Error("no answer");
          return i;
        })
        .catch(() => -1),
    );
    for (let ended = 0; ended < all.length; ended++) {
      while (ends.length === 0) await new Promise((resolve) => setImmediate(resolve));
      ends.shift()?.();
    }
    expect(await Promise.all(all)).toEqual([-1, 1, 2, -1, 4, 5, -1, 7, 8, -1, 10, 11]);
    expect(begun).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(most).toBe(4);
  });

  test("the time an intent took is asked for and half as much again, at most three seconds; it fades when intents are quick again", () => {
    const pace = createPermitPace(() => 0.5);
    expect(pace.leadMs()).toBe(0);
    pace.intentTook(40);
    expect(pace.leadMs()).toBe(60);
    pace.intentTook(5);
    expect(pace.leadMs()).toBe(54);
    for (let i = 0; i < 100; i++) pace.intentTook(5);
    expect(pace.leadMs()).toBe(7);
    pace.intentTook(60_000);
    expect(pace.leadMs()).toBe(3000);
  });
});
