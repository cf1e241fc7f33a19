import {
  action,
  described,
  describedAs,
  Id,
  IsoTime,
  Label,
  named,
  NOT_BLANK,
  Nothing,
  Nullable,
  Strict,
  Text,
  Type,
  UpTo,
  valued,
  type Static,
} from "./define.ts";
import { AuditAction, auditList, MAX_DETAILS, RunDetails } from "./requests/audit-requests.ts";
import { AskerKind, By, Count, NextCursor, OwnerFilter, PageParams, RoleEnum, Stamps } from "./records/identity.ts";

/** Id of a token, as an example. */
const TOKEN_ID = "0b8e4f6e-7a39-4c53-9d0f-2a2b6a3a1c11";

const ofUser = {
  email: described(
    "The e-mail address that the person logs in with.",
    Type.String({ minLength: 3, maxLength: 254, format: "email" }),
    {
      example: "you@example.com",
    },
  ),
  role: described("What the person may do.", RoleEnum),
  reseller_id: described("The reseller whose things the person sees; null for admins.", Nullable(Text(64))),
  merchant_id: described(
    "The merchant whose things the person sees; null for admins and resellers.",
    Nullable(Text(64)),
  ),
  is_active: described("false: the person can't log in.", Type.Boolean()),
};
const shown = describedAs(ofUser, {
  id: described("Id of the user.", Id),
  email: UpTo(254),
  role: RoleEnum,
  reseller_id: Nullable(Id),
});
const User = named("LoggedInUser", "Who logged in.", Type.Object(shown));

/** Who issued a token or gave a user its password. */
const Issuer = named(
  "Issuer",
  "The person or token that gave an access.",
  Type.Object({ kind: AskerKind, id: described("Its id.", Id) }),
);

/** A password to be set: some characters of it are no blanks. */
const Password = Type.String({ minLength: 12, maxLength: 1024, pattern: NOT_BLANK });
const FirstPassword = described("The password; it is never shown again.", Password, {
  example: "a long first password",
});

/** The password of a user that exists: what is wrong about it is said by INVALID_CREDENTIALS. */
const GivenPassword = Type.String({ minLength: 1, maxLength: 1024 });
/** A bearer token as it was presented. */
const BearerToken = Type.String({ minLength: 1, maxLength: 8192 });

/** A person with a login. Roles: an admin has no reseller, a reseller no merchant, merchant and user have both. The password is never returned. */
export const UserRecord = named(
  "User",
  "A person with a log-in.",
  Type.Object(
    describedAs(ofUser, {
      ...shown,
      merchant_id: Nullable(Id),
      is_active: Type.Boolean(),
      ...Stamps,
      access_given_by: Type.Optional(
        described("Who made the user or set its password last, other than the user itself. Absent: unknown.", Issuer),
      ),
    }),
  ),
);
export type UserRecord = Static<typeof UserRecord>;

const TokenRole = valued(["reseller", "merchant", "user"], {
  reseller: "One reseller with all its merchants.",
  merchant: "One merchant.",
  user: "One merchant: reads, pushes and aborts.",
});
const ofToken = {
  name: described("What it is for; the audit log shows it.", Label(200), { example: "order system" }),
  role: described("What whoever has it may do.", TokenRole),
  reseller_id: described("The reseller that it works for.", Text(64)),
  merchant_id: described("The merchant that it works for; null for role reseller.", Nullable(Id)),
};

/** A server-to-server token as it is listed: `prefix` is the part by which a person knows it again; the token itself is not stored. */
export const S2sTokenRecord = named(
  "Token",
  "A server-to-server token, without the token itself, which is not stored.",
  Type.Object(
    describedAs(ofToken, {
      id: described("Id of the token.", Id),
      prefix: described("Its beginning, by which a person knows it again.", UpTo(32)),
      name: UpTo(200),
      role: TokenRole,
      reseller_id: Id,
      merchant_id: Nullable(Id),
      created_at: described("When it was issued.", IsoTime),
      last_seen_at: described("When it was used last, within minutes; null: never.", Nullable(IsoTime)),
      expires_at: described("Until when it works.", IsoTime),
      revoked_at: described("When it was revoked; null: it was not.", Nullable(IsoTime)),
      issued_by: Type.Optional(described("Who issued it. Absent: unknown.", Issuer)),
      revoked_with: Type.Optional(
        described("Id of the token with whose revocation this one was revoked.", Id, { example: TOKEN_ID }),
      ),
    }),
  ),
);
export type S2sTokenRecord = Static<typeof S2sTokenRecord>;

/** What a log-in gives. */
export const LoggedIn = named(
  "Session",
  "A session of a person.",
  Type.Object({
    access_token: described("A JWT for the header Authorization: Bearer, for minutes; then log in again.", UpTo(4096)),
    token_type: described("What kind of token it is.", Type.Literal("bearer")),
    user: described("Who logged in.", User),
  }),
);
export type LoggedIn = Static<typeof LoggedIn>;

const UserId = described("Id of the user.", Text(64));
const GivenBy = "Only those whose access this token or user gave.";

/** Identity: users, tokens of programs, and the audit log of both. */
export const auth = {
  name: "auth",
  actions: {
    /** E-mail and password for a short-lived JWT. INVALID_CREDENTIALS says no more than that. `address`: the client's, as the gateway sees it. */
    login: action(
      Strict({
        email: ofUser.email,
        password: described("The password.", GivenPassword),
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
        current_password: described("The password until now.", GivenPassword),
        new_password: described("The password from now on; another one.", Password),
        address: Type.Optional(Text(64)),
      }),
      LoggedIn,
      { since: "0.3.0" },
    ),
    /** Issues an opaque token; only its hash is kept. FORBIDDEN, RESELLER_UNKNOWN, VALIDATION_FAILED. */
    issueS2s: action(
      Strict({
        by: By,
        ...ofToken,
        merchant_id: Type.Optional(
          described("The merchant that it works for; needed for roles merchant and user.", Text(64)),
        ),
      }),
      named(
        "IssuedToken",
        "A new server-to-server token; it is shown this once.",
        Type.Object(
          describedAs(ofToken, {
            id: Type.Optional(described("Its id, to revoke it by. Absent: only while versions are mixed.", Id)),
            token: described("The token, for the header Authorization: Bearer. Store it as a secret.", UpTo(200)),
            name: UpTo(200),
            role: UpTo(16),
            reseller_id: Id,
            merchant_id: Nullable(Id),
            created_at: described("When it was issued.", IsoTime),
          }),
        ),
      ),
    ),
    /** Tokens of the asker's scope, revoked and expired ones too. */
    listS2s: action(
      Strict({
        by: By,
        role: Type.Optional(described("Only tokens of this role.", TokenRole)),
        issued_by: Type.Optional(
          described("Only tokens that this person or token issued.", Text(64), { example: TOKEN_ID }),
        ),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        s2s_tokens: described("The tokens.", Type.Array(S2sTokenRecord)),
        next_cursor: NextCursor,
      }),
    ),
    /**
     * Revokes a token for good, on every node within 5 s, and with it what it gave access to: the tokens it issued and the users it made or whose password
     * it set, and theirs; not with `keep_issued`. Idempotent. TOKEN_NOT_FOUND when it is unknown or foreign.
     */
    revokeS2s: action(
      Strict({
        by: By,
        id: described("Id of the token.", Text(64)),
        keep_issued: Type.Optional(
          described("true: what it gave access to goes on working.", Type.Boolean(), { default: false }),
        ),
      }),
      Nothing,
    ),
    /** FORBIDDEN outside the asker's reseller and for the role admin; VALIDATION_FAILED, EMAIL_EXISTS, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, BUSY. */
    createUser: action(
      Strict({
        by: By,
        email: ofUser.email,
        password: FirstPassword,
        role: ofUser.role,
        reseller_id: Type.Optional(ofUser.reseller_id),
        merchant_id: Type.Optional(ofUser.merchant_id),
      }),
      UserRecord,
    ),
    listUsers: action(
      Strict({
        by: By,
        role: Type.Optional(described("Only users of this role.", RoleEnum)),
        email: Type.Optional(
          described("Only the user with this address.", Type.String({ minLength: 1, maxLength: 254 })),
        ),
        ...OwnerFilter,
        is_active: Type.Optional(described("Only users that can log in, or only the others.", Type.Boolean())),
        access_given_by: Type.Optional(described(GivenBy, Text(64), { example: TOKEN_ID })),
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        users: described("The users.", Type.Array(UserRecord)),
        next_cursor: NextCursor,
      }),
    ),
    /** USER_NOT_FOUND when it is unknown or foreign. */
    getUser: action(Strict({ by: By, id: UserId }), UserRecord),
    /** A new password and switching off end the user's access tokens. As createUser; FORBIDDEN for one's own password, RESOURCE_IN_USE for the last active admin. */
    updateUser: action(
      Strict({
        by: By,
        id: UserId,
        ...Type.Partial(Type.Object(ofUser)).properties,
        password: Type.Optional(described("A new password; it ends all sessions of the user.", Password)),
      }),
      UserRecord,
    ),
    /** USER_NOT_FOUND when it is unknown or foreign, FORBIDDEN by role, RESOURCE_IN_USE for the last active admin. */
    deleteUser: action(Strict({ by: By, id: UserId }), Nothing),
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
    /** Internal: writes an entry of what a service did by itself, as a person had set it up: `actor` is that person. */
    recordRun: action(
      Strict({
        actor: Strict({ kind: AskerKind, id: Text(64), role: RoleEnum }),
        action: AuditAction,
        subject: Text(200),
        reseller_id: Text(64),
        details: RunDetails,
      }),
      Nothing,
      { since: "0.3.0" },
    ),
    /** Entries of the asker's reseller (an admin: all), newest first; `from` inclusive, `to` exclusive. */
    listAudit: action(...auditList),
  },
  events: {},
};
