import {
  described,
  Id,
  IsoTime,
  named,
  Strict,
  Text,
  Type,
  UpTo,
  valued,
  type Static,
  type TSchema,
} from "../define.ts";

/** What an event is about. Each lead, number and so on has a sequence of its own. */
export const EVENT_SUBJECTS = ["lead", "number", "pause", "configuration"] as const;
export type EventSubject = (typeof EVENT_SUBJECTS)[number];

/** The `subject` of events about such a thing: a lead's id alone, else `<kind>:<id>`. */
export const eventSubject = (kind: EventSubject, id: string): string => (kind === "lead" ? id : `${kind}:${id}`);

/** What an event is about, by its `subject`. */
export const kindOf = (subject: string): string =>
  subject.includes(":") ? subject.slice(0, subject.indexOf(":")) : "lead";

/** One type of event: its contract is its name, the schema of its data and what it means. Fields are only added; another meaning is another name. */
export interface EventType {
  /** One sentence: when it happens. */
  doc: string;
  subject: EventSubject;
  /** JSON Schema of `data`. Readers ignore fields that they do not know. */
  data: TSchema;
  /** An example of `data`. */
  example: Record<string, unknown>;
}

/** Declares an event. */
export const event = <D extends TSchema>(
  subject: EventSubject,
  doc: string,
  data: D,
  example: Static<D> & Record<string, unknown>,
): Omit<EventType, "data"> & { data: D } => ({ doc, subject, data, example });

/** Longest `type`. */
const MAX_TYPE = 40;

/**
 * An event as everybody reads it: a CloudEvent 1.0 in structured mode (application/cloudevents+json).
 *
 * - `id`: `<subject>.<seq>`; of a lead `<lead_id>.<seq>`. The same id is the same event; whoever reads at least once deduplicates on it.
 * - `seq`: the number of the event within its subject: 1, 2, 3, … without a gap. Given by the owner of the subject in the write that makes the change.
 * - `time`: when it happened, deployment's time. Two events of one write have the same.
 * - `reseller`, `merchant`, `template`: whose it is (extension attributes); absent where there is none.
 * - `data`: by its type. Phone numbers are masked; no transcript, payload, variable or free text of a person is in it, but an id to fetch them by.
 */
export const CloudEvent = named(
  "CloudEvent",
  "An event as a CloudEvent 1.0.",
  Strict({
    specversion: described("The version of CloudEvents.", valued(["1.0"], { "1.0": "CloudEvents 1.0" })),
    id: described("Names the event, `<subject>.<seq>`: the same id is the same event.", Text(80), {
      example: "0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11.3",
    }),
    source: described("Where it comes from.", Text(100), { example: "/callagent/leads" }),
    type: described("What happened: a name of the catalogue of events.", Text(MAX_TYPE), { example: "lead.ended" }),
    subject: described(
      "What it is about: the id of the lead, or `number:` and the id of the number, and so on.",
      Text(80),
    ),
    time: described("When it happened, UTC.", IsoTime),
    datacontenttype: described("The kind of `data`.", valued(["application/json"], { "application/json": "JSON" })),
    reseller: Type.Optional(
      described("Id of the reseller whose it is; absent: it is the deployment's own, for admins alone.", Text(64)),
    ),
    merchant: Type.Optional(described("Id of the merchant whose it is; absent: it is the reseller's own.", Text(64))),
    template: Type.Optional(described("Id of the template; absent: it has none.", Text(64))),
    seq: described(
      "Its number among the events of its subject: 1, 2, 3, … without a gap.",
      Type.Integer({ minimum: 1 }),
    ),
    data: described("What is told of it, by its type.", Type.Record(UpTo(64), Type.Unknown())),
  }),
);
export type CloudEvent = Static<typeof CloudEvent>;

/** An event as an endpoint gets it: with the `timestamp` of Standard Webhooks, and with what its receiver did not get. */
export const EndpointEvent = Type.Object({
  ...CloudEvent.properties,
  timestamp: described("The same as `time`: Standard Webhooks asks for it.", IsoTime),
  lost: Type.Optional(
    described(
      "Ids of the events of this subject before it that were given up, the newest of them; absent: none was.",
      Type.Array(Text(80)),
      { example: ["0198c0de-7a39-7c53-9d0f-2a2b6a3a1c11.2"] },
    ),
  ),
});

/** Of an attempt: its number, by which retries of a lead are told apart; with the lead's id the call reference. */
export const Attempt = {
  claim_no: described("The number of the attempt; attempts that dialled nothing count.", Type.Integer({ minimum: 1 })),
};

/** Whose a changed thing is. */
export const Changed = {
  id: described("Id of what changed.", Id),
  change: described(
    "What was done.",
    valued(["created", "updated", "removed"], {
      created: "It is new.",
      updated: "Something of it changed.",
      removed: "It is gone.",
    }),
  ),
};
