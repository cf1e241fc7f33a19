import { complete } from "../../../local/models/dialogue/completion.ts";
import { readPrompt } from "../../../local/models/dialogue/system-prompt.ts";
import { readRequest } from "../../../local/models/api/chat-request.ts";
import { speakTask } from "../../../local/models/dialogue/task-speech.ts";
import { appointmentReminder } from "../../../local/tools/sample/appointment-reminder.ts";
import { orderConfirmation } from "../../../local/tools/sample/order-confirmation.ts";
import { requestAt } from "./fixtures/chat-conversation.ts";

const TASKS: readonly (readonly [string, string])[] = [
  [
    "Greet Ada and ask whether she confirms order A-17 for 42 EUR with delivery on Monday.",
    "Hello Ada. Do you confirm order A-17 for 42 EUR with delivery on Monday?",
  ],
  [
    "Greet the customer by name, then ask if the delivery on Friday still suits them.",
    "Hello. Does the delivery on Friday still suit you?",
  ],
  ["Ask for the day that suits", "Which day would suit you?"],
  ["Ask the customer which day they would prefer.", "Which day would you prefer?"],
  ["Ask when they are at home.", "When are you at home?"],
  ["Ask Bob for his postcode.", "Could you tell me your postcode, please?"],
  ["Ask them to spell their name.", "Could you please spell your name?"],
  [
    "Ask whether they have received the parcel, then wish them a nice day.",
    "Have you received the parcel? Have a nice day!",
  ],
  ["Thank them and say goodbye.", "Thank you. Goodbye!"],
  ["Thank them for their time, and say goodbye", "Thank you for your time. Goodbye!"],
  [
    "Remind her of her appointment on Monday and ask if she is coming.",
    "I would like to remind you of your appointment on Monday. Are you coming?",
  ],
  ["Tell Bob that his car is ready.", "Your car is ready."],
  ["Apologise for the delay.", "I am sorry for the delay."],
  ['Say: "Please hold the line. I am looking."', "Please hold the line. I am looking."],
  ['Then say "See you on Monday!" and end the call.', "See you on Monday!"],
  ["Verify the customer's address.", "I would like to verify your address."],
  ["The customer should choose a colour.", "You should choose a colour."],
  ["Do you like tea?", "Do you like tea?"],
];

test.each(TASKS)("speaks: %s", (task, speech) => {
  expect(speakTask(readPrompt(task)).text).toBe(speech);
});

test("rules of conduct and the role are not spoken", () => {
  const prompt =
    "You are Mia of Northwind.\nAsk whether they agree. If they are angry, stay calm. Never promise a refund. Call a function once they decided.";
  expect(speakTask(readPrompt(prompt))).toEqual({ text: "Do you agree?", question: "Do you agree?" });
});

test.each([
  [
    orderConfirmation,
    "ask_confirmation",
    "Hello Ada Lindqvist. Do you confirm order NW-10320 for 82.25 dollars with delivery on Monday, June 9? You can also press 1 to confirm or press 2 to reschedule.",
  ],
  [orderConfirmation, "ask_day", "Which day would suit you?"],
  [
    orderConfirmation,
    "declined",
    "Order NW-10320 will not be delivered and nothing will be charged. Thank you. Goodbye!",
  ],
  [
    appointmentReminder,
    "remind",
    "Hello Ada Lindqvist. Can you come to the appointment with Dr. Ito on Thursday, June 12 at 9:30 am? You can also press 1 to confirm, press 2 to reschedule or press 3 to cancel.",
  ],
  [appointmentReminder, "ask_new_day", "Which day and time would suit you?"],
  [
    appointmentReminder,
    "confirmed",
    "Thank you. Dr. Ito is looking forward to seeing you on Thursday, June 12. Goodbye!",
  ],
] as const)("sample %#: %3$s", (template, node, speech) => {
  expect(complete(readRequest(requestAt(template, node, []))).content).toBe(speech);
});

describe("when the task is spoken", () => {
  const call = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "choose_another_day", arguments: "{}" } }],
  };
  const past = [
    { role: "assistant", content: "Hello. Do you confirm?" },
    { role: "user", content: "No, move it." },
    call,
  ];

  test("a tool's result means that a node was entered", () => {
    const request = requestAt(orderConfirmation, "ask_day", [
      ...past,
      { role: "tool", tool_call_id: "c1", content: '{"status":"ok"}' },
    ]);
    expect(complete(readRequest(request)).content).toBe("Which day would suit you?");
  });
  test("a tool's error is owned up to", () => {
    const request = requestAt(orderConfirmation, "ask_day", [
      ...past,
      { role: "tool", tool_call_id: "c1", content: '{"error":"no"}' },
    ]);
    expect(complete(readRequest(request)).content).toBe("I am sorry, that did not work. Which day would suit you?");
  });
  test("a later system message is the task", () => {
    const request = requestAt(orderConfirmation, "ask_day", [
      { role: "assistant", content: "Which day would suit you?" },
      { role: "system", content: "Ask whether they are still there." },
    ]);
    expect(complete(readRequest(request)).content).toBe("Are you still there?");
  });
  test("the same request is answered alike", () => {
    const request = requestAt(orderConfirmation, "ask_confirmation", [
      { role: "user", content: "Friday would be better" },
    ]);
    expect(complete(readRequest(structuredClone(request)))).toEqual(complete(readRequest(request)));
  });
});
