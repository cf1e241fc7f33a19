import { Nullable, Strict, Text, Type, type Static, Id, UpTo } from "../define.ts";

/** What a person or a token may be. */
export const ROLES = ["admin", "reseller", "merchant", "user"] as const;
export type Role = (typeof ROLES)[number];

/** Longest proof. */
const MAX_PROOF_CHARS = 300;

/** The caller of an action: always an explicit parameter `by`, never something in ctx.meta. Admins have no scope; resellers no merchant. */
export const By = Strict({
  kind: Type.Enum(["user", "s2s"]),
  id: Id,
  role: Type.Enum([...ROLES]),
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

/** Page of a list: `limit` 1–500, `cursor` as the page before gave it. */
export const PageParams = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
  cursor: Type.Optional(Type.String({ maxLength: 200 })),
};

/** The cursor of the page after this one; null: this was the last. */
export const NextCursor = Nullable(UpTo(200));

/** A list narrowed to one reseller or merchant of the asker's scope. */
export const OwnerFilter = { reseller_id: Type.Optional(Text(64)), merchant_id: Type.Optional(Text(64)) };

/** Items in a page when the client names no number. */
export const DEFAULT_PAGE = 50;
