import { action, IsoTime, Json, Nothing, Nullable, Strict, Text, Type, type Static } from "./define.ts";
import { By, PageParams, ROLES } from "./identity.ts";

const User = Type.Object({ id: Type.String(), email: Type.String(), role: Type.Enum([...ROLES]), reseller_id: Nullable(Type.String()) });

/** What was done, as `<kind of thing>.<done>`: `token.issued`, `token.used`, `token.revoked`, `user.created`, `user.updated`, `user.deleted`, `lead.aborted`,
 *  `blacklist.added`, `blacklist.removed`, `configuration.created`, `configuration.updated`, `configuration.deleted`, and the like for other things. */
const AuditAction = Type.String({ pattern: "^[a-z0-9_]{1,32}\\.[a-z0-9_]{1,32}$" });

/** Most keys of an entry's details. */
const MAX_DETAILS = 50;

/** An entry of the audit log: who did what to which thing, and whose the thing is (null: nobody's in particular). */
export const AuditRecord = Type.Object({
  id: Type.String(), actor: Type.Object({ kind: Type.Enum(["user", "s2s"]), id: Type.String(), role: Type.Enum([...ROLES]) }),
  action: Type.String(), subject: Type.String(), reseller_id: Nullable(Type.String()), merchant_id: Nullable(Type.String()), details: Json, at: IsoTime,
});
export type AuditRecord = Static<typeof AuditRecord>;

/** Identity: people who log in, tokens of programs, and the log of what was done with either. */
export const auth = {
  name: "auth",
  actions: {
    /** E-mail and password for a short-lived JWT. INVALID_CREDENTIALS says no more than that. */
    login: action(
      Strict({ email: Type.String({ minLength: 3, maxLength: 254, format: "email" }), password: Type.String({ minLength: 1, maxLength: 1024 }) }),
      Type.Object({ access_token: Type.String(), token_type: Type.Literal("bearer"), user: User }),
    ),
    /** Issues an opaque token; only its hash is kept. FORBIDDEN, RESELLER_UNKNOWN, VALIDATION_FAILED. */
    issueS2s: action(
      Strict({
        by: By, name: Text(200), role: Type.Enum(["reseller", "merchant", "user"]),
        reseller_id: Text(64), merchant_id: Type.Optional(Text(64)),
      }),
      Type.Object({
        token: Type.String(), name: Type.String(), role: Type.String(), reseller_id: Type.String(),
        merchant_id: Nullable(Type.String()), created_at: IsoTime,
      }),
    ),
    /** Who a bearer token stands for; UNAUTHENTICATED otherwise. The gateway may remember the answer for 5 s. */
    identify: action(Strict({ token: Type.String({ minLength: 1, maxLength: 8192 }) }), By),
    /** Internal: writes an entry of the audit log, for good; to be called after the deed. `subject` is the id of the thing (a lead, a user, …);
     *  reseller_id and merchant_id say whose it is; `details` hold no secret, no transcript and no full phone number. */
    record: action(
      Strict({
        by: By, action: AuditAction, subject: Text(200), reseller_id: Nullable(Text(64)), merchant_id: Nullable(Text(64)),
        details: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_DETAILS })),
      }), Nothing),
    /** Entries of the asker's reseller (an admin: all), newest first; `from` inclusive, `to` exclusive. */
    listAudit: action(
      Strict({
        by: By, action: Type.Optional(AuditAction), subject: Type.Optional(Text(200)), reseller_id: Type.Optional(Text(64)),
        from: Type.Optional(IsoTime), to: Type.Optional(IsoTime), ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), entries: Type.Array(AuditRecord), next_cursor: Nullable(Type.String()) })),
  },
  events: {},
};
