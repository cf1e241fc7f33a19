import { action, described, IsoTime, named, Nothing, Nullable, Strict, Text, Type, UpTo } from "../define.ts";
import { By, OwnerFilter } from "../records/identity.ts";
import { LeadId } from "../records/lead.ts";
import { CloudEvent } from "./event-type.ts";

/** Most events of a page. */
export const MAX_EVENTS_PAGE = 500;
/** Most leads that one hint names. */
export const MAX_LEADS_OWED = 1000;
/** Most resellers that one hint names. */
export const MAX_RESELLERS_TOLD = 50;
/** Most objects, and most events of each, that one message hands over. */
export const MAX_OBJECTS_TAKEN = 100;
export const MAX_EVENTS_TAKEN = 50;
/** Longest cursor of events. */
const MAX_CURSOR = 16;

const Limit = Type.Optional(
  described("Most events of the page.", Type.Integer({ minimum: 1, maximum: MAX_EVENTS_PAGE }), { default: 50 }),
);
/** The `after` of who wants nothing but what happens from now on; no cursor is written so. */
export const FROM_NOW_ON = "end";
const After = Type.Optional(
  described(
    `The cursor of the last event that was read, or next_cursor of the last page; ${FROM_NOW_ON}: from now on; without it the answer begins with the oldest event that is kept.`,
    Text(MAX_CURSOR),
    { example: "cDNtdg" },
  ),
);
const Cursor = UpTo(MAX_CURSOR);
const Followed = {
  events: described(
    "Events in their order.",
    Type.Array(
      named(
        "FollowedEvent",
        "An event, and the cursor by which reading goes on behind it.",
        Type.Object({
          cursor: described(
            "Names the place of the event in this list: what `after` or Last-Event-ID goes on behind.",
            Cursor,
            { example: "cDNtdg" },
          ),
          event: CloudEvent,
        }),
      ),
    ),
  ),
  next_cursor: described("Where to go on: as `after` of the next request, at once or later.", Cursor, {
    example: "cDNtdg",
  }),
  more: described("Whether there are further events now.", Type.Boolean()),
  expired: described("Whether events behind `after` are no longer kept, and so were missed.", Type.Boolean()),
};

const Position = Type.Integer({ minimum: 0 });

/** The actions of the leads service by which events are read, and come in from other services. */
export const eventActions = {
  /** Events of a lead in their order, as far back as the log goes; a cursor is a word of this list. LEAD_NOT_FOUND, VALIDATION_FAILED. */
  events: action(
    Strict({ by: By, lead_id: LeadId, after: After, limit: Limit }),
    Type.Object({ lead_id: LeadId, ...Followed }),
    {
      since: "0.3.0",
    },
  ),
  /** Events of the asker's scope in the order of the log; a cursor is a word of this list. VALIDATION_FAILED. */
  listEvents: action(Strict({ by: By, after: After, limit: Limit }), Type.Object(Followed), { since: "0.3.0" }),
  /**
   * Internal, read only: events of all, or of a tenant, behind a position; `after` null: none, but where the log ends. `next`: the position up to which
   * all there is was given, to ask with again; `more`: at once. `expired`: some behind `after` are not kept any more.
   */
  eventsAfter: action(
    Strict({ after: Nullable(Position), limit: Limit, ...OwnerFilter }),
    Type.Object({
      events: Type.Array(Type.Object({ position: Position, event: CloudEvent })),
      next: Position,
      more: Type.Boolean(),
      expired: Type.Boolean(),
    }),
    { since: "0.3.0" },
  ),
  /**
   * Internal: takes events of objects that are no leads over, to publish them; each object's in their order. Again: those that were taken are passed over. What was taken is
   * published whatever happens to its owner.
   */
  takeEvents: action(
    Strict({
      objects: Type.Array(
        Strict({
          subject: Type.String({ pattern: "^[a-z]+:.+$", maxLength: 80 }),
          events: Type.Array(
            Strict({
              seq: Type.Integer({ minimum: 1 }),
              type: Text(40),
              at: IsoTime,
              reseller_id: Nullable(Text(64)),
              merchant_id: Nullable(Text(64)),
              template_id: Nullable(Text(64)),
              data: Type.Record(UpTo(64), Type.Unknown()),
            }),
            { minItems: 1, maxItems: MAX_EVENTS_TAKEN },
          ),
        }),
        { minItems: 1, maxItems: MAX_OBJECTS_TAKEN },
      ),
    }),
    Nothing,
    { since: "0.3.0" },
  ),
};
