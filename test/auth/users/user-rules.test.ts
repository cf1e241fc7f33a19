import * as fc from "fast-check";
import {
  changedScope,
  refuseScopeChange,
  refuseScope,
  type UserScope,
} from "../../../services/auth/users/user-rules.ts";
import { ROLES } from "../../../shared/contracts/records/identity.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";

const place = (
  role: UserScope["role"],
  reseller_id: string | null = null,
  merchant_id: string | null = null,
): UserScope => ({
  role,
  reseller_id,
  merchant_id,
});

describe("who manages users where", () => {
  const askers = {
    admin: asAdmin,
    reseller: asReseller("r1"),
    merchant: asMerchant("r1", "m1"),
    user: asUser("r1", "m1"),
  };
  const rows: [keyof typeof askers, UserScope, string | null][] = [
    ["admin", place("admin"), null],
    ["admin", place("admin", "r1"), "VALIDATION_FAILED"],
    ["admin", place("reseller", "r2"), null],
    ["admin", place("reseller"), "VALIDATION_FAILED"],
    ["admin", place("reseller", "r1", "m1"), "VALIDATION_FAILED"],
    ["admin", place("merchant", "r2", "m2"), null],
    ["admin", place("merchant", "r2"), "VALIDATION_FAILED"],
    ["admin", place("user", null, "m2"), "VALIDATION_FAILED"],
    ["reseller", place("reseller", "r1"), null],
    ["reseller", place("merchant", "r1", "m1"), null],
    ["reseller", place("user", "r1", "m1"), null],
    ["reseller", place("user", "r1"), "VALIDATION_FAILED"],
    ["reseller", place("user", null, "m1"), "VALIDATION_FAILED"],
    ["reseller", place("admin"), "FORBIDDEN"],
    ["reseller", place("admin", "r1"), "FORBIDDEN"],
    ["reseller", place("reseller", "r2"), "FORBIDDEN"],
    ["reseller", place("user", "r2"), "FORBIDDEN"],
    ["merchant", place("user", "r1", "m1"), "FORBIDDEN"],
    ["user", place("user", "r1", "m1"), "FORBIDDEN"],
  ];
  test.each(rows)("%s, %j: %s", (asker, wanted, code) => {
    expect(refuseScope(askers[asker], wanted)?.code ?? null).toBe(code);
  });

  test("each missing id is named", () => {
    expect(refuseScope(asAdmin, place("user"))?.data?.errors).toEqual([
      { path: "reseller_id", message: "is required for the role user" },
      { path: "merchant_id", message: "is required for the role user" },
    ]);
  });
});

describe("changing the scope of a user", () => {
  const user = { _id: "u-1", ...place("user", "r1", "m1") };
  test.each([
    [{}, place("user", "r1", "m1")],
    [{ role: "merchant" }, place("merchant", "r1", "m1")],
    [{ role: "reseller" }, place("reseller", "r1")],
    [{ role: "admin" }, place("admin")],
    [{ merchant_id: "m2" }, place("user", "r1", "m2")],
    [{ role: "reseller", merchant_id: "m1" }, place("reseller", "r1", "m1")],
    [{ reseller_id: null }, place("user", null, "m1")],
  ] as const)("%j", (move, wanted) => {
    expect(changedScope(user, move)).toEqual(wanted);
  });

  test("a reseller can neither take over an admin nor move a user to another reseller", () => {
    expect(refuseScopeChange(asReseller("r1"), { _id: "a", ...place("admin") }, place("reseller", "r1"))?.code).toBe(
      "FORBIDDEN",
    );
    expect(refuseScopeChange(asReseller("r1"), user, place("user", "r2", "m2"))?.code).toBe("FORBIDDEN");
    expect(
      refuseScopeChange(asReseller("r1"), { _id: "x", ...place("user", "r2", "m2") }, place("user", "r1", "m1"))?.code,
    ).toBe("FORBIDDEN");
  });

  test("no user raises its own role, and only an admin makes admins or acts outside its reseller", () => {
    const role = fc.constantFrom(...ROLES);
    const anywhere = fc.record({
      role,
      reseller_id: fc.constantFrom("r1", "r2", null),
      merchant_id: fc.constantFrom("m1", null),
    });
    const power = { user: 0, merchant: 1, reseller: 2, admin: 3 };
    fc.assert(
      fc.property(role, anywhere, anywhere, fc.boolean(), (asking, from, to, self) => {
        const by = {
          kind: "user",
          id: self ? "u-1" : "u-2",
          role: asking,
          reseller_id: asking === "admin" ? null : "r1",
          merchant_id: null,
        } as const;
        if (refuseScopeChange(by, { _id: "u-1", ...from }, to) !== null) return true;
        if (self && power[to.role] > power[from.role]) return false;
        return (
          asking === "admin" ||
          (asking === "reseller" &&
            to.role !== "admin" &&
            from.role !== "admin" &&
            to.reseller_id === "r1" &&
            from.reseller_id === "r1")
        );
      }),
    );
  });
});
