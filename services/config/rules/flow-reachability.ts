import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import type { TemplateInput } from "../../../shared/contracts/records/template.ts";
import type { ValidationIssue } from "../../../shared/errors.ts";
import { leadsOn } from "./flow-transition-validation.ts";
import { functionsOf } from "./template-variables.ts";

/** Where a template's nodes lead: every one is reached from the start, and from every one the call can end. Pure. */

type Graph = Pick<TemplateInput, "initial_node" | "nodes" | "global_functions">;

/** Everything that a search from these names comes to, themselves included. */
function searched(from: readonly string[], next: (name: string) => readonly string[]): Set<string> {
  const found = new Set<string>();
  const toVisit = [...from];
  for (let name = toVisit.pop(); name !== undefined; name = toVisit.pop()) {
    if (found.has(name)) continue;
    found.add(name);
    toVisit.push(...next(name));
  }
  return found;
}

/** Names of the nodes that a conversation can reach: from the initial node, and from any node by a global function. */
function reachable(t: Graph): Set<string> {
  const next = new Map(
    t.nodes.map((n) => [n.name, [...(n.functions ?? []), ...(n.transitions ?? [])].flatMap((f) => f.next_node ?? [])]),
  );
  const starts = [t.initial_node, ...(t.global_functions ?? []).flatMap((f) => f.next_node ?? [])];
  return searched(starts, (name) => next.get(name) ?? []);
}

/** Roads to nodes that do not exist, and nodes that no road leads to. */
export function roadIssues(t: Graph): ValidationIssue[] {
  const names = new Set(t.nodes.map((n) => n.name));
  const roads = [
    ...functionsOf(t).map(({ path, fn }) => ({ path, next_node: fn.next_node })),
    ...t.nodes.flatMap((n, i) =>
      (n.transitions ?? []).map(({ next_node }, j) => ({ path: `nodes.${i}.transitions.${j}`, next_node })),
    ),
  ];
  const lost = roads.flatMap(({ path, next_node }) =>
    next_node === undefined || names.has(next_node)
      ? []
      : [{ path: `${path}.next_node`, message: `there is no node named ${next_node}` }],
  );
  // without a known initial node every node is unreachable: those issues would only hide the cause
  if (!names.has(t.initial_node))
    return [{ path: "initial_node", message: `there is no node named ${t.initial_node}` }, ...lost];
  const reached = reachable(t);
  return [
    ...lost,
    ...t.nodes.flatMap((n, i) =>
      reached.has(n.name)
        ? []
        : [
            {
              path: `nodes.${i}.name`,
              message: `no function or transition leads to ${n.name}, so the talk can never come there`,
            },
          ],
    ),
  ];
}

/** Where a node leads. `ends`: the call can end in it, or on the way out of it. */
interface Ways {
  to: readonly string[];
  ends: boolean;
}

const endsCall = (actions: FlowNode["on_enter"]): boolean => (actions ?? []).some((a) => a.type === "end_call");

/** Functions are offered where the customer is listened to: not in a node that leads on by itself. */
function waysOf(node: FlowNode, t: Graph): Ways {
  const offered = leadsOn(node) ? [] : [...(node.functions ?? []), ...(t.global_functions ?? [])];
  const to = [...offered, ...(node.transitions ?? [])].flatMap(({ next_node }) => next_node ?? []);
  const ends =
    endsCall(node.on_enter) ||
    (endsCall(node.on_exit) && to.length > 0) ||
    offered.some(({ action }) => action === "end_call" || action === "transfer");
  return { to, ends };
}

const DEAD_END =
  "give it end_call in on_enter, a transition, or a function that leads on or ends the call; otherwise the line stays open until the customer hangs up";

function endIssue(node: FlowNode, { to }: Ways): string {
  if (to.length > 0)
    return `from ${node.name} the talk can go on for ever: no way out of it leads to an end of the call; ${DEAD_END}`;
  return node.say === undefined
    ? `${node.name} has no way on, so the talk can never end there; ${DEAD_END}`
    : `${node.name} says its words, and then nothing can happen; ${DEAD_END}`;
}

/**
 * Nodes in which a conversation is caught. A node that only leads to another one's dead end is not named: the cause is. A road to an unknown node
 * counts as a way out, since it is an issue of its own.
 */
export function endIssues(t: Graph): ValidationIssue[] {
  const reached = reachable(t);
  const ways = new Map(t.nodes.map((n) => [n.name, waysOf(n, t)]));
  const from = new Map<string, string[]>();
  for (const [name, { to }] of ways) for (const target of to) from.set(target, [...(from.get(target) ?? []), name]);
  const comingTo = (names: readonly string[]): Set<string> => searched(names, (name) => from.get(name) ?? []);

  const ends = [...ways].flatMap(([name, w]) => (w.ends ? [name] : []));
  const unknown = [...from.keys()].filter((name) => !ways.has(name));
  const saved = comingTo([...ends, ...unknown]);
  const deadEnds = [...ways].flatMap(([name, w]) => (w.to.length === 0 && !w.ends ? [name] : []));
  const leadToThem = comingTo(deadEnds.flatMap((name) => from.get(name) ?? []));
  return t.nodes.flatMap((node, i) => {
    const way = ways.get(node.name);
    const isEmpty = node.say === undefined && node.prompt === undefined && !leadsOn(node); // an issue of its own
    const isCause =
      way !== undefined && !isEmpty && reached.has(node.name) && !saved.has(node.name) && !leadToThem.has(node.name);
    return isCause ? [{ path: `nodes.${i}`, message: endIssue(node, way) }] : [];
  });
}
