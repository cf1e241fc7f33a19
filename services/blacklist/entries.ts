import type { BlacklistEntry } from "../../shared/contracts/blacklist.ts";
import type { By } from "../../shared/contracts/identity.ts";
import { fail, type Fault } from "../../shared/errors.ts";
import { toE164 } from "../../shared/phone.ts";
import type { EntryDoc } from "./blacklist.model.ts";

const EVERYBODY = "*";

/** The id of an entry; `reseller_id` null: the entry that holds for everybody. */
export const entryId = (reseller_id: string | null, e164: string): string => `${reseller_id ?? EVERYBODY}:${e164}`;

/** The ids of the entries that would forbid a reseller to call a number: its own and everybody's. Another spelling of the number finds them too. */
export function forbiddingIds(pair: { reseller_id: string; phone_number: string }): [string, string] {
  const e164 = toE164(pair.phone_number) ?? pair.phone_number;
  return [entryId(pair.reseller_id, e164), entryId(null, e164)];
}

/** Whose list an asker writes: null is everybody's, an admin's. FORBIDDEN for roles that only read. */
export function listOf(by: By): string | null {
  if (by.role === "admin") return null;
  if (by.role === "reseller" && by.reseller_id) return by.reseller_id;
  return fail("FORBIDDEN", `The role ${by.role} may read the blacklist but not change it; use a token of role reseller.`);
}

/** The numbers in E.164, each once, in the order given. INVALID_PHONE_NUMBER names every bad one by its place. */
export function numbersOf(texts: readonly string[]): string[] {
  const numbers = new Set<string>();
  const errors: Fault[] = [];
  texts.forEach((text, i) => {
    const e164 = toE164(text);
    if (e164) numbers.add(e164);
    else errors.push({ path: `phone_numbers.${i}`, message: "is not a phone number in E.164, such as +14155550100" });
  });
  if (errors.length > 0) fail("INVALID_PHONE_NUMBER", `${errors.length} of ${texts.length} values are no valid phone numbers; nothing was listed. Correct or remove them.`, { errors });
  return [...numbers];
}

/** The number a list is narrowed to. INVALID_PHONE_NUMBER. */
export const soughtNumber = (text: string): string => toE164(text)
  ?? fail("INVALID_PHONE_NUMBER", "The filter phone_number is no valid phone number; write it in E.164 (in a URL the plus is %2B).",
    { errors: [{ path: "phone_number", message: "is not a phone number in E.164, such as +14155550100" }] });

/** An entry as it is shown. */
export const toEntry = (d: EntryDoc): BlacklistEntry => ({ phone_number: d.phone_number, reseller_id: d.reseller_id, created_at: d.created_at.toISOString() });
