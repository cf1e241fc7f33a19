import type { Condition, FlowNode, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { patternIssue, patternsIssue } from "./pattern-validation.ts";
import { literalIssue } from "./template-variables.ts";

/** What is wrong with the rules of nodes and with their DTMF collections. Pure. */

const TESTS = ["equals", "one_of", "exists", "matches"] as const;

const pattern = (text: string | undefined, path: string): ValidationIssue[] => {
  const message = text === undefined ? null : patternIssue(text);
  return message === null ? [] : [{ path, message }];
};

const literalIssues = (when: Condition, path: string): ValidationIssue[] => [
  ...literalIssue(when.equals, `${path}.equals`),
  ...(when.one_of ?? []).flatMap((value, i) => literalIssue(value, `${path}.one_of.${i}`)),
];

function conditionIssues(when: Condition, path: string): ValidationIssue[] {
  const tests = TESTS.filter((test) => when[test] !== undefined);
  const issues = [
    ...literalIssues(when, path),
    ...pattern(when.matches, `${path}.matches`),
    ...pattern(when.digits, `${path}.digits`),
  ];
  if (when.digits !== undefined)
    return when.variable === undefined && tests.length === 0
      ? issues
      : [{ path, message: "asks for digits and for a variable; make two rules of it" }, ...issues];
  if (when.variable === undefined) return [{ path, message: "needs a variable, or digits" }, ...issues];
  return tests.length === 1
    ? issues
    : [
        { path, message: `needs one of ${TESTS.join(", ")}${tests.length > 1 ? `, not ${tests.join(" and ")}` : ""}` },
        ...issues,
      ];
}

function ruleIssues(rule: Transition, path: string, node: FlowNode, isLast: boolean): ValidationIssue[] {
  if (rule.when === undefined) {
    if (rule.next_node === undefined)
      return [{ path, message: "has no when, so it needs a next_node: it is where the talk goes on from here" }];
    if (node.prompt !== undefined && node.say === undefined)
      return [
        {
          path,
          message:
            "has no when, so the talk would leave before the prompt is followed; give it a when, or the node a say",
        },
      ];
    return isLast ? [] : [{ path, message: "has no when, so it must be the last one" }];
  }
  const idle = rule.next_node === undefined && rule.outcome === undefined && Object.keys(rule.set ?? {}).length === 0;
  return [
    ...(idle ? [{ path, message: "leads nowhere: give it a next_node, an outcome or variables to set" }] : []),
    ...conditionIssues(rule.when, `${path}.when`),
  ];
}

/** A node's patterns are tried one after the other, so together they may take no longer than one. */
function patternsOfNode(rules: readonly Transition[], path: string): ValidationIssue[] {
  const patterns = rules.flatMap(({ when }) => [when?.matches ?? [], when?.digits ?? []].flat());
  const message = patterns.some((p) => patternIssue(p) !== null) ? null : patternsIssue(patterns);
  return message === null ? [] : [{ path, message: `together ${message}` }];
}

function nodeIssues(node: FlowNode, path: string): ValidationIssue[] {
  const rules = node.transitions ?? [];
  return [
    ...patternsOfNode(rules, `${path}.transitions`),
    ...rules.flatMap((rule, i) => ruleIssues(rule, `${path}.transitions.${i}`, node, i === rules.length - 1)),
    ...(node.collection !== undefined && node.collect !== "dtmf"
      ? [{ path: `${path}.collection`, message: "says how keys are gathered, so the node needs collect: dtmf" }]
      : []),
  ];
}

/** Rules about the key by which a callee asks not to be called again: it would never reach them. Where a node collects an entry it is an ordinary key. */
function wishKeyIssues(node: FlowNode, path: string, key: string | undefined): ValidationIssue[] {
  if (key === undefined || node.collect === "dtmf") return [];
  return (node.transitions ?? []).flatMap(({ when }, i) => {
    const digits = when?.digits;
    if (digits === undefined || patternIssue(digits) !== null || !new RegExp(`^(?:${digits})$`, "iu").test(key))
      return [];
    const message = `takes the key ${key}, which is the template's do_not_call_key; choose another key for one of them`;
    return [{ path: `${path}.transitions.${i}.when.digits`, message }];
  });
}

/** Whether a node leads on by itself, so that it needs no words. */
export const leadsOn = (node: FlowNode): boolean =>
  node.transitions?.at(-1)?.when === undefined && node.transitions?.at(-1)?.next_node !== undefined;

/** Rules that compare with a variable's name instead of its value. */
export const comparisonIssues = (t: Pick<TemplateInput, "nodes">): ValidationIssue[] =>
  t.nodes.flatMap(({ transitions = [] }, i) =>
    transitions.flatMap(({ when }, j) => (when ? literalIssues(when, `nodes.${i}.transitions.${j}.when`) : [])),
  );

/** Everything that keeps rules and collections from working. */
export const transitionIssues = (t: Pick<TemplateInput, "nodes" | "do_not_call_key">): ValidationIssue[] =>
  t.nodes.flatMap((node, i) => [
    ...nodeIssues(node, `nodes.${i}`),
    ...wishKeyIssues(node, `nodes.${i}`, t.do_not_call_key),
  ]);
