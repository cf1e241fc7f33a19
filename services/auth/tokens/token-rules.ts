import type { By, Role } from "../../../shared/contracts/records/identity.ts";
import type { ErrorCode, FailureData } from "../../../shared/errors.ts";

/** What a caller wants a server-to-server token for. */
export interface WantedToken {
  role: Exclude<Role, "admin">;
  reseller_id: string;
  merchant_id?: string | undefined;
}

/** Why a token is not issued. */
export interface Refusal {
  code: ErrorCode;
  detail: string;
  data?: FailureData;
}

/** Roles whose tokens act for one merchant. */
const MERCHANT_ROLES: readonly Role[] = ["merchant", "user"];

const invalid = (detail: string, message: string): Refusal => ({
  code: "VALIDATION_FAILED",
  detail,
  data: { errors: [{ path: "merchant_id", message }] },
});

/**
 * Who may issue where: an admin anywhere, a reseller inside its own reseller (any role but admin), no other role. null: it may be issued,
 * once the ids are known to exist. Permission is judged before form, so that a stranger learns nothing about what would have been valid.
 */
export function refuseIssue(by: By, wanted: WantedToken): Refusal | null {
  if (by.role !== "admin" && by.role !== "reseller") {
    return {
      code: "FORBIDDEN",
      detail: `A token of role ${by.role} can't issue tokens; ask the reseller or an admin.`,
    };
  }
  if (by.role === "reseller" && (by.reseller_id === null || by.reseller_id !== wanted.reseller_id)) {
    return {
      code: "FORBIDDEN",
      detail:
        "reseller_id names another reseller than your own; a reseller issues tokens for itself and its merchants only.",
    };
  }
  const forMerchant = MERCHANT_ROLES.includes(wanted.role);
  if (forMerchant && wanted.merchant_id === undefined)
    return invalid(`merchant_id is required for a token of role ${wanted.role}.`, "is required");
  if (!forMerchant && wanted.merchant_id !== undefined) {
    return invalid(
      "A token of role reseller acts for the whole reseller; leave merchant_id out, or ask for role merchant.",
      "does not apply to role reseller",
    );
  }
  return null;
}
