import type { FlowFunction } from "../../../shared/contracts/flow/flow-node.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { step } from "../../../services/conversation/dialogue/dialogue-manager.ts";
import { answer, call, heard, play, started, testFlow } from "../../fixtures/flow-template.ts";

const flow = testFlow();
const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];
const codes = (script: Parameters<typeof play>[1]) =>
  conversationFacts(play(flow, script).state).errors.map(({ code }) => code);

describe("answers that can't be used", () => {
  const kinds: [string, ReturnType<typeof answer>, string][] = [
    ["are empty", answer(""), "EMPTY_ANSWER"],
    ["have no word", answer("..."), "EMPTY_ANSWER"],
    ["have broken arguments", answer("", [call("confirm", "{oops")]), "BAD_CALL"],
    ["have arguments that are no object", answer("", [call("confirm", "[1]")]), "BAD_CALL"],
    ["call what does not exist", answer("", [call("unreadable_call")]), "BAD_CALL"],
  ];
  test.each(kinds)(
    "that %s: asked again once, then an apology, and at the second time in a row the end",
    (_what, bad, code) => {
      const turn = [heard("Hm."), bad, bad];
      const once = play(flow, [...OPENED, ...turn]);
      expect(once.last).toMatchObject([{ type: "note_error" }, { type: "say" }]);
      const twice = play(flow, [...OPENED, ...turn, ...turn]);
      expect(twice.state).toMatchObject({ mode: "ended", ended_by: "error" });
      expect(twice.last.at(-1)).toMatchObject({ type: "end", goodbye: expect.stringContaining("went wrong") });
      expect(codes([...OPENED, ...turn, ...turn])).toEqual([code, code, code, code]);
    },
  );
  test("in a loop of calls, turn after turn, the call ends too", () => {
    const loop = [heard("Hm."), ...Array.from({ length: 10 }, () => answer("", [call("maybe")]))];
    expect(play(flow, [...OPENED, ...loop]).state.mode).toBe("listening");
    expect(play(flow, [...OPENED, ...loop, ...loop]).state).toMatchObject({ mode: "ended", ended_by: "error" });
    expect(codes([...OPENED, ...loop, ...loop]).filter((code) => code === "TOO_MANY_CALLS")).toHaveLength(2);
  });
  test("an answer that is heard in between begins the count anew", () => {
    const turn = [heard("Hm."), answer(""), answer("")];
    const { state } = play(flow, [...OPENED, ...turn, heard("Hm?"), answer("I see."), ...turn]);
    expect(state.mode).toBe("listening");
  });
});

/** How often functions of a conversation are carried out whose model calls one in each of eight turns. */
function carriedOut(called: FlowFunction): { times: number; errors: string[] } {
  const leave: FlowFunction = { name: "leave", description: "d", action: "end_call" };
  const nodes = [{ name: "ask", prompt: "Ask.", functions: [called, leave] }];
  const limited = testFlow({ nodes, global_functions: [] });
  let { state } = play(limited, [started, answer("Well?")]);
  const happen = (made: Parameters<typeof play>[1][number]): void => {
    ({ state } = step(limited, state, typeof made === "function" ? made(state) : made));
  };
  for (let turn = 0; turn < 8; turn++) {
    happen(heard("Again."));
    happen(answer("", [call(called.name)]));
    if (state.mode === "fetching")
      ({ state } = step(limited, state, { type: "http_done", call_id: `c_${called.name}`, ok: true, result: "7" }));
    if (state.mode === "transferring")
      ({ state } = step(limited, state, { type: "transfer_failed", call_id: `c_${called.name}`, code: "FORBIDDEN" }));
    happen(answer("Seven."));
  }
  return { times: state.carried_out[called.name] ?? 0, errors: state.errors.map(({ code }) => code) };
}

describe("a function", () => {
  const stock: FlowFunction = {
    name: "stock",
    description: "d",
    action: "http",
    http: { method: "POST", url: "https://shop.example/stock" },
  };
  test("whose transfer fails is tried three times in a conversation, and refused then", () => {
    const { times, errors } = carriedOut({
      name: "agent",
      description: "d",
      action: "transfer",
      transfer_to: "+14155550177",
    });
    expect([times, errors]).toEqual([3, [...Array(3).fill("TRANSFER_FAILED"), ...Array(5).fill("TOO_MANY_REQUESTS")]]);
  });
  test("asks its server five times in a conversation, and is refused then", () => {
    const { times, errors } = carriedOut(stock);
    expect([times, errors]).toEqual([5, Array(3).fill("TOO_MANY_REQUESTS")]);
  });
  test("may have a bound of its own", () => {
    expect(carriedOut({ ...stock, max_calls: 1 })).toMatchObject({ times: 1 });
    expect(carriedOut({ name: "note", description: "d", max_calls: 2 })).toMatchObject({ times: 2 });
    expect(carriedOut({ name: "note", description: "d" })).toEqual({ times: 8, errors: [] });
  });
});

describe("the built-in do_not_call", () => {
  const wishes = (given?: object) =>
    play(flow, [...OPENED, heard("Hm."), answer("", [call("do_not_call", given)])]).state;
  test("takes no arguments: with some it is not carried out", () => {
    expect(wishes({ day: "Friday" })).toMatchObject({
      do_not_call: false,
      mode: "thinking",
      errors: [{ code: "BAD_CALL" }],
    });
    expect(wishes()).toMatchObject({ do_not_call: true, mode: "ended", errors: [] });
  });
  test("is told so to the model", () => {
    const think = play(flow, [started]).last.find((effect) => effect.type === "think");
    const tools = think?.type === "think" ? think.tools : [];
    expect(tools.at(-1)?.function).toMatchObject({ name: "do_not_call", parameters: { additionalProperties: false } });
  });
});
