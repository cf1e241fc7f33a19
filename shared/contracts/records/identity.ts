import { described, Id, IsoTime, named, Nullable, Strict, Text, Type, UpTo, valued, type Static } from "../define.ts";

/** What a person or a token may be. */
export const ROLES = ["admin", "reseller", "merchant", "user"] as const;
export type Role = (typeof ROLES)[number];
/** One of them as it travels. */
export const RoleEnum = named(
  "Role",
  "What a person or a token may do, and whose things it sees.",
  valued(ROLES, {
    admin: "The operator of the deployment: everything, of every tenant.",
    reseller: "One reseller with all its merchants.",
    merchant: "One merchant: reads and changes what is its own.",
    user: "One merchant: reads, pushes and aborts; changes no templates, configurations or numbers.",
  }),
);

/** A person or a program, as the asker of something. */
export const AskerKind = valued(["user", "s2s"], { user: "A person who logged in.", s2s: "A server-to-server token." });

const RESELLER = "Id of the reseller that owns it";
const MERCHANT = "Id of the merchant that owns it";
/** Whose a record is. */
export const Owner = {
  reseller_id: described(`${RESELLER}.`, Id),
  merchant_id: described(`${MERCHANT}; null: the reseller itself.`, Nullable(Id)),
};
/** When a record was made and changed. */
export const Stamps = {
  created_at: described("When it was created.", IsoTime),
  updated_at: described("When it was changed last.", IsoTime),
};
/** What a reader of a record should know: where, and what. As many as a person reads. */
export const Warnings = Type.Array(
  Type.Object({ path: described("Where.", UpTo(200)), message: described("What is wrong with it.", UpTo(1000)) }),
  { maxItems: 20 },
);
/** A reseller and a merchant that a request names. */
export const OwnerIds = {
  reseller_id: described(`${RESELLER}.`, Text(64)),
  merchant_id: described(`${MERCHANT}.`, Text(64)),
};
/** Whether something works. */
export const IsActive = described("Whether it is switched on.", Type.Boolean());

/** Longest proof. */
const MAX_PROOF_CHARS = 300;

/** The caller of an action: always an explicit parameter `by`, never something in ctx.meta. Admins have no scope; resellers no merchant. */
export const By = Strict({
  kind: AskerKind,
  id: Id,
  role: RoleEnum,
  reseller_id: Nullable(Id),
  merchant_id: Nullable(Id),
  /** Auth's signature of all of this (shared/bus/signatures.ts); there for who asked auth for it, and passed on. Never stored or logged. */
  proof: Type.Optional(Type.String({ maxLength: MAX_PROOF_CHARS })),
});
export type By = Static<typeof By>;

/** What a reader may see: null stands for "all". */
export interface Scope {
  reseller_id: string | null;
  merchant_id: string | null;
}

/** All there is. */
export const WHOLE_SCOPE: Scope = { reseller_id: null, merchant_id: null };

/** The scope that an asker's role gives. */
export const scopeOf = (by: By): Scope => {
  if (by.role === "admin") return WHOLE_SCOPE;
  return { reseller_id: by.reseller_id, merchant_id: by.role === "reseller" ? null : by.merchant_id };
};

/** True when something that belongs to this reseller and merchant lies inside the scope. A merchant-less thing is a reseller's. */
export const inScope = (scope: Scope, owner: { reseller_id: string | null; merchant_id?: string | null }): boolean =>
  (scope.reseller_id === null || scope.reseller_id === owner.reseller_id) &&
  (scope.merchant_id === null || scope.merchant_id === (owner.merchant_id ?? null));

/** The filter of a scope over documents that name their reseller and merchant; an admin's lets everything through. */
export const within = (scope: Scope): { reseller_id?: string; merchant_id?: string } => ({
  ...(scope.reseller_id === null ? {} : { reseller_id: scope.reseller_id }),
  ...(scope.merchant_id === null ? {} : { merchant_id: scope.merchant_id }),
});

/** Items in a page when the client names no number. */
export const DEFAULT_PAGE = 50;

/** A page of a list. */
export const PageParams = {
  limit: Type.Optional(
    described(
      "Items in a page, at most; where they are large a page has fewer.",
      Type.Integer({ minimum: 1, maximum: 500 }),
      {
        default: DEFAULT_PAGE,
      },
    ),
  ),
  cursor: Type.Optional(
    described(
      "Where the page begins: next_cursor of the page before. Left out: at the first item.",
      Type.String({ maxLength: 200 }),
    ),
  ),
};

/** How many items an answer has. */
export const Count = described("Items in this answer.", Type.Integer({ minimum: 0 }));
/** The cursor of the page after this one; null: this was the last. */
export const NextCursor = described(
  "The cursor of the page after this one; null: this was the last.",
  Nullable(UpTo(200)),
  { example: "eyJ2IjoxLCJpZCI6IjZiYzFiZWUyIn0" },
);

/** Texts of filters that narrow a list to one reseller or merchant of the asker's scope. */
const OF_RESELLER = "Only what belongs to this reseller, of those you may see.";
const OF_MERCHANT = "Only what belongs to this merchant, of those you may see.";
/** A list narrowed to one reseller or merchant of the asker's scope. */
export const OwnerFilter = {
  reseller_id: Type.Optional(described(OF_RESELLER, Text(64))),
  merchant_id: Type.Optional(described(OF_MERCHANT, Text(64))),
};
/** A list narrowed to one template. */
export const OfTemplate = Type.Optional(described("Only what belongs to this template.", Text(64)));
/** A period by the time of creation. */
export const Period = {
  from: Type.Optional(described("Only what was created at this time or later.", IsoTime)),
  to: Type.Optional(described("Only what was created before this time.", IsoTime)),
};
