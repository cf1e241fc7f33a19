import * as fc from "fast-check";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { flowOf, functionsIn, type Flow } from "../../../services/conversation/dialogue/flow.ts";
import {
  MAX_CHAIN,
  newDialogue,
  type Effect,
  type DialogueEvent,
  type DialogueState,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import type { Condition, FlowNode, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import { flowTemplate } from "../../fixtures/flow-template.ts";

/** Any template of rules, any events: what must hold whatever somebody writes. */

const NAMES = ["a", "b", "c", "d"];
const SECRET = "90817263";
const when: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ variable: fc.constantFrom("x", "y"), equals: fc.constantFrom("1", "2", 1) }),
  fc.record({ variable: fc.constantFrom("x", "y"), exists: fc.boolean() }),
  fc.record({ variable: fc.constant("x"), matches: fc.constantFrom("[0-9]+", "1|2", ".*") }),
  fc.record({ digits: fc.constantFrom("1", "[0-9]*", ".*") }),
);
const rule: fc.Arbitrary<Transition> = fc.record(
  {
    when,
    next_node: fc.constantFrom(...NAMES),
    set: fc.constantFrom({ x: "{{digits}}" }, { y: "1" }, { x: "{{y}}2" }, {}),
    outcome: fc.constantFrom("one", "two"),
  },
  { requiredKeys: ["when"] },
);
const nodes: fc.Arbitrary<FlowNode[]> = fc.tuple(
  ...NAMES.map((name) =>
    fc
      .record({
        rules: fc.array(rule, { maxLength: 4 }),
        onward: fc.option(fc.constantFrom(...NAMES)),
        words: fc.constantFrom<Partial<FlowNode>>({ say: "Hello {{x}}." }, { prompt: "Ask." }),
        ends: fc.nat({ max: 5 }),
      })
      .map(({ rules, onward, words, ends }): FlowNode => ({
        name,
        ...words,
        collect: "dtmf",
        collection: { secret: true },
        transitions: [...rules, ...(onward !== null && words.say !== undefined ? [{ next_node: onward }] : [])],
        ...(ends === 0 ? { on_enter: [{ type: "end_call" }] } : {}),
        functions: [
          { name: "keep", description: "d", parameters: { type: "object", properties: { v: {} } }, set: { y: "v" } },
        ],
      })),
  ),
);
const event: fc.Arbitrary<(s: DialogueState) => DialogueEvent> = fc.oneof(
  fc
    .record({ digits: fc.constantFrom("1", "2", SECRET), said: fc.constantFrom("", "Hello") })
    .map((e) => () => ({ type: "dtmf", ...e }) as const),
  fc.constantFrom("Yes.", `It is ${SECRET}`).map((text) => () => ({ type: "heard", text, said: "" }) as const),
  fc.record({ text: fc.constantFrom("", "Well."), v: fc.option(fc.constantFrom("1", SECRET)) }).map(
    ({ text, v }) =>
      (s: DialogueState) =>
        ({
          type: "model_answered",
          turn: s.turn,
          text,
          calls: v === null ? [] : [{ id: "c", name: "keep", arguments: JSON.stringify({ v }) }],
        }) as const,
  ),
  fc
    .constantFrom<DialogueEvent>(
      { type: "idle" },
      { type: "interrupted", spoken: "Hello" },
      { type: "stopped", reason: "hung_up" },
    )
    .map((e) => () => e),
);
const talk = fc.record({ nodes, events: fc.array(event, { maxLength: 25 }) });

/** Schemas are not what is looked at here: compiling them would take most of the time. */
const flowWith = (written: FlowNode[]): Flow =>
  flowOf(flowTemplate({ greeting: null, global_functions: [], initial_node: "a", nodes: written }), () => []);

function run(
  written: FlowNode[],
  events: ((s: DialogueState) => DialogueEvent)[],
): { states: DialogueState[]; effects: (readonly Effect[])[]; trace: string } {
  const flow = flowWith(written);
  let state = newDialogue({});
  const states: DialogueState[] = [];
  const effects: (readonly Effect[])[] = [];
  for (const make of [(): DialogueEvent => ({ type: "started" }), ...events]) {
    const done = step(flow, state, make(state));
    state = done.state;
    states.push(state);
    effects.push(done.effects);
  }
  return { states, effects, trace: JSON.stringify([states, effects]) };
}

test("the same script gives the same trace, byte for byte", () => {
  fc.assert(
    fc.property(talk, ({ nodes: written, events }) => {
      expect(run(written, events).trace).toBe(run(written, events).trace);
    }),
    { numRuns: 100 },
  );
});

test("every step ends, with at most one generation and one end, after at most a chain of nodes", () => {
  fc.assert(
    fc.property(talk, ({ nodes: written, events }) => {
      const { states, effects } = run(written, events);
      for (const [i, now] of effects.entries()) {
        expect(now.filter((e) => e.type === "think").length).toBeLessThanOrEqual(1);
        expect(now.filter((e) => e.type === "end").length).toBeLessThanOrEqual(1);
        expect((states[i]?.traversal.length ?? 0) - (states[i - 1]?.traversal.length ?? 0)).toBeLessThanOrEqual(
          2 * (MAX_CHAIN + 1),
        ); // a chain that was cut off, and one by what the customer keyed meanwhile
      }
      for (const s of states) expect(s.ended_by !== null).toBe(s.mode === "ended");
    }),
    { numRuns: 150 },
  );
});

test("nodes are left only by a rule or a function of the template, or back to where a closing was begun that they talked into", () => {
  fc.assert(
    fc.property(talk, ({ nodes: written, events }) => {
      const flow = flowWith(written);
      const edges = new Map(
        written.map((n) => [
          n.name,
          new Set([...(n.transitions ?? []), ...functionsIn(flow, n.name)].flatMap((t) => t.next_node ?? [])),
        ]),
      );
      const { states } = run(written, events);
      for (const [i, before] of states.slice(0, -1).entries()) {
        const path = states[i + 1]!.traversal;
        for (const [j, node] of path.entries()) {
          if (j === 0 || j < before.traversal.length) continue;
          if (j === before.traversal.length && node === before.returns_to?.node) continue;
          expect(edges.get(path[j - 1]!)).toContain(node);
        }
      }
    }),
    { numRuns: 150 },
  );
});

test("what is keyed as a secret is in no transcript, variable or error that is told", () => {
  fc.assert(
    fc.property(talk, ({ nodes: written, events }) => {
      for (const s of run(written, events).states) expect(JSON.stringify(conversationFacts(s))).not.toContain(SECRET);
    }),
    { numRuns: 150 },
  );
});
