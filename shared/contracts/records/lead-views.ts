import { IsoTime, Json, Nullable, Strict, Type, Uuid, type Static, UpTo } from "../define.ts";

/** The answer to a push. */
export const Pushed = Type.Object({
  status: Type.Literal("queued"),
  lead_call_tracker_id: Uuid,
  order_id: UpTo(200),
  message: UpTo(2000),
  replayed: Type.Optional(Type.Boolean()),
  /** The lead named is the first one of this request_id, by the configuration's duplicates: none was made. */
  duplicate: Type.Optional(Type.Boolean()),
});

/** What became of one row of a bulk push; `index` is its place among the rows. */
export const PushOutcome = Type.Object({
  index: Type.Integer(),
  status: Type.Enum(["queued", "refused"]),
  lead_call_tracker_id: Type.Optional(Uuid),
  order_id: Type.Optional(UpTo(200)),
  message: Type.Optional(UpTo(2000)),
  /** The lead named is the first one of this request_id: none was made. */
  duplicate: Type.Optional(Type.Boolean()),
  /** Of a refused row: as a push of it alone would fail. */
  code: Type.Optional(UpTo(64)),
  errors: Type.Optional(Type.Array(Type.Object({ path: Type.String(), message: UpTo(2000) }))),
});
export type PushOutcome = Static<typeof PushOutcome>;

/** The service that recorded a fact. */
export const TIMELINE_SOURCES = ["leads", "dialer", "carrier", "conversation", "webhook"] as const;

/** One recorded fact of a lead. */
export const TimelineEvent = Type.Object({
  at: IsoTime,
  source: Type.Enum([...TIMELINE_SOURCES]),
  event: UpTo(64),
  details: Json,
});
export type TimelineEvent = Static<typeof TimelineEvent>;

const Counts = Type.Record(Type.String(), Type.Integer());
const Figures = {
  leads: Type.Integer(),
  finished: Type.Integer(),
  /** Calls that were placed. */
  attempts: Type.Integer(),
  /** Calls that a person answered. */
  answered: Type.Integer(),
  /** Of those; null without any. */
  average_talk_seconds: Nullable(Type.Number()),
  cost: Type.Number(),
  /** Leads that finished with one of the template's own outcome words: the conversation reached a decision. */
  decided: Type.Integer(),
  /** Leads whose callee asked not to be called again. Absent: a version before 0.3.0 counted. */
  do_not_call: Type.Optional(Type.Integer()),
  /** Share of the finished leads that were decided, and not by a refusal (services/leads/rules/outcomes.ts), 0 to 1; null without any. */
  success_rate: Nullable(Type.Number()),
};

/** Figures of leads. `templates`: the same for each, the one with most leads first; at most 500 are listed, the totals are of all. */
export const Summary = Type.Object({
  from: IsoTime,
  to: IsoTime,
  cost_currency: UpTo(10),
  ...Figures,
  by_status: Counts,
  by_outcome: Counts,
  templates: Type.Array(Type.Object({ template_id: Uuid, template: UpTo(200), ...Figures, by_outcome: Counts })),
});
export type Summary = Static<typeof Summary>;

/** What the leads service answers where its database does: the deployment's time, whether it does not know it, and how far the database's clock is ahead while that is held off, ms. */
export const Reached = Strict({
  now: Type.Optional(IsoTime),
  clock_unknown: Type.Optional(Type.Boolean()),
  clock_ahead_ms: Type.Optional(Type.Integer()),
});
