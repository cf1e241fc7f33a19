import {
  Binary,
  BSONRegExp,
  calculateObjectSize,
  Code,
  Decimal128,
  Double,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  serialize,
  Timestamp,
} from "bson";
import * as fc from "fast-check";
import { decode } from "../../../local/store/bson/bson-reader.ts";
import { encode } from "../../../local/store/bson/bson-writer.ts";
import { compareValues, identical } from "../../../local/store/bson/comparison.ts";
import { encodeKey } from "../../../local/store/indexes/key-encoder.ts";
import type { Doc, Value } from "../../../local/store/bson/values.ts";

const hex24 = fc.string({ unit: fc.constantFrom(..."0123456789abcdef"), minLength: 24, maxLength: 24 });
const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.integer(),
  fc.double().map((n) => (Number.isInteger(n) || !Number.isFinite(n) ? new Double(n) : n)),
  fc.integer({ min: -3, max: 3 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((n) => Long.fromBigInt(n)),
  fc.constantFrom(Long.fromNumber(1), new Double(1), new Double(-0), new Double(Number.NaN)),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }), fc.integer({ min: -12, max: 6 }))
    .map(([d, e]) => Decimal128.fromString(`${d}E${e}`)),
  fc.string({ unit: "binary", maxLength: 4 }),
  fc.constantFrom("", "a", "a\0", "a\0b", "ab", "\u{1F600}", "\uFFFD"),
  fc.boolean(),
  fc.constant(null),
  fc.date({ noInvalidDate: true }),
  hex24.map((h) => new ObjectId(h)),
  fc.uint8Array({ maxLength: 5 }).map((b) => new Binary(b, 4)),
  fc.tuple(fc.nat(), fc.nat()).map(([t, i]) => new Timestamp({ t, i })),
  fc.constantFrom(new BSONRegExp("a", "i"), new BSONRegExp("ab")),
  fc.constantFrom(new MinKey(), new MaxKey()),
);
const value: fc.Arbitrary<Value> = fc.letrec<{ v: Value; doc: Doc; list: Value[] }>((tie) => ({
  v: fc.oneof({ depthSize: "small" }, scalar, scalar, tie("doc"), tie("list")),
  doc: fc.dictionary(fc.constantFrom("a", "b", "ab", "__proto__"), tie("v"), { maxKeys: 3, noNullPrototype: true }),
  list: fc.array(tie("v"), { maxLength: 3 }),
})).v;

test("keys sort as bytes the way MongoDB sorts the values, ascending and descending", () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      const order = Math.sign(compareValues(a, b));
      expect(Math.sign(Buffer.compare(encodeKey([a], [false]), encodeKey([b], [false])))).toBe(order);
      expect(Math.sign(Buffer.compare(encodeKey([a, 1], [true, false]), encodeKey([b, 1], [true, false])))).toBe(
        order === 0 ? 0 : -order,
      );
    }),
    { numRuns: 800 },
  );
});

test("numbers of all types are one line: values between two doubles keep their place", () => {
  const line: Value[] = [
    new Double(Number.NaN),
    new Double(-Infinity),
    Long.MIN_VALUE,
    -5,
    -0.5,
    0,
    Decimal128.fromString("0.1"),
    0.1,
    Decimal128.fromString("0.10000000000000001"),
    new Double(2 ** 53),
    Long.fromString("9007199254740993"),
    Decimal128.fromString("9007199254740993.5"),
    new Double(2 ** 53 + 2),
    Long.MAX_VALUE,
    new Double(1e300),
    new Double(Infinity),
  ];
  for (let i = 1; i < line.length; i++) {
    expect(compareValues(line[i - 1], line[i])).toBeLessThan(0);
    expect(Buffer.compare(encodeKey([line[i - 1]], [false]), encodeKey([line[i]], [false]))).toBe(-1);
  }
  expect(compareValues(Long.fromNumber(1), Decimal128.fromString("1.000"))).toBe(0);
});

test("every BSON type is read and written back byte for byte", () => {
  const doc = {
    d1: new Double(1),
    nan: new Double(Number.NaN),
    negativeZero: new Double(-0),
    half: 0.5,
    i: 7,
    l: Long.fromNumber(7),
    max: Long.MAX_VALUE,
    dec: Decimal128.fromString("1.10"),
    s: "gr\u00fc\u00df \u{1F600}",
    id: new ObjectId(),
    date: new Date(-1),
    bin: new Binary(Buffer.from("abc"), 0),
    uuid: new Binary(Buffer.alloc(16, 3), 4),
    old: new Binary(Buffer.from("x"), 2),
    ts: new Timestamp({ t: 4_000_000_000, i: 3 }),
    re: new BSONRegExp("^a", "i"),
    code: new Code("f()"),
    scoped: new Code("g()", { x: 1 }),
    min: new MinKey(),
    max2: new MaxKey(),
    nil: null,
    yes: true,
    nested: { b: [{ c: [] }, {}] },
    constructor: 1,
    hasOwnProperty: "x",
  };
  const bytes = Buffer.from(serialize(doc));
  expect(Buffer.from(encode(decode(bytes)))).toEqual(bytes);
  fc.assert(
    fc.property(value, (v) => {
      const raw = Buffer.from(encode({ v }));
      const read = decode(raw);
      expect(identical(read["v"], v) || compareValues(read["v"], v) === 0).toBe(true);
      expect(Buffer.from(encode(read))).toEqual(raw);
    }),
    { numRuns: 1000 },
  );
});

test("a field named __proto__ is a field", () => {
  const raw = Buffer.from(serialize(JSON.parse('{"a":1,"__proto__":{"x":1}}') as object));
  const doc = decode(raw);
  expect(Object.keys(doc)).toEqual(["a", "__proto__"]);
  expect(Object.getPrototypeOf(doc)).toBe(Object.prototype);
  expect(Buffer.from(encode(doc))).toEqual(raw);
});

test("broken BSON is refused, never read past its end", () => {
  const good = Buffer.from(serialize({ a: "text", b: { c: [1, 2, 3] }, d: new Binary(Buffer.alloc(9)) }));
  for (let cut = 0; cut < good.length; cut++) expect(() => decode(good.subarray(0, cut))).toThrow(/BSON|lacks|early/);
  fc.assert(
    fc.property(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 }), (at, byte) => {
      const bad = Buffer.from(good);
      bad[at] = byte;
      let out: Doc | undefined;
      try {
        out = decode(bad);
      } catch (error) {
        expect((error as { code?: number }).code).toEqual(expect.any(Number));
      }
      if (out !== undefined) expect(calculateObjectSize(out)).toBeGreaterThan(4);
    }),
    { numRuns: 800 },
  );
  let deep: Doc = {};
  for (let i = 0; i < 250; i++) deep = { d: deep };
  expect(() => decode(encode(deep))).toThrow(/nesting/);
});
