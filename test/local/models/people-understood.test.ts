import { SCRIPTS } from "../../../local/people/phrases.ts";
import type { Cue } from "../../../local/people/phrases.ts";
import { gistOf } from "../../../local/people/gist.ts";
import { complete } from "../../../local/models/dialogue/completion.ts";
import { readRequest } from "../../../local/models/api/chat-request.ts";
import { sampleTemplates } from "../../../local/tools/sample/templates.ts";
import { fill, reaction, requestAt } from "./fixtures/chat-conversation.ts";

/** What the model must do with every sentence the simulated people may say: a function's name, or null for going on talking. */
const FIRST: Readonly<Record<string, Readonly<{ node: string; answers: Partial<Record<Cue, string | null>> }>>> = {
  "order-confirmation": {
    node: "ask_confirmation",
    answers: {
      confirm: "confirm_order",
      unsuitable: "choose_another_day",
      day: "reschedule_delivery",
      decline: "decline_order",
    },
  },
  "appointment-reminder": {
    node: "remind",
    answers: { confirm: "confirm_appointment", unsuitable: "reschedule_appointment", decline: "cancel_appointment" },
  },
};
const SECOND: Readonly<Record<string, Readonly<{ node: string; tool: string }>>> = {
  "order-confirmation": { node: "ask_day", tool: "set_delivery_day" },
  "appointment-reminder": { node: "ask_new_day", tool: "set_new_appointment" },
};
const TALK: readonly Cue[] = [
  "ask_who",
  "small_talk",
  "barge_in",
  "impatient",
  "identity",
  "still_there",
  "hello",
  "more",
  "thanks",
  "voicemail",
  "dropping",
];

const called = (said: string): string | null => /^([a-z]+(?:_[a-z]+)+) \{/.exec(said)?.[1] ?? null;

describe.each(SCRIPTS.map(({ template, script }) => [template, script] as const))("people of %s", (name, script) => {
  const template = sampleTemplates.find((one) => one.name === name)!;
  const first = FIRST[name]!;
  const second = SECOND[name]!;
  const table = [...Object.entries(first.answers), ...TALK.map((cue) => [cue, null] as const)];

  test.each(table.flatMap(([cue, tool]) => script[cue as Cue].map((words) => [cue, words, tool ?? null] as const)))(
    "%s: %s -> %s",
    (_cue, words, tool) => {
      expect(called(reaction(template, first.node, words))).toBe(tool);
    },
  );

  test.each([
    ...script.day,
    ...script.day.flatMap((words) => script.repeat_day.map((again) => again.replace("{day}", words))),
  ])("asked for the day: %s", (words) => {
    expect(called(reaction(template, second.node, words))).toBe(second.tool);
  });

  test.each(TALK.flatMap((cue) => script[cue]))("asked for the day, not answering: %s", (words) => {
    expect(called(reaction(template, second.node, words))).toBeNull();
  });

  test.each(script.ask_who)("asks who is calling, then confirms: %s", (words) => {
    for (const confirmation of script.confirm)
      expect(called(reaction(template, first.node, words, confirmation))).toBe(first.answers.confirm);
  });
});

test.each(sampleTemplates.map((template) => [template.name, template] as const))(
  "people take what is said in %s for what it is",
  (name, template) => {
    for (const node of template.nodes) {
      const spoken =
        node.say === undefined
          ? (complete(readRequest(requestAt(template, node.name, []))).content ?? "")
          : fill(node.say);
      const expected =
        node.name === FIRST[name]!.node ? "question" : node.name === SECOND[name]!.node ? "which_day" : "goodbye";
      expect([spoken, gistOf(node.name === template.initial_node ? `${template.greeting} ${spoken}` : spoken)]).toEqual(
        [spoken, expected],
      );
    }
  },
);
