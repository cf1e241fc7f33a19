import { ENDED_BY } from "../../../shared/contracts/records/attempt.ts";
import { VoicemailActionEnum } from "../../../shared/contracts/records/configuration.ts";
import { Json, Strict, Text, Type, type Static } from "../../../shared/contracts/define.ts";

const Words = Text(2000);
const Times = Type.Integer({ minimum: 1, maximum: 20 });

const Yes = Type.Literal(true);

/** What the customer does next: exactly one of the fields. The bare words silence, hang_up, machine and time_up stand for themselves. */
export const Turn = Type.Object(
  {
    say: Type.Optional(Words),
    /** Keys as a customer presses them, gathered as the node says. */
    press: Type.Optional(Type.String({ pattern: "^[0-9*#]{1,64}$" })),
    /** Times that the customer says nothing for the template's idle_seconds. */
    silence: Type.Optional(Times),
    /** The customer interrupts what was just said: only its first words were heard. */
    interrupt: Type.Optional(
      Strict({ after_words: Type.Integer({ minimum: 0, maximum: 2000 }), say: Type.Optional(Words) }),
    ),
    hang_up: Type.Optional(Yes),
    /** The carrier reports that voicemail has answered. */
    machine: Type.Optional(Yes),
    /** The conversation has reached the template's max_call_seconds. */
    time_up: Type.Optional(Yes),
  },
  { additionalProperties: false, minProperties: 1, maxProperties: 1 },
);
export type Turn = Static<typeof Turn>;

/** What a web request of a function is answered with: a body, text or JSON, or a status that is no success. */
export const WebAnswer = Strict({
  status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
  body: Type.Optional(Type.Unknown()),
});
export type WebAnswer = Static<typeof WebAnswer>;

const Pieces = Type.Array(Type.String({ minLength: 1, maxLength: 2000 }), { maxItems: 100 });

/** What must have come of it. Absent: it does not matter. */
export const Expectations = Strict({
  /** Nodes in order. */
  path: Type.Optional(Type.Array(Text(64), { maxItems: 500 })),
  /** The lead's outcome word: the template's, or one of the closed list such as customer_hangup. */
  outcome: Type.Optional(Text(64)),
  call_ended_by: Type.Optional(Type.Enum([...ENDED_BY])),
  /** Variables the conversation sets, as they are reported; others may be set too. */
  variables: Type.Optional(Json),
  transcript: Type.Optional(Strict({ contains: Type.Optional(Pieces), not_contains: Type.Optional(Pieces) })),
  /** Codes of the conversation's errors, all of them, in order. */
  errors: Type.Optional(Type.Array(Text(100), { maxItems: 50 })),
});
export type Expectations = Static<typeof Expectations>;

/** A scripted customer. */
export const Script = Strict({
  name: Type.Optional(Text(200)),
  /** The template, relative to the script; the command line's own wins. */
  template: Type.Optional(Text(500)),
  payload: Type.Optional(Json),
  voicemail_action: Type.Optional(VoicemailActionEnum),
  turns: Type.Array(Turn, { maxItems: 200 }),
  /** Answers to web requests, by the function's name; a list is used one after the other, its last one for good. */
  web: Type.Optional(Type.Record(Type.String(), Type.Array(WebAnswer, { minItems: 1, maxItems: 50 }))),
  /** Whether transfers work; absent: they do. */
  transfer: Type.Optional(Type.Enum(["works", "fails"])),
  expect: Type.Optional(Expectations),
});
export type Script = Static<typeof Script>;

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A script as it is written, with its short forms written out: bare words as turns, one web answer in place of a list. */
export function writtenOut(value: unknown): unknown {
  if (!isFields(value)) return value;
  const { turns, web } = value;
  return {
    ...value,
    ...(Array.isArray(turns)
      ? {
          turns: turns.map((turn: unknown) =>
            typeof turn === "string" ? { [turn]: turn === "silence" ? 1 : true } : turn,
          ),
        }
      : {}),
    ...(isFields(web)
      ? {
          web: Object.fromEntries(
            Object.entries(web).map(([name, answer]) => [name, Array.isArray(answer) ? answer : [answer]]),
          ),
        }
      : {}),
  };
}
