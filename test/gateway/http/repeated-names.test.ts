import * as fc from "fast-check";
import { namesIn, repeatedNameIn } from "../../../services/gateway/http/repeated-names.ts";
import { jsonValue } from "../../../services/gateway/http/body.ts";

describe("a name that an object has twice", () => {
  test.each([
    ['{"a":1,"a":2}', "a"],
    ['{"a":1,"\\u0061":2}', "a"],
    ['{"a":{"b":[1,{"c":1,"d":2,"c":3}]}}', "a.b[1].c"],
    ['[{"x":"}"},{"y":"\\"","y" : null}]', "[1].y"],
    ['{"":1,"":2}', ""],
    ['{"a":"\\\\","a":0}', "a"],
  ])("%s is found at %s", (text, path) => {
    expect(repeatedNameIn(text)).toBe(path);
    expect(() => jsonValue(Buffer.from(text))).toThrow("is given more than once in the same object");
  });

  test.each([
    '{"a":{"a":1},"b":{"a":2}}',
    '["a","a"]',
    '{"a":"a:","b":"\\"a\\":1"}',
    '"a"',
    "{}",
    '{"a":["a",{"a":1}]}',
  ])("%s has none", (text) => {
    expect(repeatedNameIn(text)).toBeNull();
    expect(() => jsonValue(Buffer.from(text))).not.toThrow();
  });

  test("no text that JSON.stringify writes has any, and all its names are counted", () => {
    const count = (value: unknown): number =>
      typeof value !== "object" || value === null
        ? 0
        : (Array.isArray(value) ? 0 : Object.keys(value).length) +
          Object.values(value).reduce((sum: number, inner) => sum + count(inner), 0);
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        return repeatedNameIn(text) === null && namesIn(text) === count(JSON.parse(text));
      }),
    );
  });
});
