/** The rules by which the conformance runner compares, reads values and versions, and takes its arguments. */
import { BSON } from "mongodb";
import { fromExtendedJson } from "../../../../local/store/conformance/expectations/bson-values.ts";
import { readCommand } from "../../../../shared/process/command-line.ts";
import { CONFORMANCE, requestOf } from "../../../../local/store/conformance/command-line.ts";
import {
  exactDifferences,
  match,
  type MatchScope,
  type Rootness,
} from "../../../../local/store/conformance/expectations/value-match.ts";
import { compareVersions, parseVersion } from "../../../../local/store/conformance/requirements.ts";
import { withUriOptions } from "../../../../local/store/conformance/server-under-test.ts";

describe("matching", () => {
  const scope: MatchScope = { valueEntity: () => ({ a: 1 }), sessionId: () => ({ id: "s" }) };
  const { Long, Double, Decimal128, Int32, ObjectId } = BSON;
  const id = new ObjectId();
  const cases: [name: string, expected: unknown, actual: unknown, rootness: Rootness, places: string[]][] = [
    ["equal numbers of any width", [1, 2, 3], [new Long(1), new Double(2), new Int32(3)], "nested", []],
    ["64 bits compare exactly", new Long("9007199254740993"), new Long("9007199254740992"), "nested", ["v"]],
    ["a decimal is no flexible number", 1, Decimal128.fromString("1"), "nested", ["v"]],
    ["number against text", 1, "1", "nested", ["v"]],
    ["null against absent", { a: null }, {}, "nested", ["v.a"]],
    ["false against 0", false, 0, "nested", ["v"]],
    ["key order", { a: 1, b: 2 }, { b: 2, a: 1 }, "nested", []],
    ["extra field at the root", { a: 1 }, { a: 1, b: 2 }, "root", []],
    ["extra field inside", { a: { b: 1 } }, { a: { b: 1, c: 1 } }, "root", ["v.a.c"]],
    ["extra field in an iterated document", [{ a: 1 }], [{ a: 1, b: 1 }], "roots", []],
    ["extra field in a listed value", [{ a: 1 }], [{ a: 1, b: 1 }], "root", ["v[0].b"]],
    ["array order", [1, 2], [2, 1], "nested", ["v[0]", "v[1]"]],
    ["array is no document", {}, [], "root", ["v"]],
    ["dates", new Date(5), new Date(6), "nested", ["v"]],
    ["object ids", id, new ObjectId(id.toHexString()), "nested", []],
    ["$$exists true and null", { a: { $$exists: true } }, { a: null }, "nested", []],
    ["$$exists false and null", { a: { $$exists: false } }, { a: null }, "nested", ["v.a"]],
    ["$$unsetOrMatches on null", { a: { $$unsetOrMatches: 1 } }, { a: null }, "nested", ["v.a"]],
    ["$$unsetOrMatches keeps the root", { $$unsetOrMatches: { a: 1 } }, { a: 1, b: 1 }, "root", []],
    ["$$type wants a value", { a: { $$type: "null" } }, {}, "nested", ["v.a"]],
    ["$$type of a promoted number", { $$type: ["int", "long"] }, 1.5, "nested", ["v"]],
    ["$$matchesEntity", { $$matchesEntity: "e" }, { a: 2 }, "nested", ["v.a"]],
    ["$$sessionLsid", { $$sessionLsid: "s" }, { id: "t" }, "nested", ["v"]],
    ["$$matchesHexBytes", { $$matchesHexBytes: "6162" }, "ab", "nested", []],
    ["$$matchesHexBytes differing", { $$matchesHexBytes: "6163" }, "ab", "nested", ["v"]],
    ["$$matchAsDocument", { $$matchAsDocument: { a: 1 } }, '{"a":1,"b":1}', "nested", ["v.b"]],
    ["$$matchAsDocument as root", { $$matchAsDocument: { $$matchAsRoot: { a: 1 } } }, '{"a":1,"b":1}', "nested", []],
    ["two dollars in a value", { a: "$$ROOT" }, { a: "$$ROOT" }, "nested", []],
  ];

  test.each(cases)("%s", (_name, expected, actual, rootness, places) => {
    expect(match(expected, actual, scope, "v", rootness).map((mismatch) => mismatch.place)).toEqual(places);
  });

  test("contents are compared without operators and without leniency", () => {
    expect(exactDifferences({ a: { $$exists: true } }, { a: 1 }, "d")).toHaveLength(1);
    expect(exactDifferences([{ a: 1 }], [{ a: 1, b: 1 }], "d").map((one) => one.place)).toEqual(["d[0].b"]);
    expect(exactDifferences({ a: null }, {}, "d")).toHaveLength(1);
    expect(exactDifferences(fromExtendedJson({ a: { $numberInt: "1" } }), { a: new Long(1) }, "d")).toHaveLength(1);
    expect(exactDifferences({ b: 1, a: [1] }, { a: [new Int32(1)], b: new Double(1) }, "d")).toEqual([]);
  });
});

test("Extended JSON wrappers become BSON values, query operators stay documents", () => {
  const parsed = fromExtendedJson({
    l: { $numberLong: "9007199254740993" },
    d: { $date: { $numberLong: "5" } },
    q: { $regex: "a" },
    n: 1.5,
    t: { $type: "int" },
  });
  expect(BSON.EJSON.stringify(parsed, { relaxed: false })).toBe(
    '{"l":{"$numberLong":"9007199254740993"},"d":{"$date":{"$numberLong":"5"}},"q":{"$regex":"a"},"n":{"$numberDouble":"1.5"},"t":{"$type":"int"}}',
  );
});

test("versions compare by number, without what follows the third part", () => {
  const order = (left: string, right: string): number =>
    Math.sign(compareVersions(parseVersion(left), parseVersion(right)));
  expect([
    order("4.0.10", "4.0.9"),
    order("8", "8.0.0"),
    order("4.9.0-alpha4-271-g7d5cf02", "4.9"),
    order("3.6", "4.2.0"),
    order("10.0", "9.9.9"),
  ]).toEqual([1, 0, 0, -1, 1]);
  expect(() => parseVersion("four")).toThrow(/not a version/);
});

test("URI options override those of the address, whatever their case", () => {
  expect(withUriOptions("mongodb://a:1,b:2/?RetryReads=true&serverSelectionTimeoutMS=9", { retryReads: "false" })).toBe(
    "mongodb://a:1,b:2/?serverSelectionTimeoutMS=9&retryReads=false",
  );
});

test("the arguments name one folder and a MongoDB address", () => {
  const read = (argv: string[], env: Record<string, string>) => requestOf(readCommand(CONFORMANCE, argv)!, env);
  expect(read(["x"], {})).toEqual({ folder: "x", uri: undefined });
  expect(read(["x"], { MONGODB_URI: "mongodb://e" })).toEqual({ folder: "x", uri: "mongodb://e" });
  expect(read(["x", "--uri", "mongodb://u"], { MONGODB_URI: "mongodb://e" })).toEqual({
    folder: "x",
    uri: "mongodb://u",
  });
  expect(() => read(["x", "--uri", "http://u"], {})).toThrow(/must begin with mongodb/);
});
