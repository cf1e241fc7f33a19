import * as fc from "fast-check";
import { render, renderJson, valueText } from "../../../shared/placeholders.ts";
import { argumentChecks } from "../../../services/conversation/dialogue/argument-checks.ts";
import { readArguments } from "../../../services/conversation/dialogue/function-calls.ts";
import { NODES, flowTemplate } from "../../fixtures/flow-template.ts";

describe("variables", () => {
  test.each([
    ["Hello {{ name }}!", { name: "Ada" }, "Hello Ada!"],
    ["{{missing}}.", {}, "."],
    ["{{n}} {{b}} {{z}} {{list}}", { n: 4.5, b: false, z: null, list: [1, "a"] }, "4.5 false  1, a"],
    ["You ordered {{list}}.", { list: ["Pizza", null, "", "Coke"] }, "You ordered Pizza, Coke."],
    ["{{none}}{{list}}", { none: [], list: [{ a: 1 }, "b"] }, '[{"a":1},"b"]'],
    ["{{object}}", { object: { a: [1] } }, '{"a":[1]}'],
    ["{{a}}", { a: "{{b}}", b: "no" }, "{{b}}"],
    ["{{constructor}}{{toString}}{{hasOwnProperty}}", {}, ""],
    ["{{1x}} {{}} { {a} } ${process}", { a: "x" }, "{{1x}} {{}} { {a} } ${process}"],
    ["{{a}}", { a: "$& $1" }, "$& $1"],
  ])("%s", (text, values, expected) => expect(render(text, [values])).toBe(expected));
  test("the conversation's own values win over the payload's", () =>
    expect(render("{{a}}", [{ a: "new" }, { a: "old" }])).toBe("new"));
  test("any text and any values render to text, without a second reading", () => {
    fc.assert(
      fc.property(fc.string(), fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.jsonValue()), (text, values) => {
        expect(typeof render(text, [values])).toBe("string");
        for (const name of Object.keys(values))
          expect(render(`<{{${name}}}>`, [values])).toBe(`<${valueText(name, [values])}>`);
      }),
    );
  });
  test("JSON bodies keep the type of a value that stands alone", () => {
    expect(renderJson({ a: "{{n}}", b: ["x{{n}}", { c: "{{none}}" }], d: 1 }, [{ n: 5 }])).toEqual({
      a: 5,
      b: ["x5", { c: null }],
      d: 1,
    });
  });
});

describe("arguments", () => {
  test.each([
    ["", {}],
    ["  ", {}],
    ['{"a":1}', { a: 1 }],
  ])("%j is read", (text, value) => expect(readArguments(text)).toEqual(value));
  test.each(["[]", "1", "null", "{", `{"a":"${"x".repeat(9000)}"}`, `{"a":${"[".repeat(64)}${"]".repeat(64)}}`])(
    "%.20s is refused with a reason",
    (text) => expect(typeof readArguments(text)).toBe("string"),
  );
  test("faults name the argument; a parameter schema that is none lets nothing pass", () => {
    const check = argumentChecks(flowTemplate());
    const setDay = NODES[1]!.functions![0]!;
    expect(check(setDay, { day: "Friday" })).toEqual([]);
    expect(check(setDay, { day: "F", other: 1 })).toEqual(
      expect.arrayContaining([expect.stringMatching(/^day /), expect.stringMatching(/^other is not a known field/)]),
    );
    expect(check(setDay, {})).toEqual(["day is required"]);
    const broken = { name: "x", description: "d", parameters: { properties: { a: { type: "wat" } } } };
    expect(argumentChecks(flowTemplate({ global_functions: [broken] }))(broken, { a: 1 })).toEqual([
      expect.stringContaining("can't be checked"),
    ]);
  });
});
