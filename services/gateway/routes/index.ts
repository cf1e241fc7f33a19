import { accounts } from "./accounts.ts";
import { campaigns } from "./campaigns.ts";
import { leads } from "./leads.ts";
import { numbers } from "./numbers.ts";
import { privacy } from "./privacy.ts";
import { results } from "./results.ts";
import type { Row } from "./row.ts";
import { tenants } from "./tenants.ts";
import { webhooks } from "./webhooks.ts";

/** The whole API, and with it the role matrix. The order is that of the documentation. */
export const ROUTES: readonly Row[] = [
  ...accounts,
  ...tenants,
  ...campaigns,
  ...numbers,
  ...leads,
  ...results,
  ...webhooks,
  ...privacy,
];

/** Rows in the order the router must try them: a literal segment goes before a parameter in the same position. */
export function inMatchingOrder(rows: readonly Row[]): Row[] {
  const key = (path: string): string =>
    path
      .split("/")
      .map((part) => (part.startsWith("{") ? "1" : "0"))
      .join("");
  return [...rows].sort((a, b) => key(a.path).localeCompare(key(b.path)));
}
