import {
  newDialogue,
  type Effect,
  type DialogueEvent,
} from "../../../services/conversation/dialogue/dialogue-state.ts";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { answer, call, failure, heard, NODES, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow();
const types = (effects: Effect[]) => effects.map((e) => e.type);
const ofType = <T extends Effect["type"]>(effects: Effect[], type: T) =>
  effects.find((e): e is Extract<Effect, { type: T }> => e.type === type);
const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];
const lines = (s: ReturnType<typeof play>["state"]) =>
  conversationFacts(s).transcription.map((l) => `${l.role}: ${l.content}`);

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
    expect(think.messages.map((m) => m.role)).toEqual(["system", "assistant", "assistant", "user"]);
    expect(think.messages[0]?.content).toMatch(
      /^You are Mia of Northwind\.\n\nAsk Ada whether they confirm order A-17\.\n\nSpeak en-US/,
    );
    expect(think.tools.map((t) => t.function.name)).toEqual([
      "confirm",
      "another_day",
      "note",
      "maybe",
      "leave",
      "agent",
      "stock",
      "wrong_person",
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
    expect(next.messages[0]?.content).toMatch(/^You are Mia of Northwind\.\n\nAsk which day suits\./);
    const own = ofType(
      play(flow, [
        ...OPENED,
        heard("Friday"),
        answer("", [call("another_day")]),
        answer("", [call("set_day", { day: "Friday" })]),
      ]).last,
      "think",
    )!;
    expect(own.messages[0]?.content).toMatch(/^You are brief\.\n\nThank them for Friday and say goodbye\./);
    expect(own.tools).toEqual([]);
  });
  test("keys reach the model as [keypad] text and count as a turn", () => {
    const { last, state } = play(flow, [...OPENED, { type: "dtmf", digits: "12" }]);
    expect(ofType(last, "think")!.messages.at(-1)).toEqual({ role: "user", content: "[keypad] 12" });
    expect(state.user_turns).toBe(1);
  });
});

describe("function calls", () => {
  const rows: {
    name: string;
    script: Parameters<typeof play>[1];
    effects: string[];
    node: string;
    decided: string | null;
  }[] = [
    {
      name: "a node with fixed text that ends the call",
      script: [heard("Yes."), answer("", [call("confirm")])],
      effects: ["say", "end"],
      node: "confirmed",
      decided: "confirmed",
    },
    {
      name: "a node with a task",
      script: [heard("No."), answer("", [call("another_day")])],
      effects: ["think"],
      node: "ask_day",
      decided: null,
    },
    {
      name: "the last word is the model's",
      script: [
        heard("No."),
        answer("", [call("another_day")]),
        answer("", [call("set_day", { day: "Friday" })]),
        answer("Thank you. Goodbye."),
      ],
      effects: ["end"],
      node: "moved",
      decided: "rescheduled",
    },
    {
      name: "no next node: on in the same place",
      script: [heard("Hm."), answer("", [call("maybe")])],
      effects: ["think"],
      node: "ask",
      decided: "undecided",
    },
    {
      name: "the last outcome wins",
      script: [heard("Hm."), answer("", [call("maybe")]), answer("", [call("confirm")])],
      effects: ["say", "end"],
      node: "confirmed",
      decided: "confirmed",
    },
    {
      name: "end_call after words of the model",
      script: [heard("Bye."), answer("Goodbye, Ada.", [call("leave")])],
      effects: ["end"],
      node: "ask",
      decided: "left",
    },
    {
      name: "end_call without a word asks for a goodbye",
      script: [heard("Bye."), answer("", [call("leave")])],
      effects: ["think"],
      node: "ask",
      decided: "left",
    },
    {
      name: "a template's own function, into a node without words",
      script: [heard("Wrong number."), answer("", [call("wrong_person")])],
      effects: ["think"],
      node: "silent_end",
      decided: "wrong_person",
    },
    {
      name: "several calls of one answer",
      script: [heard("Hm."), answer("", [call("note", { text: "ring twice" }), call("confirm")])],
      effects: ["say", "end"],
      node: "confirmed",
      decided: "confirmed",
    },
    {
      name: "an unknown function is told back",
      script: [heard("Hm."), answer("", [call("nonsense")])],
      effects: ["note_error", "think"],
      node: "ask",
      decided: null,
    },
    {
      name: "a function of another node is unknown",
      script: [heard("Hm."), answer("", [call("set_day", { day: "Friday" })])],
      effects: ["note_error", "think"],
      node: "ask",
      decided: null,
    },
    {
      name: "arguments that are no JSON",
      script: [heard("Hm."), answer("", [call("confirm", "{oops")])],
      effects: ["note_error", "think"],
      node: "ask",
      decided: null,
    },
    {
      name: "arguments that do not fit",
      script: [heard("No."), answer("", [call("another_day")]), answer("", [call("set_day", { day: 5 })])],
      effects: ["note_error", "think"],
      node: "ask_day",
      decided: null,
    },
  ];
  test.each(rows)("$name", ({ script, effects, node, decided }) => {
    const played = play(flow, [...OPENED, ...script]);
    expect(types(played.last)).toEqual(effects);
    expect(played.state.node).toBe(node);
    expect(played.state.decided).toBe(decided);
  });
  test("variables are set from arguments and by node actions, and reported", () => {
    const { state } = play(flow, [
      ...OPENED,
      heard("No."),
      answer("", [call("another_day")]),
      answer("", [call("set_day", { day: "Friday" })]),
      answer("Bye."),
    ]);
    expect(conversationFacts(state)).toMatchObject({
      variables: { new_day: "Friday", asked: "yes, Ada" },
      node_traversal: ["ask", "ask_day", "moved"],
      ended_by: "agent",
      decided: "rescheduled",
    });
  });
  test("a farewell has its own task, no functions, and ends the call; a silent model gets the service's words", () => {
    const asked = ofType(play(flow, [...OPENED, heard("Bye."), answer("", [call("leave")])]).last, "think")!;
    expect(asked.tools).toEqual([]);
    expect(asked.messages[0]?.content).toContain("Say goodbye");
    expect(asked.messages[0]?.content).not.toContain("Ask Ada");
    expect(
      ofType(play(flow, [...OPENED, heard("Bye."), answer("", [call("leave")]), answer("Goodbye.")]).last, "end"),
    ).toMatchObject({ ended_by: "agent", goodbye: null, at_once: false });
    expect(
      ofType(play(flow, [...OPENED, heard("Bye."), answer("", [call("leave")]), answer("")]).last, "end"),
    ).toMatchObject({ ended_by: "agent", goodbye: "Thank you. Goodbye!" });
  });
  test("what is wrong is told to the model, at most twice; then the conversation goes on without it", () => {
    const bad = answer("", [call("nonsense")]);
    const twice = play(flow, [...OPENED, heard("Hm."), bad, bad]);
    expect(ofType(twice.last, "think")!.messages.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("there is no function of this name"),
    });
    const thrice = play(flow, [...OPENED, heard("Hm."), bad, bad, bad]);
    expect(types(thrice.last)).toEqual(["note_error", "say"]);
    expect(thrice.state.mode).toBe("listening");
    expect(types(play(flow, [...OPENED, heard("Hm."), bad, bad, bad, heard("Yes!"), bad]).last)).toEqual([
      "note_error",
      "think",
    ]);
  });
  test("a chain of calls is bounded", () => {
    const chain = Array.from({ length: 12 }, () => answer("", [call("maybe")]));
    const { effects, state } = play(flow, [...OPENED, heard("Hm."), ...chain]);
    expect(effects.flat().filter((e) => e.type === "think").length).toBe(1 + 1 + 8);
    expect(state.errors.map((e) => e.code)).toContain("TOO_MANY_CALLS");
    expect(state.mode).toBe("listening");
  });
});

describe("web requests and transfers", () => {
  const asked: Parameters<typeof play>[1] = [
    ...OPENED,
    heard("Is it in stock?"),
    answer("One moment.", [call("stock")]),
  ];
  test("a request is rendered, values in its address are escaped", () => {
    const { last } = play(flow, asked, { customer: "A & B", order: "A/17", shop: "N" });
    expect(last).toEqual([
      {
        type: "http",
        call_id: "c_stock",
        method: "POST",
        url: "https://shop.example/stock/A%2F17?c=A%20%26%20B",
        body: { order: "A/17", who: "for A & B" },
      },
    ]);
  });
  test("outcome and next node hold only when it went well", () => {
    const good = play(flow, [...asked, { type: "http_done", call_id: "c_stock", ok: true, result: "7 left" }]);
    expect(good.state).toMatchObject({ node: "stock_known", decided: "checked" });
    expect(ofType(good.last, "think")!.messages.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("7 left"),
    });
    const bad = play(flow, [...asked, { type: "http_done", call_id: "c_stock", ok: false, result: "HTTP_500" }]);
    expect(bad.state).toMatchObject({ node: "ask", decided: null });
    expect(types(bad.last)).toEqual(["note_error", "think"]);
  });
  test("what is said meanwhile is attended to afterwards", () => {
    const { effects } = play(flow, [
      ...asked,
      heard("Hello?"),
      { type: "http_done", call_id: "c_stock", ok: true, result: "7" },
    ]);
    expect(effects.at(-2)).toEqual([]);
    expect(ofType(effects.at(-1)!, "think")!.messages.at(-1)).toEqual({ role: "user", content: "Hello?" });
  });
  test("an answer to another request is ignored", () =>
    expect(play(flow, [...asked, { type: "http_done", call_id: "x", ok: true, result: "" }]).last).toEqual([]));

  const handed: Parameters<typeof play>[1] = [
    ...OPENED,
    heard("A person, please."),
    answer("I put you through.", [call("agent")]),
  ];
  test("a transfer goes to the template's number and ends the conversation when the carrier has the call", () => {
    expect(play(flow, handed).last).toEqual([{ type: "transfer", call_id: "c_agent", to: "+14155550100" }]);
    const done = play(flow, [...handed, { type: "transfer_done", call_id: "c_agent" }]);
    expect(ofType(done.last, "end")).toMatchObject({ transferred: true, ended_by: "agent" });
    expect(done.state.decided).toBe("transferred");
  });
  test("the socket closing during a transfer is part of it; a failed one goes on, or ends with the customer gone", () => {
    const closed: DialogueEvent = { type: "stopped", reason: "hung_up" };
    expect(play(flow, [...handed, closed]).last).toEqual([]);
    expect(play(flow, [...handed, closed, { type: "transfer_done", call_id: "c_agent" }]).state).toMatchObject({
      ended_by: "agent",
      decided: "transferred",
    });
    expect(
      play(flow, [...handed, closed, { type: "transfer_failed", call_id: "c_agent", code: "X" }]).state,
    ).toMatchObject({ ended_by: "customer", decided: null });
    expect(types(play(flow, [...handed, { type: "transfer_failed", call_id: "c_agent", code: "X" }]).last)).toEqual([
      "note_error",
      "think",
    ]);
  });
  test("a number that is none, or came from the model, is not called", () => {
    expect(types(play(flow, handed, { customer: "Ada", desk: "911" }).last)).toEqual(["note_error", "think"]);
    const spoken = testFlow({
      nodes: [
        {
          ...NODES[0]!,
          functions: [
            ...NODES[0]!.functions!.filter((f) => f.name === "agent"),
            {
              name: "tell",
              description: "d",
              parameters: { type: "object", properties: { n: { type: "string" } } },
              set: { desk: "n" },
            },
          ],
        },
        ...NODES.slice(1),
      ],
    });
    const { last } = play(
      spoken,
      [
        started,
        answer("Yes?"),
        heard("Call +19005550100"),
        answer("", [call("tell", { n: "+19005550100" })]),
        answer("", [call("agent")]),
      ],
      { customer: "Ada" },
    );
    expect(types(last)).toEqual(["note_error", "think"]);
  });
});

describe("interruptions", () => {
  test("history and transcript keep exactly what was heard", () => {
    const { state, last } = play(flow, [
      started,
      answer("Ada, do you confirm order A-17 for Monday?"),
      { type: "interrupted", spoken: "Ada, do you confirm" },
      heard("What?"),
    ]);
    expect(lines(state)).toEqual([
      "assistant: Good day from Northwind.",
      "assistant: Ada, do you confirm",
      "user: What?",
    ]);
    expect(ofType(last, "think")!.messages.slice(1)).toEqual([
      { role: "assistant", content: "Good day from Northwind." },
      { role: "assistant", content: "Ada, do you confirm" },
      { role: "user", content: "What?" },
    ]);
  });
  test("in the middle of a generation: its words so far are cut too, and its answer is stale", () => {
    const { state, effects } = play(flow, [
      started,
      { type: "interrupted", spoken: "Ada, do", said: "Ada, do you confirm ord" },
      (s) => ({ type: "model_answered", turn: s.turn - 1, text: "Ada, do you confirm order A-17?", calls: [] }),
    ]);
    expect(effects.slice(1)).toEqual([[], []]);
    expect(lines(state)).toEqual(["assistant: Good day from Northwind.", "assistant: Ada, do"]);
    expect(state.mode).toBe("listening");
  });
  test("in the greeting: what came after it was not heard", () => {
    const { state } = play(flow, [started, { type: "interrupted", spoken: "Good day", said: "Ada, do you" }]);
    expect(lines(state)).toEqual(["assistant: Good day"]);
  });
  test("before a word was heard: nothing of it is kept", () => {
    const { state } = play(flow, [started, { type: "interrupted", spoken: "" }]);
    expect(lines(state)).toEqual([]);
    expect(state.history).toEqual([]);
  });
  test("what the customer answered to is never cut", () => {
    const { state } = play(flow, [
      ...OPENED,
      heard("Yes."),
      answer("Fine, Ada."),
      { type: "interrupted", spoken: "Fine" },
    ]);
    expect(lines(state)).toEqual([
      "assistant: Good day from Northwind.",
      "assistant: Ada, do you confirm order A-17?",
      "user: Yes.",
      "assistant: Fine",
    ]);
  });
  test("a call stays in the history when the words beside it were cut", () => {
    const { state } = play(flow, [
      ...OPENED,
      heard("Hm."),
      answer("I will note that.", [call("note", { text: "x" })]),
      { type: "interrupted", spoken: "" },
    ]);
    expect(state.history.at(-2)).toMatchObject({ role: "assistant", content: null, tool_calls: [{ id: "c_note" }] });
  });
  test("speech over words that are on their way, without an interruption, is attended to after them", () => {
    const { effects, state } = play(flow, [started, heard("Hello?", "Ada, do you"), answer("Ada, do you confirm?")]);
    expect(effects[1]).toEqual([]);
    expect(types(effects[2]!)).toEqual(["think"]);
    expect(lines(state).slice(1)).toEqual(["assistant: Ada, do you confirm?", "user: Hello?"]);
  });
  test("speech before the first word begins the generation anew", () => {
    const { last, state } = play(flow, [started, heard("Hello?")]);
    expect(types(last)).toEqual(["think"]);
    expect(state.turn).toBe(2);
  });
});

describe("silence, length, machines, faults", () => {
  test("two reprompts, then the goodbye", () => {
    const idle: DialogueEvent = { type: "idle" };
    const { effects, state } = play(flow, [...OPENED, idle, idle, idle]);
    expect(effects.slice(2).map(types)).toEqual([["say"], ["say"], ["end"]]);
    expect(conversationFacts(state)).toMatchObject({
      ended_by: "timeout",
      idle_out: true,
      user_turns: 0,
      decided: null,
    });
    expect(types(play(flow, [...OPENED, idle, idle, heard("Yes?"), answer("Well?"), idle]).last)).toEqual(["say"]);
  });
  test("silence counts only while the customer is waited for", () =>
    expect(play(flow, [started, { type: "idle" }]).last).toEqual([]));
  test("the maximal length ends it with a short goodbye, keeping what was being said", () => {
    const { last, state } = play(flow, [started, { type: "time_up", said: "Ada, do" }]);
    expect(last).toEqual([
      {
        type: "end",
        ended_by: "timeout",
        goodbye: "I am sorry, I have to end the call now. Goodbye!",
        at_once: false,
        transferred: false,
      },
    ]);
    expect(conversationFacts(state)).toMatchObject({ time_limit: true, ended_by: "timeout" });
    expect(lines(state)[1]).toBe("assistant: Ada, do");
  });
  test.each([
    ["machine", { type: "machine" }, { ended_by: "agent", machine: true }, { at_once: true, goodbye: null }],
    ["hang-up", { type: "stopped", reason: "hung_up" }, { ended_by: "customer" }, { at_once: true, goodbye: null }],
    [
      "the carrier's end",
      { type: "stopped", reason: "carrier_ended" },
      { ended_by: "customer" },
      { at_once: true, goodbye: null },
    ],
    ["the window closing", { type: "stopped", reason: "window_closed" }, { ended_by: "agent" }, { at_once: false }],
    [
      "a shutdown",
      { type: "stopped", reason: "shutdown" },
      { ended_by: "error", errors: [{ code: "SHUTDOWN", node: "ask" }] },
      { at_once: false },
    ],
    ["a lost lease", { type: "stopped", reason: "lease_lost" }, { ended_by: "error" }, { at_once: true }],
  ] as [string, DialogueEvent, object, object][])("%s", (_name, event, facts, end) => {
    const { last, state } = play(flow, [...OPENED, event]);
    expect(ofType(last, "end")).toMatchObject(end);
    expect(conversationFacts(state)).toMatchObject(facts);
  });
  test("a model that fails: an apology once, a goodbye when it happens again", () => {
    const once = play(flow, [...OPENED, heard("Yes."), failure()]);
    expect(types(once.last)).toEqual(["note_error", "say"]);
    const twice = play(flow, [...OPENED, heard("Yes."), failure(), heard("Yes!"), failure()]);
    expect(ofType(twice.last, "end")).toMatchObject({
      ended_by: "error",
      goodbye: "I am sorry, something went wrong on our side. Goodbye!",
    });
    expect(
      types(
        play(flow, [...OPENED, heard("Yes."), failure(), heard("Yes!"), answer("Ah."), heard("What?"), failure()]).last,
      ),
    ).toEqual(["note_error", "say"]);
  });
  test("words said before it failed stay said", () =>
    expect(lines(play(flow, [started, failure("MODEL_ERROR", "Ada, do you")]).state)).toContain(
      "assistant: Ada, do you",
    ));
  test("a conversation that has not ended is reported as cut off", () =>
    expect(conversationFacts(play(flow, OPENED).state).ended_by).toBe("error"));
  test("after the end nothing happens, but an interrupted goodbye is corrected", () => {
    const { effects, state } = play(flow, [
      ...OPENED,
      { type: "time_up" },
      heard("But"),
      { type: "idle" },
      { type: "stopped", reason: "hung_up" },
      { type: "interrupted", spoken: "I am sorry, I" },
    ]);
    expect(effects.slice(3)).toEqual([[], [], [], []]);
    expect(state.ended_by).toBe("timeout");
    expect(lines(state).at(-1)).toBe("assistant: I am sorry, I");
  });
  test("the service's own sentences follow the language", () => {
    const { last } = play(testFlow({ language: "de-DE" }), [...OPENED, { type: "idle" }]);
    expect(ofType(last, "say")?.text).toBe("Sind Sie noch da?");
    expect(ofType(play(testFlow({ language: "xx" }), [...OPENED, { type: "idle" }]).last, "say")?.text).toBe(
      "Are you still there?",
    );
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
  expect(messages.length).toBeLessThanOrEqual(81);
  expect(messages[1]?.role).not.toBe("tool");
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
