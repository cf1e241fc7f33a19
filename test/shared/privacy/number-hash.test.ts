import { codeOf } from "../../../shared/errors.ts";
import { holdsNumber, withoutNumber } from "../../../shared/privacy/erased-text.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { numberHash } from "../../../shared/privacy/number-hash.ts";

const key = (of: number): string => Buffer.alloc(32, of).toString("base64");
const NUMBER = "+4915112345678";

test("a number's hash is the same each time, another under another key, and says nothing of the number", () => {
  const first = numberHash({ ERASURE_KEY: key(1) });
  expect(first.own(NUMBER)).toBe(numberHash({ ERASURE_KEY: key(1) }).own(NUMBER));
  expect(first.own(NUMBER)).not.toBe(first.own("+4915112345679"));
  expect(first.own(NUMBER)).not.toBe(numberHash({ ERASURE_KEY: key(2) }).own(NUMBER));
  expect(first.own(NUMBER)).not.toContain("12345678");
});

test("after a change of keys, what was hashed under the one before is known still", () => {
  const before = numberHash({ ERASURE_KEY: key(1) });
  const after = numberHash({ ERASURE_KEY: key(2), ERASURE_OTHER_KEY: key(1) });
  expect(after.all(NUMBER)).toEqual([after.own(NUMBER), before.own(NUMBER)]);
  expect(numberHash({ ERASURE_KEY: key(1), ERASURE_OTHER_KEY: key(1) }).all(NUMBER)).toHaveLength(1);
});

test("without a key nothing is hashed, and a key of another form is refused at start", () => {
  const none = numberHash({});
  expect(none.all(NUMBER)).toEqual([]);
  expect(() => none.own(NUMBER)).toThrow("ERASURE_KEY is not set");
  try {
    none.own(NUMBER);
  } catch (error) {
    expect(codeOf(error)).toBe("NOT_AVAILABLE");
  }
  expect(() => readEnv({ ERASURE_KEY: "short" })).toThrow("ERASURE_KEY must be 32 bytes as base64");
});

test("a text that holds a number is known by it in every spelling", () => {
  for (const text of ["+4915112345678", "004915112345678", "0151 / 123 456-78", "call 15112345678 back"])
    expect([text, holdsNumber(text, NUMBER), withoutNumber(text, NUMBER)]).toEqual([text, true, "erased"]);
  expect(withoutNumber("order-4711", NUMBER)).toBe("order-4711");
});
