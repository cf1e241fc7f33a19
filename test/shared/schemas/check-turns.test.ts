import { checkTurns } from "../../../shared/schemas/check-turns.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const MERCHANT = { reseller_id: "r", merchant_id: "m" };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Turns, and what was checked when (ms), each check taking some processor time while the clock stands for it. */
function stage() {
  const clock = virtualClock();
  const at: Record<string, number> = {};
  const turns = checkTurns(clock);
  const push = (name: string, takes: number, owner: { reseller_id: string; merchant_id: string | null } = MERCHANT) =>
    turns.take(owner, () => {
      at[name] = clock.monotonicMs();
      return Promise.resolve({ result: name, used_ms: takes });
    });
  const pass = async (ms: number, step = 10) => {
    for (let left = ms; left > 0; left -= step) await clock.advance(step);
  };
  return { push, pass, at };
}

describe("checks of payloads", () => {
  test("that cost little never wait, however many", async () => {
    const { push, at } = stage();
    await Promise.all(Array.from({ length: 500 }, (_, i) => push(`c${i}`, 0.1)));
    expect(new Set(Object.values(at))).toEqual(new Set([0]));
  });
  test("that cost much take a quarter of the processor for a merchant, and nothing of another reseller's time", async () => {
    const { push, pass, at } = stage();
    const all = Array.from({ length: 5 }, (_, i) => push(`c${i}`, 250));
    await settled();
    await pass(1500);
    await push("neighbour", 1, { reseller_id: "other", merchant_id: "n" });
    await pass(3000);
    expect(await Promise.all(all)).toEqual(["c0", "c1", "c2", "c3", null]);
    expect([at["c1"], at["c2"], at["c3"]]).toEqual([450, 1200, 1950]);
    expect(at["neighbour"]).toBe(1500);
  });
  test("of a merchant's sibling wait for one check at most, and many merchants share their reseller's half", async () => {
    const { push, pass, at } = stage();
    const all = Array.from({ length: 4 }, () => push("flood", 1000));
    await settled();
    const sibling = push("sibling", 1, { reseller_id: "r", merchant_id: "s" });
    await pass(5000);
    expect(await sibling).toBe("sibling");
    expect(at["sibling"]).toBe(700);
    expect(await Promise.all(all)).toEqual(["flood", null, null, null]);
  });
  test("go on after one that throws", async () => {
    const { push } = stage();
    const { take } = checkTurns(virtualClock());
    await expect(take(MERCHANT, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken");
    expect(await take(MERCHANT, () => Promise.resolve({ result: 1, used_ms: 1 }))).toBe(1);
    expect(await push("next", 1)).toBe("next");
  });
});
