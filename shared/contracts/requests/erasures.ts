import {
  described,
  E164,
  Id,
  IsoTime,
  named,
  Nullable,
  PhoneText,
  Strict,
  Text,
  Type,
  Uuid,
  valued,
  type Static,
} from "../define.ts";
import { ErasedFolders } from "./archive.ts";
import { AskerKind, By, Count, NextCursor, OwnerFilter, PageParams, RoleEnum } from "../records/identity.ts";

/** Leads whose things one request erases, at most. */
export const LEADS_PER_ERASURE = 50;

/** What is counted of an erasure: kind of thing -> what it is. */
const COUNTED = {
  leads_aborted: "Waiting leads that were aborted first.",
  leads: "Leads whose number, payload, transcript, variables, history and evaluation were erased.",
  events: "Events in the log whose masked number was erased.",
  calls: "Calls whose numbers and carrier's words were erased.",
  recordings: "Recordings that were deleted, in the folder or the bucket.",
  carrier_callbacks: "Callbacks of carriers whose contents were erased.",
  inbound_calls: "Inbound calls whose caller was erased, blocked ones too.",
  conversation_sessions: "Conversations that were deleted.",
  deliveries: "Deliveries of webhooks whose contents were erased.",
  archives: "Files of the archive that were deleted.",
  blacklist_entries: "Entries of the blacklist with the number itself, in whose place its hash is kept.",
} as const;
/** A kind of thing that an erasure counts. */
export type ErasedKind = keyof typeof COUNTED;
/** Every such kind. */
export const ERASED_KINDS = Object.keys(COUNTED) as ErasedKind[];
/** How many of each kind were erased; absent: none. */
export type ErasedCounts = Partial<Record<ErasedKind, number>>;

const count = (text: string) => described(text, Type.Integer({ minimum: 0 }));
const ErasedFields = Type.Object({
  leads_aborted: count(COUNTED.leads_aborted),
  leads: count(COUNTED.leads),
  events: count(COUNTED.events),
  calls: count(COUNTED.calls),
  recordings: count(COUNTED.recordings),
  carrier_callbacks: count(COUNTED.carrier_callbacks),
  inbound_calls: count(COUNTED.inbound_calls),
  conversation_sessions: count(COUNTED.conversation_sessions),
  deliveries: count(COUNTED.deliveries),
  archives: count(COUNTED.archives),
  blacklist_entries: count(COUNTED.blacklist_entries),
});

/** What one service is to erase: all that it has of these leads, and all that it has of the number itself in this scope (null: every tenant's). Every service that keeps such things has this action, by this name. Idempotent. */
export const eraseNumber = [
  Strict({
    erasure_id: Uuid,
    reseller_id: Nullable(Text(64)),
    merchant_id: Nullable(Text(64)),
    phone_number: E164,
    lead_ids: Type.Array(Uuid, { maxItems: LEADS_PER_ERASURE }),
    /** Where the archive has the number, for the one who keeps the archive. */
    archive_folders: ErasedFolders,
  }),
  /** `waiting`: those of the leads of which something is still under way, so that nothing of them was erased. `pending`: something of the number itself is. */
  Type.Object({
    erased: Type.Partial(ErasedFields),
    waiting: Type.Array(Uuid, { maxItems: LEADS_PER_ERASURE }),
    pending: Type.Boolean(),
  }),
] as const;

/** The states of an erasure. */
export const ERASURE_STATES = ["running", "done"] as const;
const ErasureState = valued(ERASURE_STATES, {
  running: "It is under way. The number is refused already.",
  done: "Everything is erased; what was counted is final.",
});

/** An erasure and its report. */
export const ErasureRecord = named(
  "Erasure",
  "The erasure of all that is known of one phone number, and the report of it. The number itself is not in it.",
  Type.Object({
    id: described("Id of the erasure.", Id),
    reseller_id: described(
      "The reseller whose records are erased, with its merchants'; null: every tenant's.",
      Nullable(Id),
    ),
    merchant_id: described("The merchant whose records alone are erased; null: all of the reseller's.", Nullable(Id)),
    state: ErasureState,
    waiting: described(
      "Leads whose call, report or recording was still under way when they were looked at last; they are erased when it is over.",
      Type.Integer({ minimum: 0 }),
    ),
    held_by: described(
      "The legal hold that was put meanwhile and keeps the erasure from going on; null: none does.",
      Nullable(Id),
      { example: null },
    ),
    erased: described("What was erased so far, by kind.", ErasedFields),
    requested_by: described(
      "Who asked for it.",
      Type.Object({
        kind: AskerKind,
        id: described("Id of the person or token.", Id),
        role: described("The role at that time.", RoleEnum),
      }),
    ),
    created_at: described("When it was asked for.", IsoTime),
    finished_at: described("When it was done; null: it is not.", Nullable(IsoTime)),
  }),
);
export type ErasureRecord = Static<typeof ErasureRecord>;

/** A number that is to be erased. */
export const newErasure = [
  Strict({
    by: By,
    phone_number: described("The number, E.164.", PhoneText, { example: "+14155550123" }),
    reseller_id: Type.Optional(
      described("Whose records. Left out: the asker's own; an admin's erasure is of every tenant.", Text(64)),
    ),
  }),
  ErasureRecord,
] as const;

/** One erasure. */
export const oneErasure = [Strict({ by: By, id: described("Id of the erasure.", Text(64)) }), ErasureRecord] as const;

/** Erasures of a scope. */
export const erasureList = [
  Strict({
    by: By,
    state: Type.Optional(described("Only those in this state.", ErasureState)),
    reseller_id: OwnerFilter.reseller_id,
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    erasures: described("The erasures, newest first.", Type.Array(ErasureRecord)),
    next_cursor: NextCursor,
  }),
] as const;
