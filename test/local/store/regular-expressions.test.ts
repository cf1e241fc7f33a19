import type { Document } from "mongodb";
import { regexOf } from "../../../local/store/bson/regex.ts";
import { refusal, storeUnderTest } from "./fixtures/store-under-test.ts";
import type { StoreUnderTest } from "./fixtures/store-under-test.ts";

let t: StoreUnderTest;
beforeAll(async () => {
  t = await storeUnderTest();
});
afterAll(async () => {
  await t.stop();
});

const matches: [string, string, string, boolean][] = [
  ["^abc$", "", "abc\n", true],
  ["^abc$", "", "abc\n\n", false],
  ["^b$", "m", "a\nb\nc", true],
  ["\\Aab\\Z", "", "ab\n", true],
  ["\\Aab\\z", "", "ab\n", false],
  ["a b # a comment", "x", "ab", true],
  ["[ #]b", "x", "a b", true],
  ["a#b", "", "a#b", true],
  ["a.b", "s", "a\nb", true],
  ["a.b", "", "a\nb", false],
  ["(?ix) A  B", "", "ab", true],
  ["[[:alpha:]]+\\d", "", "é1", false],
  ["[[:alpha:]]+\\d", "", "e1", true],
  ["[]a]{2}", "", "a]", true],
  ["a(?#a comment)b", "", "ab", true],
  ["\\h\\R", "", "\t\r\n", true],
  ["[\\s]", "", "\v", true],
  ["\\Q$.\\E", "", "a$.", true],
  ["[$]\\$", "", "$$", true],
  ["\\+1\\-415", "", "+1-415", true],
  ["^\u{1F600}.$", "", "\u{1F600}\u{1F601}", true],
  ["^É", "i", "été", true],
];

test.each(matches)("/%s/%s on %j", (pattern, options, text, expected) => {
  expect(regexOf({ pattern, options }).test(text)).toBe(expected);
});

test("a match has its place and its groups", () => {
  const regex = regexOf({ pattern: "(b)(c)?", options: "" });
  expect(regex.find("abab", 2)).toEqual({ index: 3, end: 4, groups: ["b", undefined] });
  expect(regex.find("abab", 4)).toBeUndefined();
});

test("matching takes time in proportion to the text, whatever the pattern", () => {
  const text = `${"a".repeat(100_000)}!`;
  const began = performance.now();
  for (const pattern of ["^(a+)+$", "(a|a)*$b", "(a|aa)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(.*)(.*)(.*)(.*)(.*)[^!a]"])
    expect(regexOf({ pattern, options: "" }).test(text)).toBe(false);
  expect(performance.now() - began).toBeLessThan(5000);
});

const refused: [string, Document, number, RegExp][] = [
  ["look-ahead", { $regex: "a(?=b)" }, 51091, /look-around is not in the embedded store.*run a MongoDB/],
  ["look-behind", { $regex: "(?<!a)b" }, 51091, /look-around/],
  ["a back-reference", { $regex: "(a)\\1" }, 51091, /a back-reference/],
  ["an atomic group", { $regex: "(?>a)" }, 51091, /an atomic group/],
  ["a possessive quantifier", { $regex: "a++" }, 51091, /a possessive quantifier/],
  ["too many repeats", { $regex: "(a{1000}){1000}" }, 51091, /a repeat count/],
  ["too long a pattern", { $regex: "a".repeat(2001) }, 51091, /at most 2000/],
  ["a group that does not end", { $regex: "(a" }, 51091, /missing closing/],
  ["an unknown option", { $regex: "a", $options: "g" }, 51108, /invalid flag in regex options: g/],
  ["a null byte", { $regex: "a\0" }, 2, /null byte/],
];

test.each(refused)("refused before anything is read: %s", async (_name, condition, code, message) => {
  const empty = await t.fresh();
  await empty.insertOne({ a: 1 });
  await empty.deleteMany({});
  for (const filter of [{ a: condition }, { a: { $not: condition } }, { a: { $elemMatch: condition } }]) {
    const refusing = empty.find(filter).toArray();
    await expect(refusing).rejects.toThrow(message);
    expect((await refusal(empty.deleteMany(filter)))[0]).toBe(code);
    expect((await refusal(empty.updateMany(filter, { $set: { b: 1 } })))[0]).toBe(code);
  }
});
