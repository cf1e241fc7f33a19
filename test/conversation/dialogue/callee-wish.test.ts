import { describe, expect, test } from "@jest/globals";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import type { DialogueEvent, Effect } from "../../../services/conversation/dialogue/dialogue-state.ts";
import { PHRASE_LANGUAGES, phrasesFor } from "../../../shared/phrases.ts";
import { answer, call, heard, NODES, play, started, testFlow } from "../../fixtures/flow-template.ts";

const OPENED: Parameters<typeof play>[1] = [started, answer("Ada, do you confirm order A-17?")];
const WISH = heard("Do not call me again.");
const CONFIRMED = "You will not be called again. Goodbye!";
const key = (digits: string): DialogueEvent => ({ type: "dtmf", digits });
const offered = (effects: Effect[]): string[] =>
  effects.flatMap((e) => (e.type === "think" ? e.tools.map((t) => t.function.name) : []));
const ending = (effects: Effect[]) => effects.find((e) => e.type === "end");

describe("a callee who asks in words not to be called again", () => {
  test("is understood by a function that every template has: confirmed, the call ends, the facts say so", () => {
    const { state, last } = play(testFlow(), [...OPENED, WISH, answer("", [call("do_not_call")])]);
    expect(ending(last)).toMatchObject({ ended_by: "agent", goodbye: CONFIRMED, at_once: false });
    expect(conversationFacts(state)).toMatchObject({ do_not_call: true, decided: "do_not_call", ended_by: "agent" });
    expect(state.transcript.at(-1)).toMatchObject({ role: "assistant", content: CONFIRMED });
  });
  test.each(PHRASE_LANGUAGES.map((language) => [language]))("is answered in %s", (language) =>
    expect(phrasesFor(language).do_not_call).not.toBe(phrasesFor(language === "en" ? "de" : "en").do_not_call),
  );
  test("is not offered the function where the template forbids it; a call of it is refused", () => {
    const flow = testFlow({ do_not_call_function: false });
    expect(offered(play(flow, [started]).last)).not.toContain("do_not_call");
    const { state } = play(flow, [...OPENED, WISH, answer("", [call("do_not_call")])]);
    expect([state.do_not_call, state.errors.at(-1)?.code]).toEqual([false, "BAD_CALL"]);
  });
  test.each([
    ["by its name", { name: "do_not_call", description: "They opt out.", next_node: "silent_end" }],
    [
      "by its outcome",
      { name: "opt_out", description: "They opt out.", next_node: "silent_end", outcome: "do_not_call" },
    ],
  ])("a template's own function %s takes the place of the built-in one, and leads where it says", (_how, fn) => {
    const flow = testFlow({ global_functions: [fn] });
    const opened = play(flow, [started]);
    expect(offered(opened.last).filter((name) => /do_not_call|opt_out/.test(name))).toEqual([fn.name]);
    const { state } = play(flow, [...OPENED, WISH, answer("", [call(fn.name)]), answer("Sorry for that. Goodbye.")]);
    expect(state).toMatchObject({ do_not_call: true, node: "silent_end", mode: "ended" });
  });
  test.each([
    [
      "a node that decides it",
      NODES.map((n) =>
        n.name === "silent_end"
          ? { ...n, on_enter: [{ type: "outcome" as const, outcome: "do_not_call" }, ...n.on_enter!] }
          : n,
      ),
    ],
    [
      "a rule of a node that decides it",
      NODES.map((n) =>
        n.name === "ask"
          ? { ...n, transitions: [{ when: { digits: "7" }, outcome: "do_not_call", next_node: "silent_end" }] }
          : n,
      ),
    ],
  ])("%s says so too", (_what, nodes) => {
    const { state } = play(testFlow({ nodes }), [...OPENED, key("7"), (s) => answer("", [call("wrong_person")])(s)]);
    expect(conversationFacts(state)).toMatchObject({ do_not_call: true });
  });
  test("what was decided before stays, and nothing that is decided later takes the wish back", () => {
    const flow = testFlow({
      global_functions: [{ name: "opt_out", description: "They opt out.", outcome: "do_not_call" }],
    });
    const before = play(testFlow(), [...OPENED, WISH, answer("", [call("maybe")]), answer("", [call("do_not_call")])]);
    expect(conversationFacts(before.state)).toMatchObject({ do_not_call: true, decided: "undecided" });
    const after = play(flow, [...OPENED, WISH, answer("", [call("opt_out")]), answer("", [call("confirm")])]);
    expect(conversationFacts(after.state)).toMatchObject({ do_not_call: true, decided: "confirmed" });
  });
  test("nobody who did not ask is taken for it", () => {
    const { state } = play(testFlow({ do_not_call_key: "9" }), [
      ...OPENED,
      heard("Yes."),
      answer("", [call("confirm")]),
    ]);
    expect(conversationFacts(state)).not.toHaveProperty("do_not_call");
  });
});

describe("the key by which a callee asks not to be called again", () => {
  const flow = testFlow({ do_not_call_key: "9" });
  test.each<[string, Parameters<typeof play>[1]]>([
    ["while they are listened to", OPENED],
    ["while the model thinks", [started]],
    ["after a function without a result yet", [...OPENED, heard("Is it there?"), answer("", [call("stock")])]],
  ])("%s: confirmed, the call ends", (_when, script) => {
    const { state, last } = play(flow, [...script, key("9")]);
    expect(ending(last)).toMatchObject({ goodbye: CONFIRMED });
    expect(conversationFacts(state)).toMatchObject({ do_not_call: true });
    expect(state.transcript.map((t) => t.content)).toContain("[keypad] 9");
  });
  test.each([
    ["another key", "1"],
    ["no key of the template", "9"],
  ])("%s is an answer", (what, digits) => {
    const of = what === "another key" ? flow : testFlow();
    const { state } = play(of, [...OPENED, key(digits)]);
    expect([state.do_not_call, state.mode]).toEqual([false, "thinking"]);
  });
  test("where a node collects an entry it is part of that", () => {
    const nodes = NODES.map((n) => (n.name === "ask" ? { ...n, collect: "dtmf" as const } : n));
    const { state } = play(testFlow({ nodes, do_not_call_key: "9" }), [...OPENED, key("9")]);
    expect(state.do_not_call).toBe(false);
  });
  test("while the call is transferred it is noted, and the transfer goes on", () => {
    const { state, last } = play(flow, [...OPENED, heard("A person!"), answer("", [call("agent")]), key("9")]);
    expect([state.do_not_call, state.mode, last]).toEqual([true, "transferring", []]);
  });
});
