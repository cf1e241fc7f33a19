import type { By, Role } from "../../../shared/contracts/identity.ts";
import type { Refusal } from "../tokens/token-rules.ts";

/** Where a user stands: its role, and whose it is. */
export interface Place {
  role: Role;
  reseller_id: string | null;
  merchant_id: string | null;
}

/** A change of place; what is left out stays, unless the new role has no use for it. */
export interface Move {
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
 * Who may have users where: an admin anywhere, a reseller those of its own reseller and of any role but admin, nobody else. null: the place is
 * in order, once the ids are known to exist. Permission is judged before form.
 */
export function refusePlace(by: By, place: Place): Refusal | null {
  if (by.role !== "admin" && by.role !== "reseller")
    return forbidden(`A token of role ${by.role} can't manage users; ask the reseller or an admin.`);
  if (by.role === "reseller" && place.role === "admin")
    return forbidden("A reseller can't manage admins; ask an admin.");
  if (by.role === "reseller" && place.reseller_id !== null && place.reseller_id !== by.reseller_id) {
    return forbidden(
      "reseller_id names another reseller than your own; a reseller manages the users of its own scope only.",
    );
  }
  const errors = (["reseller_id", "merchant_id"] as const).flatMap((path) => {
    if (NEEDS[place.role][path] === (place[path] !== null)) return [];
    return [
      {
        path,
        message: NEEDS[place.role][path]
          ? `is required for the role ${place.role}`
          : `does not apply to the role ${place.role}`,
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

/** The place after a move. */
export function moved(from: Place, move: Move): Place {
  const role = move.role ?? from.role;
  const kept = (field: "reseller_id" | "merchant_id"): string | null => (NEEDS[role][field] ? from[field] : null);
  return {
    role,
    reseller_id: move.reseller_id === undefined ? kept("reseller_id") : move.reseller_id,
    merchant_id: move.merchant_id === undefined ? kept("merchant_id") : move.merchant_id,
  };
}

/** Why this asker may not move this user so; null: it may. Nobody gives itself more power, whatever its role could give to others. */
export function refuseMove(by: By, user: Place & { _id: string }, to: Place): Refusal | null {
  if (by.kind === "user" && by.id === user._id && POWER[to.role] > POWER[user.role])
    return forbidden("You can't raise your own role; ask somebody who holds the higher one.");
  return refusePlace(by, user) ?? refusePlace(by, to);
}

/** True for a user whose going might leave nobody to run the deployment. */
export const isActiveAdmin = (user: { role: Role; is_active: boolean }): boolean =>
  user.role === "admin" && user.is_active;
