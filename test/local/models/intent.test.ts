import { complete } from "../../../local/models/dialogue/completion.ts";
import { readRequest } from "../../../local/models/api/chat-request.ts";
import { appointmentReminder } from "../../../local/tools/sample/appointment-reminder.ts";
import { orderConfirmation } from "../../../local/tools/sample/order-confirmation.ts";
import { reaction } from "./fixtures/chat-conversation.ts";

const CONFIRM = "confirm_order {}";
const OTHER_DAY = "choose_another_day {}";
const DECLINE = "decline_order {}";
const day = (text: string): string => `reschedule_delivery ${JSON.stringify({ day: text })}`;
const newDay = (text: string): string => `set_delivery_day ${JSON.stringify({ day: text })}`;

const ORDER: readonly (readonly [string, string])[] = [
  ["Yes.", CONFIRM],
  ["Yeah, sure", CONFIRM],
  ["Okay", CONFIRM],
  ["Yes, please confirm it.", CONFIRM],
  ["That's right, go ahead.", CONFIRM],
  ["I confirm", CONFIRM],
  ["Yep, sounds good!", CONFIRM],
  ["Monday is fine.", CONFIRM],
  ["Yes, Monday works for me", CONFIRM],
  ["No problem", CONFIRM],
  ["I'll be there", CONFIRM],
  ["Don't cancel it, I want it", CONFIRM],
  ["I don't want to reschedule, Monday is fine", CONFIRM],
  ["Yes, I'm at home on Monday", CONFIRM],
  ["No, that does not suit me, can we move it?", OTHER_DAY],
  ["That doesn’t suit me", OTHER_DAY],
  ["I can't make it on Monday", OTHER_DAY],
  ["Another day please", OTHER_DAY],
  ["I won't be home on Monday.", OTHER_DAY],
  ["Yes, but I would rather reschedule", OTHER_DAY],
  ["Do you have anything later in the week?", OTHER_DAY],
  ["Friday would be better.", day("Friday")],
  ["Could you come on Friday instead?", day("Friday")],
  ["Yes but can we move it to Thursday?", day("Thursday")],
  ["Monday's no good, how about Wednesday afternoon?", day("Wednesday afternoon")],
  ["Deliver it tomorrow", day("tomorrow")],
  ["Can you deliver it next Tuesday at 5 pm?", day("next Tuesday at 5 pm")],
  ["No.", DECLINE],
  ["No, please cancel it.", DECLINE],
  ["Yes, cancel it please", DECLINE],
  ["No, I don't want it any more.", DECLINE],
  ["I never ordered anything", DECLINE],
  ["I'm not interested", DECLINE],
  ["You have the wrong number", "wrong_person {}"],
  ["There is no Ada here.", "wrong_person {}"],
  ["[keypad] 1", CONFIRM],
  ["1", CONFIRM],
  ["I pressed 1", CONFIRM],
  ["[keypad] 2", OTHER_DAY],
];

const NO_DECISION = [
  "Hello?",
  "Yes, hello?",
  "Good morning!",
  "Who is calling?",
  "Yes? Who is this?",
  "Are you a robot?",
  "What if I want to cancel?",
  "Is it possible to pay by card?",
  "Oh hello, lovely weather we are having today.",
  "I'm fine, thank you, how are you?",
  "My neighbour was telling me about his garden this morning.",
  "I really have no time for this!",
  "Not now, I'm busy.",
  "What do you want? I am in a meeting.",
  "Stop calling me!",
  "Not sure, let me think",
  "Maybe",
  "That's not right",
  "Sorry, what was that?",
  "Speaking.",
  "[keypad] 7",
  "I want to talk to a human",
  "Can you call me back later?",
  "Thank you, goodbye.",
  "",
  "[silence]",
  "Hello, you have reached the mailbox of this number. I can't take your call right now. Please leave a message after the tone.",
];

describe("understanding, in the sample order's first node", () => {
  test.each(ORDER)("%s", (words, expected) => {
    expect(reaction(orderConfirmation, "ask_confirmation", words)).toBe(expected);
  });

  test.each(NO_DECISION)("no decision: %s", (words) => {
    expect(reaction(orderConfirmation, "ask_confirmation", words)).not.toMatch(/^[a-z]+_[a-z_]+ \{/);
  });

  test.each([
    "Who is calling?",
    "What is this about?",
    "How much is it?",
    "When would it come?",
    "Hello? Is anybody there?",
    "I have no time for this!",
  ])("answers and asks again: %s", (words) => {
    expect(reaction(orderConfirmation, "ask_confirmation", words)).toMatch(
      /Do you confirm order NW-10320 for 82\.25 dollars with delivery on Monday, June 9\?$/,
    );
  });

  test("answers from the prompt's facts", () => {
    expect(reaction(orderConfirmation, "ask_confirmation", "Who is calling?")).toContain("Northwind Outfitters");
    expect(reaction(orderConfirmation, "ask_confirmation", "How much is it?")).toMatch(
      /^It is order NW-10320 for 82\.25 dollars/,
    );
    expect(reaction(orderConfirmation, "ask_confirmation", "What is your favourite colour?")).toMatch(
      /do not have that information/,
    );
  });
});

describe("understanding, elsewhere in the samples", () => {
  test.each([
    ["Friday, please.", newDay("Friday")],
    ["next Tuesday at 5 pm please", newDay("next Tuesday at 5 pm")],
    ["Can you do the 14th?", newDay("the 14th")],
    ["June 12th would be great", newDay("June 12th")],
    ["Never mind, Monday is fine, confirm it", "keep_delivery {}"],
    ["Just cancel it", DECLINE],
  ])("asked for a day: %s", (words, expected) => {
    expect(reaction(orderConfirmation, "ask_day", words)).toBe(expected);
  });

  test.each(["Yes.", "No.", "Any day", "Not Monday", "I don't know yet"])("asks for the day again: %s", (words) => {
    expect(reaction(orderConfirmation, "ask_day", words)).toMatch(/Which day would suit you\?$/);
  });

  test.each([
    ["Yes, I'll be there", "confirm_appointment {}"],
    ["[keypad] 2", "reschedule_appointment {}"],
    ["3", "cancel_appointment {}"],
    ["I'm afraid I can't make it then. Could we move the appointment?", "reschedule_appointment {}"],
    ["I won't be coming because I'm ill", 'cancel_appointment {"reason":"I\'m ill"}'],
  ])("appointment: %s", (words, expected) => {
    expect(reaction(appointmentReminder, "remind", words)).toBe(expected);
  });
});

type Json = Record<string, unknown>;
const tool = (name: string, description: string, properties: Json = {}, required: string[] = []): Json => ({
  type: "function",
  function: { name, description, parameters: { type: "object", properties, required } },
});
function answer(task: string, words: string[], tools: Json[], more: Json = {}): string {
  const messages = [{ role: "system", content: task }, ...words.map((content) => ({ role: "user", content }))];
  const plan = complete(readRequest({ model: "m", messages, tools, ...more }));
  return plan.call === null ? (plan.content ?? "") : `${plan.call.name} ${plan.call.arguments}`;
}

describe("tools and their arguments", () => {
  const pizza = tool(
    "choose_size",
    "The size of the pizza.",
    {
      size: { type: "string", enum: ["small", "medium", "large"] },
      count: { type: "integer", minimum: 1, maximum: 9 },
    },
    ["size"],
  );
  const visit = tool("book_visit", "Books a visit.", { day: { type: "string" }, time: { type: "string" } }, [
    "day",
    "time",
  ]);
  const feedback = tool("note_feedback", "Keeps the person's opinion.", { comment: { type: "string" } }, ["comment"]);

  test("enumerations and numbers come from the words", () => {
    expect(answer("Ask which size they want.", ["Two large ones, please"], [pizza])).toBe(
      'choose_size {"size":"large","count":2}',
    );
  });
  test("a required argument is asked for, then put together from both answers", () => {
    expect(answer("Ask when the engineer may come.", ["On Friday"], [visit])).toBe("Which time would suit you?");
    expect(answer("Ask when the engineer may come.", ["On Friday", "At 3 pm"], [visit])).toBe(
      'book_visit {"day":"Friday","time":"3 pm"}',
    );
  });
  test("free text is taken as it is, but a question is not", () => {
    expect(answer("Ask how they liked the stay.", ["The room was cold."], [feedback])).toBe(
      'note_feedback {"comment":"The room was cold."}',
    );
    expect(answer("Ask how they liked the stay.", ["Who are you?"], [feedback])).not.toContain("note_feedback");
  });
  test("a date format is filled only by a date that was said whole", () => {
    const book = tool("set_date", "Sets the date.", { date: { type: "string", format: "date" } }, ["date"]);
    expect(answer("Ask for the date.", ["2026-06-12 please"], [book])).toBe('set_date {"date":"2026-06-12"}');
    expect(answer("Ask for the date.", ["Friday"], [book])).toBe("Which date would suit you?");
  });
  test("a wish no tool serves never becomes another tool's call", () => {
    const confirm = tool("confirm", "Confirms the order.");
    expect(answer("Ask whether they confirm order 7.", ["Cancel it."], [confirm])).toBe(
      "I am afraid I can not cancel that. Do you confirm order 7?",
    );
    expect(answer("Ask whether they confirm order 7.", ["Could we move it?"], [confirm])).toBe(
      "I am afraid I can not change that. Do you confirm order 7?",
    );
  });
  test("keys mean what the prompt says, in either order", () => {
    const tools = [tool("confirm", "Confirms."), tool("cancel", "Cancels.")];
    expect(answer("To cancel press 1, to confirm press 2.", ["[keypad] 1"], tools)).toBe("cancel {}");
    expect(answer("Tell them to press 5 to cancel or 6 to confirm.", ["[keypad] 6"], tools)).toBe("confirm {}");
  });
  test("tool_choice is obeyed", () => {
    const tools = [tool("confirm", "Confirms the order."), tool("cancel", "Cancels the order."), visit];
    expect(answer("Ask whether they confirm.", ["Yes."], tools, { tool_choice: "none" })).not.toMatch(/^confirm /);
    expect(answer("Ask whether they confirm.", ["Hm, well."], tools, { tool_choice: "required" })).toMatch(
      /^(confirm|cancel) \{\}$/,
    );
    expect(
      answer("Ask whether they confirm.", ["Yes."], tools, {
        tool_choice: { type: "function", function: { name: "cancel" } },
      }),
    ).toBe("cancel {}");
    expect(
      answer("Ask.", ["Friday."], tools, { tool_choice: { type: "function", function: { name: "book_visit" } } }),
    ).toBe('book_visit {"time":"","day":"Friday"}');
  });
});
