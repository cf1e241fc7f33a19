import { described, IsoTime, Json, named, Nullable, Strict, Type, UpTo, Uuid, valued, type Static } from "../define.ts";

/** One thing that is wrong with what was given. */
export const IssueView = named(
  "ValidationIssue",
  "One thing that is wrong with what was given.",
  Type.Object({
    path: described("Where: names joined by dots, numbers for items; empty: the whole.", Type.String(), {
      example: "payload.customer_mobile_number",
    }),
    message: described("What is wrong with it.", UpTo(2000), { example: "is required" }),
  }),
);

const queued = {
  lead_call_tracker_id: described("Id of the lead.", Uuid),
  order_id: described("The request_id of the push.", UpTo(200), { example: "order-4711" }),
  message: described("What happened, for a person; also what of an override was left out.", UpTo(2000)),
};
const Duplicate = described(
  "true: the lead named is the first one of this request_id, by the configuration's duplicates, and none was made.",
  Type.Boolean(),
);

/** The answer to a push. */
export const Pushed = named(
  "PushedLead",
  "The answer to a push.",
  Type.Object({
    status: described("The lead waits to be called.", Type.Literal("queued")),
    ...queued,
    replayed: Type.Optional(Type.Boolean()),
    duplicate: Type.Optional(Duplicate),
  }),
);

/** What became of one row of a bulk push; `index` is its place among the rows. */
export const PushOutcome = named(
  "PushResult",
  "What became of one row of a bulk push.",
  Type.Object({
    index: described("The row's place among the rows, from 0.", Type.Integer({ minimum: 0 })),
    status: valued(["queued", "refused"], { queued: "A lead waits to be called.", refused: "No lead was made." }),
    ...Type.Partial(Type.Object(queued)).properties,
    duplicate: Type.Optional(Duplicate),
    code: Type.Optional(described("Of a refused row: the error code that a push of it alone would get.", UpTo(64))),
    errors: Type.Optional(described("Of a refused row: what is wrong, by path.", Type.Array(IssueView))),
  }),
);
export type PushOutcome = Static<typeof PushOutcome>;

/** The service that recorded a fact. */
export const TIMELINE_SOURCES = ["leads", "dialer", "carrier", "conversation", "webhook"] as const;

/** One recorded fact of a lead. */
export const TimelineEvent = named(
  "TimelineEvent",
  "One recorded fact of a lead.",
  Type.Object({
    at: described("When it happened.", IsoTime),
    source: described(
      "Who recorded it.",
      valued(TIMELINE_SOURCES, {
        leads: "The queue: push, claim, retry, end.",
        dialer: "The call, as we see it.",
        carrier: "The call, as the carrier reports it.",
        conversation: "What was said and decided.",
        webhook: "Reports to your server.",
      }),
    ),
    event: described("What happened, in one word.", UpTo(64), { example: "claimed" }),
    details: described("What else is known of it; its fields depend on the event.", Json),
  }),
);
export type TimelineEvent = Static<typeof TimelineEvent>;

const Counts = Type.Record(Type.String(), Type.Integer());
const Whole = Type.Integer({ minimum: 0 });
const Figures = {
  leads: described("Leads created in the period.", Whole),
  finished: described("Those of them that are FINISHED.", Whole),
  called: Type.Optional(
    described("Leads that were called at least once. Absent: a version before 0.3.0 counted.", Whole),
  ),
  attempts: described("Calls that were placed.", Whole),
  answered: described("Calls that a person answered.", Whole),
  average_talk_seconds: described(
    "Average length of the answered calls, seconds; null without any.",
    Nullable(Type.Number()),
  ),
  cost: described("What the calls cost, in cost_currency.", Type.Number()),
  decided: described(
    "Leads that finished with one of the template's own outcome words: the conversation reached a decision.",
    Whole,
  ),
  do_not_call: Type.Optional(
    described("Leads whose callee asked not to be called again. Absent: a version before 0.3.0 counted.", Whole),
  ),
  success_rate: described(
    "Share of the leads that were called, have finished and were not aborted whose conversation was decided, and not by a refusal, 0 to 1; null without any.",
    Nullable(Type.Number()),
    { example: 0.42 },
  ),
};
const ByOutcome = described("Leads by outcome.", Counts, { example: { confirmed: 12, no_answer: 3 } });

/** Figures of leads. */
export const Summary = named(
  "Summary",
  "Figures of the leads of a period, without test and playground leads.",
  Type.Object({
    from: described("The period's beginning, inclusive.", IsoTime),
    to: described("The period's end, exclusive.", IsoTime),
    cost_currency: described("Currency of every cost, ISO 4217.", UpTo(10), { example: "USD" }),
    ...Figures,
    by_status: described("Leads by status.", Counts, { example: { FINISHED: 15, BACKLOG: 2 } }),
    by_outcome: ByOutcome,
    templates: described(
      "The same for each template, the one with most leads first; at most 500 are listed, the totals are of all.",
      Type.Array(
        Type.Object({
          template_id: described("Id of the template.", Uuid),
          template: described("Name of the template.", UpTo(200)),
          ...Figures,
          by_outcome: ByOutcome,
        }),
      ),
    ),
  }),
);
export type Summary = Static<typeof Summary>;

/** What the leads service answers where its database does: the deployment's time, whether it does not know it, and how far the database's clock is ahead while that is held off, ms. */
export const Reached = Strict({
  now: Type.Optional(IsoTime),
  clock_unknown: Type.Optional(Type.Boolean()),
  clock_ahead_ms: Type.Optional(Type.Integer()),
});
