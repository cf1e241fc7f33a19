import type { SampleTemplate } from "./template.ts";

const ROLE =
  "You are Noah, the voice assistant of Lakeside Dental, a dental practice. " +
  "You are calling about the appointment with {{doctor}} on {{appointment_day}} at {{appointment_time}}. Be friendly and brief.";

const NO_ARGUMENTS = { type: "object", properties: {}, additionalProperties: false };

/** Reminds of an appointment. Outcomes: confirmed, rescheduled, cancelled. */
export const appointmentReminder: SampleTemplate = {
  name: "appointment-reminder",
  is_active: true,
  payload_schema: {
    type: "object",
    required: ["customer_name", "doctor", "appointment_day", "appointment_time"],
    properties: {
      customer_mobile_number: { type: "string", description: "The phone to call, E.164." },
      customer_name: { type: "string", minLength: 1, maxLength: 100, examples: ["Ada Lindqvist"] },
      doctor: { type: "string", minLength: 1, maxLength: 100, examples: ["Doctor Wong"] },
      appointment_day: {
        type: "string",
        minLength: 1,
        maxLength: 60,
        description: "As it is spoken.",
        examples: ["Thursday, June 12"],
      },
      appointment_time: {
        type: "string",
        minLength: 1,
        maxLength: 40,
        description: "As it is spoken.",
        examples: ["9:30 am"],
      },
      reporting_webhook_url: { type: "string" },
    },
  },
  variables: ["new_day", "reason"],
  initial_node: "remind",
  greeting: "Good day, this is Noah, the automated assistant of Lakeside Dental.",
  voice: "en-US-Journey-D",
  language: "en-US",
  limits: { max_call_seconds: 120, idle_seconds: 4, max_age_seconds: 86_400 },
  evaluators: [
    {
      name: "goal_reached",
      question: "Does the agent know at the end whether and when the patient will come? 1 for yes, 0 for no.",
      scale: { min: 0, max: 1 },
    },
  ],
  summary: true,
  global_functions: [],
  nodes: [
    {
      name: "remind",
      role_prompt: ROLE,
      prompt:
        "Greet {{customer_name}} and ask whether they can come to the appointment with {{doctor}} on {{appointment_day}} at {{appointment_time}}. " +
        "Tell them they can also press 1 to confirm, press 2 to reschedule or press 3 to cancel. " +
        "If they ask something, answer from what you know and ask again.",
      interruptible: true,
      functions: [
        {
          name: "confirm_appointment",
          description: "The patient will come, or presses 1.",
          parameters: NO_ARGUMENTS,
          next_node: "confirmed",
          outcome: "confirmed",
        },
        {
          name: "reschedule_appointment",
          description: "The patient can not come at that time or wants another one, or presses 2.",
          parameters: NO_ARGUMENTS,
          next_node: "ask_new_day",
        },
        {
          name: "cancel_appointment",
          description: "The patient wants no appointment any more, or presses 3.",
          parameters: {
            type: "object",
            properties: { reason: { type: "string", description: "Why, if they say so." } },
            additionalProperties: false,
          },
          set: { reason: "reason" },
          next_node: "cancelled",
          outcome: "cancelled",
        },
      ],
    },
    {
      name: "ask_new_day",
      role_prompt: ROLE,
      prompt: "Ask which day and time would suit them. If they have named a day already, use it.",
      interruptible: true,
      functions: [
        {
          name: "set_new_appointment",
          description: "The patient names the day, and perhaps the time, of the new appointment.",
          parameters: {
            type: "object",
            required: ["day"],
            properties: {
              day: {
                type: "string",
                description: "The new day, with the time if they named one, in the patient's words.",
              },
            },
            additionalProperties: false,
          },
          set: { new_day: "day" },
          next_node: "rescheduled",
          outcome: "rescheduled",
        },
        {
          name: "cancel_appointment",
          description: "The patient wants no appointment any more.",
          parameters: {
            type: "object",
            properties: { reason: { type: "string", description: "Why, if they say so." } },
            additionalProperties: false,
          },
          set: { reason: "reason" },
          next_node: "cancelled",
          outcome: "cancelled",
        },
      ],
    },
    {
      name: "confirmed",
      role_prompt: ROLE,
      prompt:
        "Thank them, tell them that {{doctor}} is looking forward to seeing them on {{appointment_day}} and say goodbye.",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
    {
      name: "rescheduled",
      say: "Thank you, {{customer_name}}. We have noted {{new_day}} and will send you a message. Goodbye!",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
    {
      name: "cancelled",
      say: "Your appointment is cancelled, {{customer_name}}. Goodbye!",
      on_enter: [{ type: "end_call" }],
      interruptible: false,
    },
  ],
};
