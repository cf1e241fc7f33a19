import { linearPattern } from "../../../shared/schemas/linear-pattern.ts";

const PATTERNS = [
  "^\\+[1-9][0-9]{7,14}$", "^(a+)+$", "^[\\p{L} '-]{1,80}$", "^\\s*\\S+$", "[^\\s\\d]", "a|b|", "^.$", "[a-z-9]", "[-a]", "[a-]", "[^]", "[]", "\\u00e9",
  "\\u{1F600}", "\\ud83d\\ude00", "\\x41", "\\cA", "\\.", "[\\]\\\\^-]", "\\bword\\b", "(?<year>\\d{4})-(?:0[1-9]|1[0-2])", "^(?:ab?){2,3}$", "\\p{Script=Greek}",
  "[[:a]", "^\\/a\\/", "\\P{Lu}", "a{2}b{0,1}?", "[\\b]", "\\0",
]; // prettier-ignore
const TEXTS = [
  "", "a", "aaaa!", "+14155550100", "+1415", "Jörg O'Neil-Müller", " x", "\u00a0", "\ufeff", "\u2028", "\n", "é", "😀", "A", "\u0001", ".", "]", "\\", "^", "-", "9",
  "a word here", "swords", "1999-12", "abab", "αβγ", "[:a]", ":", "/a/", "aab", "\b", "\0", "b", "_", "z",
]; // prettier-ignore

test.each(PATTERNS)("%s matches what JavaScript's own engine matches", (pattern) => {
  const linear = linearPattern(pattern);
  if (typeof linear === "string") throw new Error(linear);
  const own = new RegExp(pattern, "u");
  expect(TEXTS.filter((text) => linear.test(text))).toEqual(TEXTS.filter((text) => own.test(text)));
});

test.each([
  ["(a)\\1", "may not refer back to a group"],
  ["(?=a)b", "may not look ahead or behind"],
  ["(?<!a)b", "may not look ahead or behind"],
  ["(?:a{100}){100}", "repeats too much"],
  ["(", "is no regular expression"],
  ["a".repeat(2001), "may have at most 2000 characters"],
])("a pattern that has no linear time is refused with the reason: %s", (pattern, reason) => {
  expect(linearPattern(pattern)).toEqual(expect.stringContaining(reason));
});

test("a pattern that would backtrack for ever is judged", () => {
  const linear = linearPattern("^(a+)+$");
  expect(typeof linear !== "string" && [linear.test(`${"a".repeat(5000)}b`), linear.test("aaa")]).toEqual([
    false,
    true,
  ]);
});
