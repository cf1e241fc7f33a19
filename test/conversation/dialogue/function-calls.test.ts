import { type Effect, type DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { readArguments } from "../../../services/conversation/dialogue/function-calls.ts";
import { answer, call, heard, NODES, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow();
const types = (effects: Effect[]) => effects.map((e) => e.type);
const ofType = <T extends Effect["type"]>(effects: Effect[], type: T) =>
  effects.find((e): e is Extract<Effect, { type: T }> => e.type === type);
const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];

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
  test("what is wrong is told to the model once", () => {
    const bad = answer("", [call("nonsense")]);
    const once = play(flow, [...OPENED, heard("Hm."), bad]);
    expect(ofType(once.last, "think")!.messages.at(-1)).toMatchObject({
      role: "tool",
      content: expect.stringContaining("there is no function of this name"),
    });
    const twice = play(flow, [...OPENED, heard("Hm."), bad, bad]);
    expect(types(twice.last)).toEqual(["note_error", "say"]);
    expect(twice.state.mode).toBe("listening");
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
  test.each(["..", ".", "../balance", "a/..\\b"])("an address that walks up by %s is not requested", (order) =>
    expect(types(play(flow, asked, { customer: "Ada", order, shop: "N" }).last)).toEqual(["note_error", "think"]),
  );
  test("half a surrogate pair in a variable ends nothing", () =>
    expect(play(flow, asked, { customer: "A\ud800", order: "1", shop: "N" }).last).toMatchObject([
      { type: "http", url: "https://shop.example/stock/1?c=A%EF%BF%BD" },
    ]));
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
    expect(play(flow, handed).last).toEqual([
      { type: "transfer", call_id: "c_agent", to: "+14155550100", from_variable: true },
    ]);
    const done = play(flow, [...handed, { type: "transfer_done", call_id: "c_agent" }]);
    expect(ofType(done.last, "end")).toMatchObject({ transferred: true, ended_by: "agent" });
    expect(done.state.decided).toBe("transferred");
  });
  test("an argument that no double holds is kept to the digit", () =>
    expect(readArguments('{"id":7615917337495251231,"n":7}')).toEqual({ id: "7615917337495251231", n: 7 }));
  test("a transfer's number of the payload is read as it is at a push, and one that is none is named with the reason", () => {
    for (const desk of ["+1 415 555 0100", "+14155550100.0", "tel:+1-415-555-0100"])
      expect(play(flow, handed, { customer: "Ada", desk }).last).toMatchObject([
        { type: "transfer", to: "+14155550100" },
      ]);
    for (const [desk, reason] of [
      ["14155550100", "no plus and country code"],
      ["4.91511E+11", "scientific notation"],
    ] as const)
      expect(play(flow, handed, { customer: "Ada", desk }).state.errors).toMatchObject([
        { code: "BAD_CALL", detail: expect.stringContaining(reason) },
      ]);
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
