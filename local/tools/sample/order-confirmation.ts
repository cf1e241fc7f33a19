import type { SampleTemplate } from "./template.ts";

const ROLE =
  "You are Mia, the voice assistant of Northwind Outfitters, an online shop for outdoor clothing. " +
  "You are calling about order {{order_id}}. Be friendly and keep every answer to one or two short sentences.";

const NO_ARGUMENTS = { type: "object", properties: {}, additionalProperties: false };

/** Confirms an order and its delivery day. Outcomes: confirmed, rescheduled, declined; wrong_person when a stranger answers. */
export const orderConfirmation: SampleTemplate = {
  name: "order-confirmation",
  is_active: true,
  payload_schema: {
    type: "object",
    required: ["customer_name", "order_id", "amount", "delivery_date"],
    properties: {
      customer_mobile_number: { type: "string", description: "The phone to call, E.164." },
      customer_name: { type: "string", minLength: 1, maxLength: 100, examples: ["Ada Lindqvist"] },
      order_id: { type: "string", minLength: 1, maxLength: 40, examples: ["NW-10320"] },
      amount: {
        type: "string",
        minLength: 1,
        maxLength: 40,
        description: "Order total in dollars, as it is spoken.",
        examples: ["82.25"],
      },
      delivery_date: {
        type: "string",
        minLength: 1,
        maxLength: 60,
        description: "Planned delivery day, as it is spoken.",
        examples: ["Monday, June 9"],
      },
      reporting_webhook_url: { type: "string" },
    },
  },
  variables: ["new_delivery_date"],
  initial_node: "ask_confirmation",
  greeting: "Good day, this is Mia, the automated assistant of Northwind Outfitters.",
  voice: "en-US-Journey-O",
  language: "en-US",
  limits: { max_call_seconds: 120, idle_seconds: 4, max_age_seconds: 86_400 },
  evaluators: [
    {
      name: "goal_reached",
      question: "Does the agent know at the end what is to become of the order? 1 for yes, 0 for no.",
      scale: { min: 0, max: 1 },
    },
    { name: "politeness", question: "How polite and patient was the agent? 10 for always, 0 for never." },
  ],
  summary: true,
  global_functions: [
    {
      name: "wrong_person",
      description:
        "The person says that this is the wrong number, or that they are not the customer and do not know them.",
      parameters: NO_ARGUMENTS,
      next_node: "say_sorry",
      outcome: "wrong_person",
    },
  ],
  nodes: [
    {
      name: "ask_confirmation",
      role_prompt: ROLE,
      prompt:
        "Greet {{customer_name}} and ask whether they confirm order {{order_id}} for {{amount}} dollars with delivery on {{delivery_date}}. " +
        "Tell them they can also press 1 to confirm or press 2 to reschedule. " +
        "If they ask who is calling or what it is about, answer from what you know and ask again. " +
        "Call a function only once they have clearly decided; [keypad] 1 means that they pressed the key 1.",
      interruptible: true,
      functions: [
        {
          name: "confirm_order",
          description: "The customer confirms the order and its delivery day, or presses 1.",
          parameters: NO_ARGUMENTS,
          next_node: "confirmed",
          outcome: "confirmed",
        },
        {
          name: "reschedule_delivery",
          description: "The customer wants the delivery on another day and has said which day.",
          parameters: {
            type: "object",
            required: ["day"],
            properties: { day: { type: "string", description: "The new delivery day in the customer's words." } },
            additionalProperties: false,
          },
          set: { new_delivery_date: "day" },
          next_node: "rescheduled",
          outcome: "rescheduled",
        },
        {
          name: "choose_another_day",
          description:
            "The day does not suit the customer, or they press 2, and they have not said yet which day would.",
          parameters: NO_ARGUMENTS,
          next_node: "ask_day",
        },
        {
          name: "decline_order",
          description: "The customer does not want the order any more, cancels or refuses it.",
          parameters: NO_ARGUMENTS,
          next_node: "declined",
          outcome: "declined",
        },
      ],
    },
    {
      name: "ask_day",
      role_prompt: ROLE,
      prompt: "Ask for the day that would suit them. Accept any day they name; do not ask for a time.",
      interruptible: true,
      functions: [
        {
          name: "set_delivery_day",
          description: "The customer names the day on which the delivery should come.",
          parameters: {
            type: "object",
            required: ["day"],
            properties: { day: { type: "string", description: "The new delivery day in the customer's words." } },
            additionalProperties: false,
          },
          set: { new_delivery_date: "day" },
          next_node: "rescheduled",
          outcome: "rescheduled",
        },
        {
          name: "keep_delivery",
          description: "The customer would rather keep the planned delivery after all and confirms it.",
          parameters: NO_ARGUMENTS,
          next_node: "confirmed",
          outcome: "confirmed",
        },
        {
          name: "decline_order",
          description: "The customer does not want the order any more, cancels or refuses it.",
          parameters: NO_ARGUMENTS,
          next_node: "declined",
          outcome: "declined",
        },
      ],
    },
    {
      name: "confirmed",
      say: "Thank you, {{customer_name}}. Your order is confirmed. Goodbye!",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
    {
      name: "rescheduled",
      say: "Thank you, {{customer_name}}. We will deliver on {{new_delivery_date}} instead. Goodbye!",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
    {
      name: "declined",
      role_prompt: ROLE,
      prompt:
        "Tell them that order {{order_id}} will not be delivered and that nothing will be charged. Thank them and say goodbye.",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
    {
      name: "say_sorry",
      say: "I am sorry for the disturbance. Goodbye!",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
  ],
};
