import type { By } from "../../../shared/contracts/identity.ts";
import type { Row } from "../routes/row.ts";

/** Why an asker is refused at a row; null: it may go on. What belongs to whom is judged by the owner of the thing, with the same `by`. */
export function refuse(row: Pick<Row, "roles">, by: By): string | null {
  if (row.roles === "public") return null;
  if (!row.roles.includes(by.role))
    return `A token of role ${by.role} can't do this; it takes one of role ${row.roles.join(", ")}.`;
  const scopeless =
    (by.role !== "admin" && by.reseller_id === null) ||
    ((by.role === "merchant" || by.role === "user") && by.merchant_id === null);
  return scopeless
    ? "The token's role needs a reseller or merchant that the token does not name; ask for a new one."
    : null;
}
