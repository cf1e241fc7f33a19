import { described, Id, IsoTime, named, Nullable, Strict, Text, Type, Uuid, valued, type Static } from "../define.ts";
import { AskerKind, By, RoleEnum } from "../records/identity.ts";
import { ArchiveOrder } from "./archive.ts";

/** Leads whose things one request ends, at most. */
export const LEADS_PER_END = 50;

/** What retention ends, in the order in which a run does. */
export const RETENTION_KINDS = ["recordings", "transcripts", "deliveries", "leads"] as const;
/** What retention ends. */
export type RetentionKind = (typeof RETENTION_KINDS)[number];
const Kind = valued(RETENTION_KINDS, {
  recordings: "Recordings of calls, in the folder and the bucket.",
  transcripts:
    "What was said: transcript, variables and summary of a lead, also in its reports. The lead, its outcome and its scores stay.",
  deliveries: "Deliveries of webhooks, those of endpoints too.",
  leads: "Leads with all that belongs to them, calls included.",
});

/** Days that leads stay, at the least: caps on calls per callee count the calls of seven days. */
export const MIN_LEAD_DAYS = 8;
/** Days of any period, at most. */
const MAX_DAYS = 3650;
const days = (what: string, minimum: number, example: number) =>
  described(
    `Days after which ${what}, counted from the end of the lead, ${minimum} to ${MAX_DAYS}; null: never.`,
    Nullable(Type.Integer({ minimum, maximum: MAX_DAYS })),
    { example },
  );
const Days = {
  recordings_days: days("recordings end", 1, 30),
  transcripts_days: days("what was said ends", 1, 90),
  deliveries_days: days("deliveries of webhooks end", 1, 30),
  leads_days: days("leads end, with all that belongs to them", MIN_LEAD_DAYS, 365),
};
/** The periods of a reseller, in days; null: that kind never ends. */
export type RetentionDays = Record<keyof typeof Days, number | null>;

/** What is counted of a run: kind of thing -> what it is. */
const COUNTED = {
  recordings: "Recordings that were deleted.",
  transcripts: "Leads whose transcript, variables and summary ended.",
  deliveries: "Deliveries that were deleted, or whose words were taken out.",
  calls: "Calls that were deleted with their leads.",
  conversation_sessions: "Conversations that were deleted.",
  leads: "Leads that were deleted.",
  archived: "Files that were written to the archive before.",
} as const;
/** A kind of thing that a run counts. */
export type EndedKind = keyof typeof COUNTED;
/** Every such kind. */
export const ENDED_KINDS = Object.keys(COUNTED) as EndedKind[];
/** How many of each kind ended; absent: none. */
export type EndedCounts = Partial<Record<EndedKind, number>>;
const count = (text: string) => described(text, Type.Integer({ minimum: 0 }), { example: 12 });
const EndedFields = Type.Object({
  recordings: count(COUNTED.recordings),
  transcripts: count(COUNTED.transcripts),
  deliveries: count(COUNTED.deliveries),
  calls: count(COUNTED.calls),
  conversation_sessions: count(COUNTED.conversation_sessions),
  leads: count(COUNTED.leads),
  archived: count(COUNTED.archived),
});

/** What one service is to end: what it has of this kind of these leads, which are over. Every service that keeps such things has this action, by this name. `archive`: it goes there first. Idempotent. */
export const endRecords = [
  Strict({
    kind: Kind,
    lead_ids: Type.Array(Uuid, { maxItems: LEADS_PER_END }),
    archive: Type.Optional(ArchiveOrder),
  }),
  /** `waiting`: those of the leads of which something is still under way, so that nothing of them ended. */
  Type.Object({ ended: Type.Partial(EndedFields), waiting: Type.Array(Uuid, { maxItems: LEADS_PER_END }) }),
] as const;

/** How long a reseller's records are kept, and what ended last. */
export const RetentionRecord = named(
  "Retention",
  "How long the records of a reseller and its merchants are kept. Where nothing is set, nothing ends.",
  Type.Object({
    reseller_id: described("The reseller.", Id),
    ...Days,
    archive: described("true: what ends is written to the archive in the bucket first.", Type.Boolean()),
    set_by: described(
      "Who set it last; null: nobody.",
      Nullable(
        Type.Object({
          kind: AskerKind,
          id: described("Id of the person or token.", Id),
          role: described("The role at that time.", RoleEnum),
        }),
      ),
    ),
    updated_at: described("When it was set last; null: never.", Nullable(IsoTime)),
    next_run_at: described("When the next run begins, or goes on; null: nothing is set.", Nullable(IsoTime)),
    last_run: described(
      "The run under way, or the last one; null: there was none since it was set.",
      Nullable(
        Type.Object({
          started_at: described("When it began. Ages count up to then.", IsoTime),
          finished_at: described("When it was done; null: it is under way.", Nullable(IsoTime)),
          waiting: described(
            "Leads that are old enough, but under a legal hold, or whose call, report or delivery was still under way; the next run looks at them again.",
            Type.Integer({ minimum: 0 }),
          ),
          ended: described("What ended, by kind.", EndedFields),
        }),
      ),
    ),
  }),
);
export type RetentionRecord = Static<typeof RetentionRecord>;

const Whose = {
  by: By,
  reseller_id: Type.Optional(described("Whose records. Left out: the asker's own; an admin names one.", Text(64))),
};
const Wanted = {
  recordings_days: Type.Optional(Days.recordings_days),
  transcripts_days: Type.Optional(Days.transcripts_days),
  deliveries_days: Type.Optional(Days.deliveries_days),
  leads_days: Type.Optional(Days.leads_days),
  archive: Type.Optional(
    described(
      "true: what ends is written to the archive in the bucket first; it needs S3_BUCKET and ERASURE_KEY. Left out: false.",
      Type.Boolean(),
      { default: false, example: false },
    ),
  ),
};

/** The periods of a reseller. */
export const oneRetention = [Strict(Whose), RetentionRecord] as const;
/** Periods that replace the ones before as a whole. */
export const newRetention = [Strict({ ...Whose, ...Wanted }), RetentionRecord] as const;

/** Leads that a dry run counts of a kind, at most. */
export const MAX_COUNTED_AGED = 100_000;
/** What would end now. */
export const retentionDryRun = [
  Strict({ ...Whose, ...Wanted }),
  Type.Object({
    reseller_id: described("The reseller.", Id),
    archive: described("true: what is counted would be written to the archive first.", Type.Boolean()),
    kinds: described(
      "What would end now of each kind that has a period.",
      Type.Array(
        Type.Object({
          kind: described("The kind.", Kind),
          days: described("The period, days.", Type.Integer()),
          before: described("What belongs to leads that ended before then would end.", IsoTime),
          leads: described(
            `Leads of which something of this kind may be left and that no legal hold covers, counted up to ${MAX_COUNTED_AGED}.`,
            Type.Integer({ minimum: 0 }),
          ),
          more: described("true: there are more than were counted.", Type.Boolean()),
        }),
        { maxItems: RETENTION_KINDS.length },
      ),
    ),
  }),
] as const;
