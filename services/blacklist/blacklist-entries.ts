import type { BlacklistEntry } from "../../shared/contracts/blacklist.ts";
import type { ParamsOf } from "../../shared/bus/bus.ts";
import type { By } from "../../shared/contracts/records/identity.ts";
import { fail, type ValidationIssue } from "../../shared/errors.ts";
import { readNumber, toE164 } from "../../shared/phone.ts";
import { phoneOf, spellingsOf } from "../../shared/numbering/spellings.ts";
import type { NumberHash } from "../../shared/privacy/number-hash.ts";
import type { EntryDoc } from "./blacklist.model.ts";

const EVERYBODY = "*";

/** The id of an entry; `reseller_id` null: the entry that applies to every reseller. */
export const entryId = (reseller_id: string | null, e164: string): string => `${reseller_id ?? EVERYBODY}:${e164}`;

/** The id of what a callee asked of a merchant (null: of the reseller's own templates). */
export const wishId = (reseller_id: string, merchant_id: string | null, e164: string): string =>
  `wish:${reseller_id}/${merchant_id ?? ""}:${e164}`;

/** Who would call a number; `merchant_id` absent: what callees asked of it is not of interest. */
interface Pair {
  reseller_id: string;
  phone_number: string;
  merchant_id?: string | null;
}

/** The id of an erased number, by its hash; nulls: erased for every reseller, for a reseller and all its merchants. */
export const erasedId = (reseller_id: string | null, merchant_id: string | null, hash: string): string =>
  `erased:${reseller_id ?? EVERYBODY}/${merchant_id ?? ""}:${hash}`;

/**
 * The ids of the entries that would forbid a call to a number: the reseller's own, the global one, what the callee asked of the tenant, and those of its
 * erasure. Every spelling that rings the same phone finds them, also those that were listed before this was known.
 */
export function forbiddingIds(
  { reseller_id, phone_number, merchant_id }: Pair,
  hash: Pick<NumberHash, "all">,
): string[] {
  const spellings = spellingsOf(toE164(phone_number) ?? phone_number);
  const listed = spellings.flatMap((e164) => [entryId(reseller_id, e164), entryId(null, e164)]);
  const hashes = spellings.flatMap((e164) => hash.all(e164));
  const erased = (of: string | null, merchant: string | null): string[] =>
    hashes.map((hashed) => erasedId(of, merchant, hashed));
  listed.push(...erased(null, null), ...erased(reseller_id, null));
  if (merchant_id === undefined) return listed;
  if (merchant_id !== null) listed.push(...erased(reseller_id, merchant_id));
  return [...listed, ...spellings.map((e164) => wishId(reseller_id, merchant_id, e164))];
}

/** A callee's wish as it is kept. */
export const wishEntry = ({
  reseller_id,
  merchant_id,
  phone_number,
  lead_id,
  asked_at,
}: ParamsOf<"blacklist.recordWish">): EntryDoc => ({
  _id: wishId(reseller_id, merchant_id, phone_number),
  reseller_id,
  phone_number,
  listed_by: `lead:${lead_id}`,
  created_at: new Date(asked_at),
  source: "callee",
  merchant_id,
  lead_id,
});

/** An erased number as it is kept: by its hash, so that it can be refused and not be read. */
export const erasedEntry = (
  {
    erasure_id,
    reseller_id,
    merchant_id,
  }: Pick<ParamsOf<"blacklist.eraseNumber">, "erasure_id" | "reseller_id" | "merchant_id">,
  hashed: string,
  now: Date,
): EntryDoc => ({
  _id: erasedId(reseller_id, merchant_id, hashed),
  reseller_id,
  phone_number: hashed,
  listed_by: `erasure:${erasure_id}`,
  created_at: now,
  source: "erasure",
  ...(merchant_id === null ? {} : { merchant_id }),
});

/** Whose list is written; `reseller_id` null: the global list of admins. */
export interface List {
  reseller_id: string | null;
}

/** The list an asker writes: its own unless it names one. FORBIDDEN for roles that only read, and for another's list. */
export function listOf(by: By, named: string | undefined): List {
  if (by.role === "admin") return { reseller_id: named ?? null };
  if (by.role !== "reseller" || !by.reseller_id)
    fail("FORBIDDEN", `The role ${by.role} may read the blacklist but not change it; use a token of role reseller.`);
  if (named !== undefined && named !== by.reseller_id)
    fail("FORBIDDEN", "reseller_id is not your own; leave it out to write your own list.");
  return { reseller_id: by.reseller_id };
}

/** The numbers in E.164, each phone once, in the order given. INVALID_PHONE_NUMBER names every bad one by its place. */
export function numbersOf(texts: readonly string[]): string[] {
  const numbers = new Map<string, string>();
  const errors: ValidationIssue[] = [];
  texts.forEach((text, i) => {
    const read = readNumber(text);
    if ("issue" in read) errors.push({ path: `phone_numbers.${i}`, message: read.issue });
    else if (!numbers.has(phoneOf(read.e164))) numbers.set(phoneOf(read.e164), read.e164);
  });
  if (errors.length > 0)
    fail(
      "INVALID_PHONE_NUMBER",
      `${errors.length} of ${texts.length} values are no valid phone numbers; nothing was changed. Correct or remove them.`,
      { errors },
    );
  return [...numbers.values()];
}

/** Whether none of the numbers was new to the list. NUMBER_EXISTS (section 7: the phone number already exists). */
export function requireNew(added: number, asked: readonly string[]): void {
  if (added === 0) {
    fail(
      "NUMBER_EXISTS",
      asked.length === 1
        ? "The phone number is on this blacklist already; nothing was changed."
        : `All ${asked.length} phone numbers are on this blacklist already; nothing was changed.`,
      {
        errors: [
          { path: "phone_numbers", message: asked.length === 1 ? "is already listed" : "are all already listed" },
        ],
      },
    );
  }
}

/** Whether a reseller names a number that only an admin listed: a reseller may not remove such an entry. FORBIDDEN names every one by its place. */
export function requireOwn(list: List, texts: readonly string[], existing: ReadonlySet<string>): void {
  const errors = texts.flatMap((text, i): ValidationIssue[] => {
    const spellings = spellingsOf(toE164(text) ?? text);
    const isOn = (reseller_id: string | null): boolean =>
      spellings.some((e164) => existing.has(entryId(reseller_id, e164)));
    const foreign = isOn(null) && !isOn(list.reseller_id);
    return foreign
      ? [{ path: `phone_numbers.${i}`, message: "is listed for everybody; only an admin may lift it" }]
      : [];
  });
  if (errors.length > 0)
    fail(
      "FORBIDDEN",
      `${errors.length} of ${texts.length} phone numbers were listed by an admin for everybody, and only an admin may lift them; nothing was changed.`,
      { errors },
    );
}

/** Whether any entry was removed. BLACKLIST_ENTRY_NOT_FOUND. */
export function requireLifted(lifted: number, list: List): void {
  if (lifted > 0) return;
  fail(
    "BLACKLIST_ENTRY_NOT_FOUND",
    list.reseller_id === null
      ? "None of the numbers is on the list that holds for everybody; to lift a reseller's own entries, name its reseller_id."
      : "None of the numbers is on this blacklist; list its entries with GET /blacklist.",
  );
}

/** An entry as it is shown; that of an erased number with the number `sought`, by which it was found. */
export const toEntry = (d: EntryDoc, sought?: string): BlacklistEntry => ({
  phone_number: (d.source === "erasure" ? sought : undefined) ?? d.phone_number,
  reseller_id: d.reseller_id,
  created_at: d.created_at.toISOString(),
  ...(d.source === undefined ? {} : { source: d.source, merchant_id: d.merchant_id ?? null }),
  ...(d.lead_id === undefined ? {} : { lead_id: d.lead_id }),
});
