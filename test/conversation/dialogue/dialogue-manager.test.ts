import {
  newDialogue,
  type Effect,
  type DialogueEvent,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { answer, call, heard, NODES, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow();
const types = (effects: Effect[]) => effects.map((e) => e.type);
const ofType = <T extends Effect["type"]>(effects: Effect[], type: T) =>
  effects.find((e): e is Extract<Effect, { type: T }> => e.type === type);
const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];

describe("the opening", () => {
  test("the greeting is spoken and the initial node follows at once", () => {
    const { last, state } = play(flow, [started]);
    expect(last.slice(0, 1)).toEqual([{ type: "say", text: "Good day from Northwind.", interruptible: true }]);
    expect(types(last)).toEqual(["say", "think"]);
    expect(state.traversal).toEqual(["ask"]);
  });
  test("a greeting that asks something waits for the answer", () => {
    const { last, state } = play(testFlow({ greeting: "Is this Ada?" }), [started]);
    expect(types(last)).toEqual(["say"]);
    expect(state.mode).toBe("listening");
    expect(types(play(testFlow({ greeting: "Is this Ada?" }), [started, heard("Speaking.")]).last)).toEqual(["think"]);
  });
  test("without a greeting the initial node opens; a fixed text needs no model", () => {
    expect(types(play(testFlow({ greeting: null }), [started]).last)).toEqual(["think"]);
    expect(
      types(
        play(testFlow({ greeting: null, nodes: [{ name: "ask", say: "Hello {{customer}}." }, ...NODES.slice(1)] }), [
          started,
        ]).last,
      ),
    ).toEqual(["say"]);
  });
  test("starting twice does nothing", () => expect(play(flow, [started, started]).last).toEqual([]));
});

describe("what the model is told", () => {
  test("one system message first: role, task, conduct; then what was said; then the tools of the node and the template", () => {
    const think = ofType(play(flow, [...OPENED, heard("Who is this?")]).last, "think")!;
    expect(think.messages.map((m) => m.role)).toEqual(["system", "user", "assistant", "assistant", "user"]);
    expect(think.messages[0]?.content).toMatch(
      /^You are Mia of «shop»\.\n\nAsk «customer» whether they confirm order «order»\.\n\nSpeak en-US/,
    );
    expect(think.messages[1]?.content).toBe('[data] {"shop":"Northwind","customer":"Ada","order":"A-17"}');
    expect(think.tools.map((t) => t.function.name)).toEqual([
      "confirm",
      "another_day",
      "note",
      "maybe",
      "leave",
      "agent",
      "stock",
      "wrong_person",
      "do_not_call",
    ]);
    expect(think.tools[0]?.function.parameters).toEqual({ type: "object", properties: {} });
  });
  test("the system message stays the same within a node, and a role stays in force until another comes", () => {
    const first = ofType(play(flow, [started]).last, "think")!;
    const later = ofType(play(flow, [...OPENED, heard("Hm."), answer("Well?"), heard("Let me think.")]).last, "think")!;
    expect(later.messages[0]).toEqual(first.messages[0]);
    const next = ofType(
      play(flow, [...OPENED, heard("Another day."), answer("", [call("another_day")])]).last,
      "think",
    )!;
    expect(next.messages[0]?.content).toMatch(/^You are Mia of «shop»\.\n\nAsk which day suits\./);
    const own = ofType(
      play(flow, [
        ...OPENED,
        heard("Friday"),
        answer("", [call("another_day")]),
        answer("", [call("set_day", { day: "Friday" })]),
      ]).last,
      "think",
    )!;
    expect(own.messages[0]?.content).toMatch(/^You are brief\.\n\nThank them for «new_day» and say goodbye\./);
    expect(own.tools).toEqual([]);
  });
  test("keys reach the model as [keypad] text and count as a turn", () => {
    const { last, state } = play(flow, [...OPENED, { type: "dtmf", digits: "12" }]);
    expect(ofType(last, "think")!.messages.at(-1)).toEqual({ role: "user", content: "[keypad] 12" });
    expect(state.user_turns).toBe(1);
  });
});

test("memory is bounded: 500 lines of 2,000 characters, 80 messages that start with none but a whole exchange", () => {
  const exchanges = Array.from({ length: 400 }, () => [
    heard("x".repeat(5000)),
    answer("y", [call("maybe")]),
    answer("y".repeat(5000)),
  ]).flat();
  const { state, last } = play(flow, [...OPENED, ...exchanges, heard("end")]);
  expect(state.transcript.length).toBe(500);
  expect(Math.max(...state.transcript.map((l) => l.content.length))).toBe(2000);
  const messages = ofType(last, "think")!.messages;
  expect(messages.length).toBeLessThanOrEqual(82);
  expect(messages[2]?.role).not.toBe("tool");
  expect(state.user_turns).toBe(401);
});

test("a template without a node it names does not break the conversation", () => {
  const broken = testFlow({ nodes: NODES.filter((n) => n.name !== "ask_day") });
  const { last, state } = play(broken, [...OPENED, heard("No."), answer("", [call("another_day")])]);
  expect(types(last)).toEqual(["note_error", "say"]);
  expect(state.node).toBe("ask");
});

test("the state is plain JSON and never changed in place", () => {
  const deepFreeze = <T>(value: T): T => {
    if (typeof value === "object" && value !== null) {
      Object.values(value).forEach(deepFreeze);
      Object.freeze(value);
    }
    return value;
  };
  let state = deepFreeze(newDialogue({ customer: "Ada" }));
  for (const event of [
    started,
    heard("Yes"),
    { type: "interrupted", spoken: "G" },
    { type: "idle" },
    { type: "time_up" },
  ] as DialogueEvent[]) {
    state = deepFreeze(step(flow, state, event).state);
    expect(JSON.parse(JSON.stringify(state))).toEqual(state);
  }
});
