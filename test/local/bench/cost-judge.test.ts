import { costsIn, pageOf } from "../../../local/bench/guard/cost-page.ts";
import { ITEMS, type Cost, type Costs } from "../../../local/bench/guard/costs.ts";
import { boundsOf, judgeCommands, judgeCounts, judgeProcessor } from "../../../local/bench/guard/judge.ts";

const COST: Cost = {
  statements: { "find leads": 3, "insert leads": 1, "find deliveries": -1 },
  statement_bytes: 1000,
  messages: { "leads.push": 20 },
  message_bytes: 2000,
};
const of = (push: Cost): Costs => ({ ...(Object.fromEntries(ITEMS.map((item) => [item, COST])) as Costs), push });
const KEPT = of(COST);
const redOf = (push: Partial<Cost>): string[] =>
  judgeCounts(KEPT, of({ ...COST, ...push }))
    .filter(({ ok }) => !ok)
    .map(({ says }) => says);

test("the page keeps the costs that it is made of", () => expect(costsIn(pageOf(KEPT))).toEqual(KEPT));

test("a page that lacks an item is refused with the command that writes it", () =>
  expect(() => costsIn(pageOf(KEPT).replaceAll("| claim |", "| claims |"))).toThrow(/keeps no claim: npm run bench/));

test("what costs the same passes, one check for each figure of each item", () => {
  const checks = judgeCounts(KEPT, KEPT);
  expect(checks).toHaveLength(4 * ITEMS.length);
  expect(checks.filter(({ ok, says }) => !ok || says.includes("→"))).toEqual([]);
});

test("one statement more is refused, with its kind", () =>
  expect(redOf({ statements: { ...COST.statements, "update leads": 1 } })).toEqual([
    "push: statements 3 → 4 (update leads 0 → 1)",
  ]));

test.each([
  [{ statement_bytes: 1051 }, "push: statement bytes 1000 → 1051"],
  [{ messages: { "leads.push": 20, "lead.queued": 2 } }, "push: messages 20 → 22 (lead.queued 0 → 2)"],
  [{ message_bytes: 2102 }, "push: message bytes 2000 → 2102"],
])("more than 5 % more is refused: %j", (push, says) => expect(redOf(push)).toEqual([says]));

test.each([{ statement_bytes: 1050 }, { messages: { "leads.push": 21 } }, { message_bytes: 2100 }])(
  "up to 5 % more passes: %j",
  (push) => expect(redOf(push)).toEqual([]),
);

test("what costs less, or the same in other kinds, passes and asks for the page to be written", () => {
  const now = of({ ...COST, statements: { "find leads": 4, "find deliveries": -1 }, message_bytes: 1999 });
  const told = judgeCounts(KEPT, now).filter(({ says }) => says.includes("→"));
  expect(told).toEqual([
    {
      ok: true,
      says: expect.stringMatching(/^push: statements 3 → 3 \(find leads 3 → 4, insert leads 1 → 0\); .*--write$/),
    },
    { ok: true, says: expect.stringMatching(/^push: statement bytes 1000 → 1000 .*--write$/) },
    { ok: true, says: expect.stringMatching(/^push: message bytes 2000 → 1999; .*--write$/) },
  ]);
});

describe("on real processes", () => {
  /** Rounds that swing by 4 % around such a share of the other's time. */
  const roundsOf = (share: number, commands = 10) => ({
    item: "push",
    pairs: Array.from({ length: 20 }, (_, i) => ({
      ours: { ms: share * (i % 2 === 0 ? 1.04 : 0.96), commands: commands + (i % 3) / 10 },
      theirs: { ms: 1, commands: 10 },
      world: i < 10 ? 0 : 1,
    })),
  });

  test("of four rounds the mean lies within 4.54 standard errors, of one anywhere", () => {
    const [error] = [Math.sqrt(20 / 3 / 4)];
    const bounds = { mean: 4, low: expect.closeTo(4 - 4.54 * error), high: expect.closeTo(4 + 4.54 * error) };
    expect(boundsOf([1, 3, 5, 7])).toEqual(bounds);
    expect(boundsOf([4])).toEqual({ mean: 4, low: -Infinity, high: Infinity });
  });

  test.each([0.9, 1, 1.05])("%d of the processor time passes", (share) =>
    expect(judgeProcessor(roundsOf(share))).toMatchObject({ ok: true }),
  );

  test("12 % more processor time is refused where rounds swing by 4 %", () =>
    expect(judgeProcessor(roundsOf(1.12))).toEqual({
      ok: false,
      says: expect.stringMatching(/^push: processor time 1\.0 → 1\.1 ms, 1\.12 of it \(1\.09 to 1\.15, 20 rounds\)$/),
    }));

  test("what is more in one pair of processes alone passes", () => {
    const { item, pairs } = roundsOf(1.3);
    const second = roundsOf(1).pairs.slice(10);
    expect(judgeProcessor({ item, pairs: pairs.slice(0, 10) })).toMatchObject({ ok: true });
    expect(judgeProcessor({ item, pairs: [...pairs.slice(0, 10), ...second] })).toMatchObject({ ok: true });
  });

  test.each([1, 2, 4])("of %d rounds, 8 %% more may have come by chance and passes", (rounds) => {
    const { item, pairs } = roundsOf(1.08);
    expect(judgeProcessor({ item, pairs: pairs.slice(0, rounds) })).toMatchObject({ ok: true });
  });

  test("one or two commands more may be periodic work, three are refused", () =>
    expect([11.9, 13].map((commands) => judgeCommands(roundsOf(1, commands)).ok)).toEqual([true, false]));
});
