import * as fc from "fast-check";
import { inexactNumberIn, isInexact, parsedExactly } from "../../../shared/text/exact-numbers.ts";

test.each([
  "0",
  "-0",
  "42",
  "9007199254740991",
  "9007199254740992",
  "-9007199254740992",
  "100000000000000000000",
  "1e21",
  "1E+2",
  "1.50000000000000000000",
  "19.99",
  "0.1",
  "0e10",
  "19.989999999999998",
  "5e-324",
  "1.7976931348623157e308",
  "123456789012.3456",
])("%s is kept", (source) => {
  expect([isInexact(source), inexactNumberIn(`{"n":${source}}`), parsedExactly(source)]).toEqual([
    false,
    null,
    Number(source),
  ]);
});

test.each([
  "7615917337495251231",
  "-9007199254740993",
  "9007199254740993",
  "1000000000000000000001",
  "123456789012345678.0",
  "7.615917337495251231e18",
  "1e400",
  "-1e400",
  "1e-400",
  "0.1000000000000000055511151231257827",
])("%s is no double: it is named, or kept as text", (source) => {
  expect([isInexact(source), inexactNumberIn(`{"a":[1,{"n":${source}}]}`)]).toEqual([true, "a.1.n"]);
  expect(parsedExactly(`{"a":[1,{"n":${source}}],"b":2}`)).toEqual({ a: [1, { n: source }], b: 2 });
});

test("whatever a program writes of its doubles is kept", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) =>
      expect(isInexact(JSON.stringify(n))).toBe(false),
    ),
  );
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true, min: -1e15, max: 1e15 }), (n) =>
      expect(isInexact(n.toPrecision(17))).toBe(false),
    ),
  );
});

test("of integers those are named that are written otherwise once they were read, and no other", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(2n ** 69n), max: 2n ** 69n }), (n) =>
      expect(isInexact(String(n))).toBe(JSON.stringify(Number(n)) !== String(n)),
    ),
    {
      examples: [[2n ** 53n], [2n ** 53n + 1n], [2n ** 64n], [2n ** 64n - 1n]],
    },
  );
});

test("digits inside of texts and names are none", () => {
  const text = JSON.stringify({ "9007199254740993": ": 9007199254740993", list: ["1e400", "[1e400,"] });
  expect([inexactNumberIn(text), parsedExactly(text)]).toEqual([null, JSON.parse(text)]);
});
