import { collectionOf } from "../../../services/conversation/dialogue/flow.ts";
import type { DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import type { FlowNode, Transition } from "../../../shared/contracts/flow/flow-node.ts";
import { answer, call, heard, play, started, testFlow, flowTemplate } from "../../fixtures/flow-template.ts";

const TEXT = { type: "object", properties: { plan: { type: "string" }, pin: { type: "string" } } };
const set = { name: "set_plan", description: "d", parameters: TEXT, set: { plan: "plan" } };
const keyed = (digits: string, said = ""): DialogueEvent => ({ type: "dtmf", digits, said });

/** A conversation whose first node has these rules; it goes to gold, basic or wrong. */
const flow = (transitions: Transition[], over: Partial<FlowNode> = {}) =>
  testFlow({
    greeting: null,
    global_functions: [],
    initial_node: "ask",
    nodes: [
      { name: "ask", prompt: "Ask.", functions: [set], transitions, ...over },
      { name: "gold", say: "Gold it is." },
      { name: "basic", prompt: "Sell more." },
      {
        name: "wrong",
        say: "Wrong. Goodbye!",
        on_enter: [{ type: "end_call" }, { type: "outcome", outcome: "wrong_pin" }],
      },
    ],
  });

describe("rules on variables", () => {
  const cases: [string, Transition["when"], unknown, boolean][] = [
    ["equals a text", { variable: "plan", equals: "gold" }, "gold", true],
    ["equals is exact", { variable: "plan", equals: "gold" }, "Gold", false],
    ["a number equals its text", { variable: "plan", equals: 2 }, "2", true],
    ["a truth value", { variable: "plan", equals: true }, true, true],
    ["one of some", { variable: "plan", one_of: ["silver", "gold"] }, "gold", true],
    ["none of some", { variable: "plan", one_of: ["silver", 3] }, "gold", false],
    ["exists", { variable: "plan", exists: true }, "x", true],
    ["an empty text does not exist", { variable: "plan", exists: true }, "", false],
    ["null does not exist", { variable: "plan", exists: false }, null, true],
    ["a pattern, upper and lower case alike", { variable: "plan", matches: "g.*d" }, "GOLD", true],
    ["a pattern stands for the whole", { variable: "plan", matches: "ol" }, "gold", false],
    ["too long for a pattern", { variable: "plan", matches: ".*" }, "x".repeat(201), false],
    ["keys are not there", { digits: ".*" }, "1", false],
  ];
  test.each(cases)("on entering: %s", (_name, when, plan, holds) => {
    const { state, last } = play(flow([{ when: when!, next_node: "gold", outcome: "upsold" }]), [started], { plan });
    expect(state.traversal).toEqual(holds ? ["ask", "gold"] : ["ask"]);
    expect(last.map((e) => e.type)).toEqual(holds ? ["say"] : ["think"]);
    // nobody but us has spoken: it counts once our words were heard
    expect(state).toMatchObject({ decided: null, promised: holds ? { what: { outcome: "upsold" } } : null });
  });
  test("once a function has set variables, and before the model is asked again", () => {
    const { state, last } = play(flow([{ when: { variable: "plan", equals: "gold" }, next_node: "gold" }]), [
      started,
      answer("Which?"),
      heard("Gold"),
      answer("", [call("set_plan", { plan: "gold" })]),
    ]);
    expect(state.traversal).toEqual(["ask", "gold"]);
    expect(last).toEqual([{ type: "say", text: "Gold it is.", interruptible: true }]);
  });
  test("rules that lead nowhere set, and those after them see it; the first that leads on wins", () => {
    const rules: Transition[] = [
      { when: { variable: "plan", exists: true }, set: { chosen: "plan {{plan}}" }, outcome: "chosen" },
      { when: { variable: "chosen", equals: "plan gold" }, next_node: "basic" },
      { when: { variable: "plan", equals: "gold" }, next_node: "gold" },
    ];
    expect(play(flow(rules), [started], { plan: "gold" }).state).toMatchObject({
      node: "basic",
      promised: { what: { outcome: "chosen" } },
      extracted: { chosen: "plan gold" },
    });
  });
  test("rules that chase each other end in a question", () => {
    const chase = (name: string, next_node: string): FlowNode => ({
      name,
      prompt: "p",
      transitions: [{ when: { variable: "plan", exists: false }, next_node }],
    });
    const { state, last } = play(
      testFlow({ greeting: null, initial_node: "a", nodes: [chase("a", "b"), chase("b", "a")] }),
      [started],
    );
    expect(last.map((e) => e.type)).toEqual(["note_error", "say"]);
    expect(state).toMatchObject({ mode: "listening", errors: [{ code: "TOO_MANY_TRANSITIONS" }] });
    expect(state.traversal.length).toBe(9);
  });
});

describe("rules without a condition", () => {
  const notice = (over: Partial<FlowNode>, greeting: string | null = null) =>
    testFlow({
      greeting,
      initial_node: "notice",
      nodes: [
        { name: "notice", transitions: [{ next_node: "basic" }], ...over },
        { name: "basic", prompt: "Sell." },
      ],
    });
  test("lead on once the fixed text is said", () =>
    expect(play(notice({ say: "We record." }), [started]).last).toMatchObject([
      { type: "say", text: "We record." },
      { type: "think" },
    ]));
  test("need no text at all", () => expect(play(notice({}), [started]).state.traversal).toEqual(["notice", "basic"]));
  test("and nothing that was said is lost where the greeting asks something", () => {
    const { last, state } = play(notice({ say: "We record." }, "Is this Ada?"), [started]);
    expect(last.map((e) => e.type)).toEqual(["say", "say"]);
    expect(state.mode).toBe("listening");
  });
});

describe("rules on keys", () => {
  const menu: Transition[] = [
    { when: { digits: "1" }, next_node: "gold", outcome: "yes" },
    { when: { digits: "[2-9]" }, set: { key: "{{digits}}" } },
  ];
  test("lead on without the model", () =>
    expect(play(flow(menu), [started, answer("Press 1."), keyed("1")]).state).toMatchObject({
      node: "gold",
      decided: "yes",
      user_turns: 1,
    }));
  test("a rule that only sets lets the model answer", () => {
    const { state, last } = play(flow(menu), [started, answer("Press 1."), keyed("7")]);
    expect(state.extracted).toEqual({ key: "7" });
    expect(last.map((e) => e.type)).toEqual(["think"]);
  });
  test("keys pressed while we still spoke are looked at afterwards", () => {
    expect(play(flow(menu), [started, keyed("1", "Press"), answer("Press 1.")]).state).toMatchObject({ node: "gold" });
  });
  test("keys meant for another node are no choice in this one", () => {
    const twice = flow([{ when: { variable: "plan", exists: true }, next_node: "basic" }]);
    const script = [
      started,
      answer("Which?"),
      heard("x"),
      keyed("1", "One moment"),
      answer("One moment.", [call("set_plan", { plan: "x" })]),
    ];
    expect(play(twice, script).state).toMatchObject({ node: "basic", mode: "thinking" });
  });
  test("what a closing conversation still hears moves nothing", () => {
    expect(play(flow(menu), [started, answer("Press 1."), { type: "time_up" }, keyed("1")]).state.node).toBe("ask");
  });
});

describe("collections", () => {
  test("have defaults, and are none where keys are not gathered", () => {
    expect(collectionOf(flow([], { collect: "dtmf" }), "ask")).toEqual({
      max_digits: 32,
      end_key: "#",
      pause_ms: 3000,
      secret: false,
    });
    expect(
      collectionOf(
        flow([], { collect: "dtmf", collection: { max_digits: 4, end_key: "none", pause_seconds: 1.5, secret: true } }),
        "ask",
      ),
    ).toEqual({ max_digits: 4, end_key: null, pause_ms: 1500, secret: true });
    expect(collectionOf(flow([], { collect: "text" }), "ask")).toBeNull();
    expect(collectionOf(flow([]), "nowhere")).toBeNull();
  });
  const vault = flow(
    [
      { when: { digits: "[0-9]{4}" }, set: { pin: "{{digits}}" } },
      { when: { variable: "pin", equals: "{{}}" }, next_node: "wrong" },
    ],
    { collect: "dtmf", collection: { secret: true } },
  );
  test("a secret entry that no rule takes reaches the model, and not the transcript", () => {
    const { state, last } = play(vault, [started, answer("Your PIN?"), keyed("47")]);
    expect(last).toMatchObject([
      { type: "think", messages: expect.arrayContaining([{ role: "user", content: "[keypad] 47" }]) },
    ]);
    expect(conversationFacts(state).transcription.at(-1)).toEqual({ role: "user", content: "[keypad] ****" });
  });
  test("one that a rule takes reaches the variables, but neither model nor transcript nor report", () => {
    const { state, last } = play(vault, [
      started,
      answer("Your PIN?"),
      keyed("4711"),
      answer("I have 4711.", [call("set_plan", { plan: "pin is 4711" })]),
      answer("So 4711 it is."),
    ]);
    expect(state.extracted).toEqual({ pin: "4711", plan: "pin is 4711" });
    expect(last).toEqual([]);
    expect(state.history.filter((m) => m.role === "user")).toEqual([{ role: "user", content: "[keypad] ****" }]);
    const facts = conversationFacts(state);
    expect(JSON.stringify(facts)).not.toContain("4711");
    expect(facts.transcription).toContainEqual({ role: "user", content: "[keypad] ****" });
    expect(facts.variables).toEqual({ pin: "****", plan: "****" });
  });
  test("a secret that is said instead is not shown either; short entries are not looked for elsewhere", () => {
    const facts = conversationFacts(
      play(vault, [
        started,
        answer("Your PIN?"),
        heard("It is 4 7-1 1, the 2nd"),
        answer("No 1 there?"),
        keyed("1"),
        answer("No 1."),
      ]).state,
    );
    expect(facts.transcription.map((l) => l.content)).toEqual([
      "Your PIN?",
      "It is ****, the 2nd",
      "No 1 there?",
      "[keypad] ****",
      "No 1.",
    ]);
  });
  test("a secret set elsewhere in the conversation is masked by its digits, in whatever it stands", () => {
    const facts = conversationFacts({
      ...play(vault, [started, answer("Your PIN?"), keyed("4711")]).state,
      secret_variables: [],
      extracted: { a: ["x4711"], b: { c: 14_711 }, d: 5, e: true, f: null },
    });
    expect(facts.variables).toEqual({ a: ["x****"], b: { c: "****" }, d: 5, e: true, f: null });
  });
});

test("a conversation by rules alone is the same twice, and is plain JSON", () => {
  const template = flowTemplate();
  const held = () =>
    JSON.stringify(
      play(
        testFlow({
          nodes: template.nodes.map((n) =>
            n.name === "ask"
              ? { ...n, transitions: [{ when: { digits: "1" }, next_node: "confirmed", outcome: "confirmed" }] }
              : n,
          ),
        }),
        [started, answer("Press 1."), keyed("1")],
      ),
    );
  expect(held()).toBe(held());
  expect(held()).toContain('"traversal":["ask","confirmed"]');
});
