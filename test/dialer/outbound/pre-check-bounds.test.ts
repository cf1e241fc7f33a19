import { withinBounds, type Judgement } from "../../../services/dialer/outbound/pre-checks/pre-check-verdict.ts";

const passed = (exported: Record<string, unknown>): Judgement => ({
  status: "passed",
  http_status: 200,
  exported,
  detail: null,
});
const large = (chars: number): string => "v".repeat(chars);

test("the variables of all pre-checks of an attempt have a bound together: the largest are left out, and named", () => {
  expect(withinBounds(passed({ orders: 3 }), {})).toEqual(passed({ orders: 3 }));
  const before = { first: large(30_000) };
  expect(withinBounds(passed({ orders: 3, address: large(3000) }), before)).toEqual({
    ...passed({ orders: 3 }),
    detail: "the variables of all pre-checks are too large together; left out: address",
  });
});
