import type { By, Role } from "../../../shared/contracts/records/identity.ts";
import type { Refusal } from "../tokens/token-rules.ts";

/** What a user belongs to: its role, and the reseller and merchant of that role. */
export interface UserScope {
  role: Role;
  reseller_id: string | null;
  merchant_id: string | null;
}

/** A change of scope; what is left out stays, unless the new role has no use for it. */
export interface ScopeChange {
  role?: Role | undefined;
  reseller_id?: string | null | undefined;
  merchant_id?: string | null | undefined;
}

const POWER: Record<Role, number> = { user: 0, merchant: 1, reseller: 2, admin: 3 };
/** What the roles belong to. */
const NEEDS: Record<Role, { reseller_id: boolean; merchant_id: boolean }> = {
  admin: { reseller_id: false, merchant_id: false },
  reseller: { reseller_id: true, merchant_id: false },
  merchant: { reseller_id: true, merchant_id: true },
  user: { reseller_id: true, merchant_id: true },
};

const forbidden = (detail: string): Refusal => ({ code: "FORBIDDEN", detail });

/**
 * Who manages users where: an admin anywhere, a reseller in its own reseller and of any role but admin, no other role. null: the scope is
 * allowed, once the ids are known to exist. Permission is judged before form.
 */
export function refuseScope(by: By, scope: UserScope): Refusal | null {
  if (by.role !== "admin" && by.role !== "reseller")
    return forbidden(`A token of role ${by.role} can't manage users; ask the reseller or an admin.`);
  if (by.role === "reseller" && scope.role === "admin")
    return forbidden("A reseller can't manage admins; ask an admin.");
  if (by.role === "reseller" && scope.reseller_id !== null && scope.reseller_id !== by.reseller_id) {
    return forbidden(
      "reseller_id names another reseller than your own; a reseller manages the users of its own scope only.",
    );
  }
  const errors = (["reseller_id", "merchant_id"] as const).flatMap((path) => {
    if (NEEDS[scope.role][path] === (scope[path] !== null)) return [];
    return [
      {
        path,
        message: NEEDS[scope.role][path]
          ? `is required for the role ${scope.role}`
          : `does not apply to the role ${scope.role}`,
      },
    ];
  });
  return errors.length === 0
    ? null
    : {
        code: "VALIDATION_FAILED",
        detail: `${errors.map((e) => `${e.path} ${e.message}`).join("; ")}.`,
        data: { errors },
      };
}

/** The scope after a change. */
export function changedScope(from: UserScope, change: ScopeChange): UserScope {
  const role = change.role ?? from.role;
  const kept = (field: "reseller_id" | "merchant_id"): string | null => (NEEDS[role][field] ? from[field] : null);
  return {
    role,
    reseller_id: change.reseller_id === undefined ? kept("reseller_id") : change.reseller_id,
    merchant_id: change.merchant_id === undefined ? kept("merchant_id") : change.merchant_id,
  };
}

/** Whether a change gives a user more than it had: a higher role, what belongs to another merchant or reseller, or access where it was switched off. */
export const widensAccess = (
  from: UserScope & { is_active: boolean },
  to: UserScope & { is_active: boolean },
): boolean => {
  const moved = (["reseller_id", "merchant_id"] as const).some(
    (field) => from[field] !== null && to[field] !== null && from[field] !== to[field],
  );
  return moved || POWER[to.role] > POWER[from.role] || (to.is_active && !from.is_active);
};

/** Why this asker may not change the scope of this user so; null: it may. No user raises its own role, whatever its role could give to others. */
export function refuseScopeChange(by: By, user: UserScope & { _id: string }, to: UserScope): Refusal | null {
  if (by.kind === "user" && by.id === user._id && POWER[to.role] > POWER[user.role])
    return forbidden("You can't raise your own role; ask somebody who holds the higher one.");
  return refuseScope(by, user) ?? refuseScope(by, to);
}

/** Why this asker may not set this user's password; null: it may. One's own takes the old one, so that a stolen session can't keep the account. */
export const refusePassword = (by: By, id: string): Refusal | null =>
  by.kind === "user" && by.id === id
    ? forbidden("Your own password takes the current one; use POST /password to change it.")
    : null;

/** True for a user whose removal might leave the deployment without an admin. */
export const isActiveAdmin = (user: { role: Role; is_active: boolean }): boolean =>
  user.role === "admin" && user.is_active;
