import {
  action,
  IsoTime,
  Json,
  NOT_BLANK,
  Nothing,
  Nullable,
  Strict,
  Text,
  Type,
  type Static,
  Id,
  UpTo,
  Label,
} from "./define.ts";
import { By, NextCursor, OwnerFilter, PageParams, ROLES } from "./records/identity.ts";

const User = Type.Object({
  id: Id,
  email: UpTo(254),
  role: Type.Enum([...ROLES]),
  reseller_id: Nullable(Id),
});

/** Who issued a token or gave a user its password. */
const Issuer = Type.Object({ kind: Type.Enum(["user", "s2s"]), id: Id });

/** A password to be set: some characters of it are no blanks. */
const Password = Type.String({ minLength: 12, maxLength: 1024, pattern: NOT_BLANK });
const Email = Type.String({ minLength: 3, maxLength: 254, format: "email" });

/** The password of a user that exists: what is wrong about it is said by INVALID_CREDENTIALS. */
const GivenPassword = Type.String({ minLength: 1, maxLength: 1024 });
/** A bearer token as it was presented. */
const BearerToken = Type.String({ minLength: 1, maxLength: 8192 });

/** A person with a login. Roles: an admin has no reseller, a reseller no merchant, merchant and user have both. The password is never returned. */
export const UserRecord = Type.Object({
  id: Id,
  email: UpTo(254),
  role: Type.Enum([...ROLES]),
  reseller_id: Nullable(Id),
  merchant_id: Nullable(Id),
  is_active: Type.Boolean(),
  created_at: IsoTime,
  updated_at: IsoTime,
  /** Who made the user or set its password last, other than the user itself. Absent: unknown. */
  access_given_by: Type.Optional(Issuer),
});
export type UserRecord = Static<typeof UserRecord>;

const TokenRole = Type.Enum(["reseller", "merchant", "user"]);

/** A server-to-server token as it is listed: `prefix` is the part by which a person knows it again; the token itself is not stored. */
export const S2sTokenRecord = Type.Object({
  id: Id,
  prefix: UpTo(32),
  name: UpTo(200),
  role: TokenRole,
  reseller_id: Id,
  merchant_id: Nullable(Id),
  created_at: IsoTime,
  last_seen_at: Nullable(IsoTime),
  expires_at: IsoTime,
  revoked_at: Nullable(IsoTime),
  issued_by: Type.Optional(Issuer),
  /** The token with whose revocation this one was revoked. */
  revoked_with: Type.Optional(Id),
});
export type S2sTokenRecord = Static<typeof S2sTokenRecord>;

/** What was done, as `<kind of thing>.<done>`: `token.issued`, `token.used`, `token.revoked`, `user.created`, `user.updated`, `user.deleted`, `lead.aborted`,
 *  `blacklist.added`, `blacklist.removed`, `configuration.created`, `configuration.updated`, `configuration.deleted`,
 *  `merchant.created`, `merchant.deleted`, `reseller.created`, `reseller.deleted`, `webhook_secret.read`, `user.logged_in`, `user.logged_out`, `user.password_changed`, `recording.downloaded`, `delivery.replayed`,
 *  `number.created`, `number.updated`, `number.allotted` and `number.withdrawn` (for whom it is allotted to, and taken from), `number.deleted`, and the like for other things. */
const AuditAction = Type.String({ pattern: "^[a-z0-9_]{1,32}\\.[a-z0-9_]{1,32}$" });

/** Most keys of an entry's details. */
const MAX_DETAILS = 50;

/** An entry of the audit log: actor, action and resource, and its owner (null: none). */
export const AuditRecord = Type.Object({
  id: Id,
  actor: Type.Object({ kind: Type.Enum(["user", "s2s"]), id: Id, role: Type.Enum([...ROLES]) }),
  action: UpTo(65),
  subject: UpTo(200),
  reseller_id: Nullable(Id),
  merchant_id: Nullable(Id),
  details: Json,
  at: IsoTime,
});
export type AuditRecord = Static<typeof AuditRecord>;

/** What a log-in gives. */
export const LoggedIn = Type.Object({ access_token: UpTo(4096), token_type: Type.Literal("bearer"), user: User });
export type LoggedIn = Static<typeof LoggedIn>;

/** Identity: users, tokens of programs, and the audit log of both. */
export const auth = {
  name: "auth",
  actions: {
    /** E-mail and password for a short-lived JWT. INVALID_CREDENTIALS says no more than that. `address`: the client's, as the gateway sees it. */
    login: action(
      Strict({
        email: Email,
        password: GivenPassword,
        address: Type.Optional(Text(64)),
      }),
      LoggedIn,
    ),
    /** Ends the session of the access token, on every node within 5 s. UNAUTHENTICATED for one that is not valid, FORBIDDEN for a server-to-server token. */
    logOut: action(Strict({ token: BearerToken }), Nothing, { since: "0.3.0" }),
    /**
     * A new password for the user whose access token this is, who proves it with the old one as at a log-in: INVALID_CREDENTIALS, RATE_LIMITED, BUSY.
     * Ends all the user's sessions and begins one. VALIDATION_FAILED where the new password is the old one, UNAUTHENTICATED and FORBIDDEN as logOut.
     */
    changePassword: action(
      Strict({
        token: BearerToken,
        current_password: GivenPassword,
        new_password: Password,
        address: Type.Optional(Text(64)),
      }),
      LoggedIn,
      { since: "0.3.0" },
    ),
    /** Issues an opaque token; only its hash is kept. FORBIDDEN, RESELLER_UNKNOWN, VALIDATION_FAILED. */
    issueS2s: action(
      Strict({
        by: By,
        name: Label(200),
        role: TokenRole,
        reseller_id: Text(64),
        merchant_id: Type.Optional(Text(64)),
      }),
      Type.Object({
        token: UpTo(200),
        name: UpTo(200),
        role: UpTo(16),
        reseller_id: Id,
        merchant_id: Nullable(Id),
        created_at: IsoTime,
      }),
    ),
    /** Tokens of the asker's scope, revoked and expired ones too. */
    listS2s: action(
      Strict({
        by: By,
        role: Type.Optional(TokenRole),
        issued_by: Type.Optional(Text(64)),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), s2s_tokens: Type.Array(S2sTokenRecord), next_cursor: NextCursor }),
    ),
    /**
     * Revokes a token for good, on every node within 5 s, and with it what it gave access to: the tokens it issued and the users it made or whose password
     * it set, and theirs; not with `keep_issued`. Idempotent. TOKEN_NOT_FOUND when it is unknown or foreign.
     */
    revokeS2s: action(Strict({ by: By, id: Text(64), keep_issued: Type.Optional(Type.Boolean()) }), Nothing),
    /** FORBIDDEN outside the asker's reseller and for the role admin; VALIDATION_FAILED, EMAIL_EXISTS, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, BUSY. */
    createUser: action(
      Strict({
        by: By,
        email: Email,
        password: Password,
        role: Type.Enum([...ROLES]),
        reseller_id: Type.Optional(Nullable(Text(64))),
        merchant_id: Type.Optional(Nullable(Text(64))),
      }),
      UserRecord,
    ),
    listUsers: action(
      Strict({
        by: By,
        role: Type.Optional(Type.Enum([...ROLES])),
        email: Type.Optional(Type.String({ minLength: 1, maxLength: 254 })),
        ...OwnerFilter,
        is_active: Type.Optional(Type.Boolean()),
        access_given_by: Type.Optional(Text(64)),
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), users: Type.Array(UserRecord), next_cursor: NextCursor }),
    ),
    /** USER_NOT_FOUND when it is unknown or foreign. */
    getUser: action(Strict({ by: By, id: Text(64) }), UserRecord),
    /** A new password and switching off end the user's access tokens. As createUser; FORBIDDEN for one's own password, RESOURCE_IN_USE for the last active admin. */
    updateUser: action(
      Strict({
        by: By,
        id: Text(64),
        email: Type.Optional(Email),
        password: Type.Optional(Password),
        role: Type.Optional(Type.Enum([...ROLES])),
        reseller_id: Type.Optional(Nullable(Text(64))),
        merchant_id: Type.Optional(Nullable(Text(64))),
        is_active: Type.Optional(Type.Boolean()),
      }),
      UserRecord,
    ),
    /** USER_NOT_FOUND when it is unknown or foreign, FORBIDDEN by role, RESOURCE_IN_USE for the last active admin. */
    deleteUser: action(Strict({ by: By, id: Text(64) }), Nothing),
    /** The identity behind a bearer token; UNAUTHENTICATED otherwise, also when its user, merchant or reseller is switched off or gone.
     *  The gateway may cache the answer for less than 5 s from asking. `proof`: the answer is to hold auth's signature, which gateways of 0.2.0 do not know. */
    identify: action(Strict({ token: BearerToken, proof: Type.Optional(Type.Boolean()) }), By),
    /** Internal: writes an entry of the audit log, for good; called after the action. `subject` is the id of the thing (a lead, a user, …);
     *  reseller_id and merchant_id name its owner; `details` hold no secret, no transcript and no full phone number. */
    record: action(
      Strict({
        by: By,
        action: AuditAction,
        subject: Text(200),
        reseller_id: Nullable(Text(64)),
        merchant_id: Nullable(Text(64)),
        details: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: MAX_DETAILS })),
      }),
      Nothing,
    ),
    /** Entries of the asker's reseller (an admin: all), newest first; `from` inclusive, `to` exclusive. */
    listAudit: action(
      Strict({
        by: By,
        action: Type.Optional(AuditAction),
        subject: Type.Optional(Text(200)),
        reseller_id: Type.Optional(Text(64)),
        from: Type.Optional(IsoTime),
        to: Type.Optional(IsoTime),
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), entries: Type.Array(AuditRecord), next_cursor: NextCursor }),
    ),
  },
  events: {},
};
