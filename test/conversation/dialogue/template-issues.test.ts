import { templateIssues } from "../../../services/config/rules/template-validation.ts";
import { patternIssue } from "../../../services/config/rules/pattern-validation.ts";
import type { FlowNode, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";

describe("what is told of a template before it is saved", () => {
  const template = (
    transitions: Transition[],
    node: Partial<FlowNode> = {},
    over: Partial<TemplateInput> = {},
  ): TemplateInput => ({
    reseller_id: "r",
    name: "t",
    initial_node: "a",
    variables: ["plan"],
    nodes: [
      { name: "a", prompt: "p", transitions, ...node },
      { name: "b", say: "B", on_enter: [{ type: "end_call" }] },
    ],
    global_functions: [{ name: "to_b", description: "d", next_node: "b" }],
    ...over,
  });
  const at = "nodes.0.transitions.0";
  const rows: [string, TemplateInput, string[]][] = [
    ["a sound rule", template([{ when: { variable: "plan", equals: "x" }, next_node: "b" }]), []],
    [
      "a variable that only rules set",
      template([
        { when: { digits: "\\d" }, set: { own: "{{digits}}" } },
        { when: { variable: "own", exists: true }, next_node: "b" },
      ]),
      [],
    ],
    [
      "a node without words that leads on",
      template([{ next_node: "b" }], { prompt: undefined } as unknown as FlowNode),
      [],
    ],
    ["an unknown node", template([{ when: { digits: "1" }, next_node: "z" }]), [`${at}.next_node`]],
    ["nothing that happens", template([{ when: { digits: "1" } }]), [at]],
    ["no test", template([{ when: { variable: "plan" }, next_node: "b" }]), [`${at}.when`]],
    ["two tests", template([{ when: { variable: "plan", exists: true, equals: 1 }, next_node: "b" }]), [`${at}.when`]],
    ["an empty condition", template([{ when: {}, next_node: "b" }]), [`${at}.when`]],
    [
      "keys and a variable",
      template([{ when: { variable: "plan", equals: 1, digits: "1" }, next_node: "b" }]),
      [`${at}.when`],
    ],
    [
      "an unknown variable",
      template([{ when: { variable: "who", exists: true }, next_node: "b" }]),
      [`${at}.when.variable`],
    ],
    [
      "digits where no keys are asked for",
      template([{ when: { variable: "plan", exists: true }, set: { x: "{{digits}}" } }]),
      [`${at}.set.x`],
    ],
    ["a broken pattern", template([{ when: { digits: "(" }, next_node: "b" }]), [`${at}.when.digits`]],
    ["a rule without a condition beside a prompt", template([{ next_node: "b" }]), [at]],
    [
      "one that is not the last",
      template([{ next_node: "b" }, { when: { digits: "1" }, next_node: "b" }], { say: "x" }),
      [at],
    ],
    ["one that leads nowhere", template([{ set: { x: "1" } }], { say: "x" }), [at]],
    ["a collection without collecting", template([], { collection: { secret: true } }), ["nodes.0.collection"]],
    [
      "a transfer to what was keyed",
      template([{ when: { digits: "\\d+" }, set: { desk: "{{digits}}" } }], {
        functions: [{ name: "f", description: "d", action: "transfer", transfer_to: "{{desk}}" }],
      }),
      ["nodes.0.functions.0.transfer_to"],
    ],
  ];
  test.each(rows)("%s", (_name, t, expected) => expect(templateIssues(t).map((f) => f.path)).toEqual(expected));
  test.each([
    [24, []],
    [32, ["nodes.0.transitions"]],
  ])("%i costly patterns of one node count together: each is tried in its turn", (count, expected) => {
    const rules = Array.from({ length: count }, () => ({
      when: { variable: "customer", matches: ".*gold.*" },
      next_node: "b",
    }));
    expect(templateIssues(template(rules, { say: "x" }, { variables: ["customer"] })).map((f) => f.path)).toEqual(
      expected,
    );
  });
  test("a node that only a rule leads to is reached", () => {
    expect(templateIssues(template([{ when: { digits: "1" }, next_node: "b" }], {}, { global_functions: [] }))).toEqual(
      [],
    );
  });
});

describe("patterns", () => {
  test.each([
    "1",
    "[0-9]{4}",
    "yes|yeah|yep",
    "(?:mon|tues|fri)day",
    "\\+?\\d{3}-?\\d{4,8}",
    ".*gold.*",
    "[(|)*]+",
    "a(b)?",
    "\\(x\\)",
  ])("%s can be used", (p) => expect(patternIssue(p)).toBeNull());
  test.each([
    "(",
    "[",
    "(a+)+",
    "(a|a)*",
    "(ab){2}",
    "a*a*a*b",
    "(a)\\1",
    "(?=a)b",
    "(?<!a)b",
    `${"(a|a)".repeat(20)}b`,
    `${"a?".repeat(20)}b`,
    "\\d{1,200}x{1,200}y{1,200}",
    "a)(b",
    "a)|(b",
  ])("%s can not", (p) => expect(patternIssue(p)).not.toBeNull());
  test("no usable pattern takes long", () => {
    for (const p of [".*.*x", "a*a*b", "(a|a)(a|a)(a|a)(a|a)a*b", ".*(?:a|aa|aaa).*b"]) {
      expect(patternIssue(p)).toBeNull();
      RegExp(`^(?:${p})$`, "iu").test("a".repeat(200));
    }
  });
});
