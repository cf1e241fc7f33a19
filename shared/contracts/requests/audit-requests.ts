import {
  described,
  Id,
  IsoTime,
  Json,
  named,
  Nullable,
  Strict,
  Text,
  Type,
  UpTo,
  upToBytes,
  type Static,
} from "../define.ts";
import { AskerKind, By, Count, NextCursor, OwnerFilter, PageParams, Period, RoleEnum } from "../records/identity.ts";

/** What was done, as `<kind of thing>.<done>`: `token.issued`, `token.used`, `token.revoked`, `user.created`, `user.updated`, `user.deleted`, `lead.aborted`,
 *  `blacklist.added`, `blacklist.removed`, `configuration.created`, `configuration.updated`, `configuration.deleted`,
 *  `merchant.created`, `merchant.deleted`, `reseller.created`, `reseller.deleted`, `webhook_secret.read`, `user.logged_in`, `user.logged_out`, `user.password_changed`, `recording.downloaded`, `delivery.replayed`,
 *  `number.created`, `number.updated`, `number.allotted` and `number.withdrawn` (for whom it is allotted to, and taken from), `number.deleted`, and the like for other things. */
export const AuditAction = Type.String({ pattern: "^[a-z0-9_]{1,32}\\.[a-z0-9_]{1,32}$" });
const WHAT_WAS_DONE =
  "What was done, as <kind of thing>.<done>: token.issued, user.updated, lead.aborted, and the like.";

/** Most keys of an entry's details. */
export const MAX_DETAILS = 50;
/** Details of what a service did by itself. */
export const RunDetails = Type.Record(Type.String(), Type.Unknown(), {
  maxProperties: MAX_DETAILS,
  ...upToBytes(4096),
});

/** An entry of the audit log: actor, action and resource, and its owner (null: none). */
export const AuditRecord = named(
  "AuditEntry",
  "An entry of the audit log: who did what, when.",
  Type.Object({
    id: described("Id of the entry.", Id),
    actor: described(
      "Who did it.",
      Type.Object({
        kind: AskerKind,
        id: described("Id of the person or token.", Id),
        role: described("The role at that time.", RoleEnum),
      }),
    ),
    action: described(WHAT_WAS_DONE, UpTo(65), { example: "lead.aborted" }),
    subject: described("Id of the thing it was done to.", UpTo(200)),
    reseller_id: described("The thing's reseller; null: none.", Nullable(Id)),
    merchant_id: described("The thing's merchant; null: none.", Nullable(Id)),
    details: described("What else is known; no secret, no transcript, no full phone number.", Json),
    at: described("When.", IsoTime),
  }),
);
export type AuditRecord = Static<typeof AuditRecord>;

/** A page of the audit log by filters. */
export const auditList = [
  Strict({
    by: By,
    action: Type.Optional(described(`Only this. ${WHAT_WAS_DONE}`, AuditAction, { example: "lead.aborted" })),
    subject: Type.Optional(described("Only what was done to the thing with this id.", Text(200))),
    reseller_id: OwnerFilter.reseller_id,
    ...Period,
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    entries: described("The entries, newest first.", Type.Array(AuditRecord)),
    next_cursor: NextCursor,
  }),
] as const;
