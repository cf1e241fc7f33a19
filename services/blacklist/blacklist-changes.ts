import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../shared/bus/bus.ts";
import { recordAudit } from "../../shared/audit.ts";
import { fail } from "../../shared/errors.ts";
import { maskPhone } from "../../shared/process/log.ts";
import { spellingsOf } from "../../shared/numbering/spellings.ts";
import type { NumberHash } from "../../shared/privacy/number-hash.ts";
import type { BlacklistRepository } from "./blacklist.repository.ts";
import {
  entryId,
  erasedEntry,
  listOf,
  numbersOf,
  requireLifted,
  requireNew,
  requireOwn,
  type List,
} from "./blacklist-entries.ts";

/** Numbers shown, masked, in an audit entry; the counts are of all. */
const AUDITED_NUMBERS = 20;

/** A list that an admin names must belong to a reseller. RESELLER_NOT_FOUND. */
async function requireList(bus: Bus, by: ParamsOf<"blacklist.add">["by"], list: List): Promise<void> {
  if (by.role !== "admin" || list.reseller_id === null) return;
  const { reseller } = await bus.call("merchants.lookup", { reseller_id: list.reseller_id });
  if (!reseller)
    fail("RESELLER_NOT_FOUND", "reseller_id names no reseller; list them with GET /resellers.", {
      errors: [{ path: "reseller_id", message: "is unknown" }],
    });
}

const subjectOf = (list: List): string => `blacklist:${list.reseller_id ?? "everybody"}`;
const masked = (numbers: readonly string[]): string[] => numbers.slice(0, AUDITED_NUMBERS).map(maskPhone);

/** Those of the numbers that are on the list in another spelling of their phone. */
async function listedOtherwise(
  blacklist: BlacklistRepository,
  { reseller_id }: List,
  numbers: readonly string[],
): Promise<Set<string>> {
  const sought = numbers.map((e164) => ({
    e164,
    ids: spellingsOf(e164)
      .slice(1)
      .map((spelling) => entryId(reseller_id, spelling)),
  }));
  const ids = sought.flatMap((one) => one.ids);
  const existing = ids.length === 0 ? new Set<string>() : await blacklist.existing(ids);
  return new Set(sought.filter((one) => one.ids.some((id) => existing.has(id))).map(({ e164 }) => e164));
}

/** Lists numbers; those listed already are counted. FORBIDDEN, INVALID_PHONE_NUMBER, NUMBER_EXISTS when all of them were, RESELLER_NOT_FOUND. */
export async function addNumbers(
  deps: ServiceDeps,
  blacklist: BlacklistRepository,
  bus: Bus,
  { by, phone_numbers, reseller_id: named }: ParamsOf<"blacklist.add">,
): Promise<ResultOf<"blacklist.add">> {
  const list = listOf(by, named);
  const numbers = numbersOf(phone_numbers);
  await requireList(bus, by, list);
  const { reseller_id } = list;
  const created_at = deps.clock.now();
  const others = await listedOtherwise(blacklist, list, numbers);
  const added = await blacklist.add(
    numbers
      .filter((phone_number) => !others.has(phone_number))
      .map((phone_number) => ({
        _id: entryId(reseller_id, phone_number),
        reseller_id,
        phone_number,
        listed_by: by.id,
        created_at,
      })),
  );
  requireNew(added, numbers);
  const counts = { added, already_listed: numbers.length - added };
  deps.log.info({ event: "blacklist.added", reseller_id, by: by.id, ...counts }, "numbers were put on the blacklist");
  await recordAudit(deps, bus, {
    by,
    action: "blacklist.added",
    subject: subjectOf(list),
    reseller_id,
    merchant_id: null,
    details: { ...counts, phone_numbers: masked(numbers) },
  });
  return { ...counts, phone_numbers: numbers };
}

/** Removes numbers from one list, all that are on it. FORBIDDEN, INVALID_PHONE_NUMBER, BLACKLIST_ENTRY_NOT_FOUND, RESELLER_NOT_FOUND. */
export async function removeNumbers(
  deps: ServiceDeps,
  blacklist: BlacklistRepository,
  bus: Bus,
  hash: Pick<NumberHash, "all">,
  { by, phone_numbers, reseller_id: named }: ParamsOf<"blacklist.remove">,
): Promise<void> {
  const list = listOf(by, named);
  const numbers = numbersOf(phone_numbers);
  await requireList(bus, by, list);
  if (by.role !== "admin")
    requireOwn(
      list,
      phone_numbers,
      await blacklist.existing(
        numbers.flatMap(spellingsOf).flatMap((e164) => [entryId(list.reseller_id, e164), entryId(null, e164)]),
      ),
    );
  const spellings = numbers.flatMap(spellingsOf);
  const removed = await blacklist.remove(
    list,
    spellings,
    spellings.flatMap((e164) => hash.all(e164)),
  );
  requireLifted(removed, list);
  const counts = { removed, not_listed: Math.max(0, numbers.length - removed) };
  deps.log.info(
    { event: "blacklist.removed", reseller_id: list.reseller_id, by: by.id, ...counts },
    "numbers were taken off the blacklist",
  );
  await recordAudit(deps, bus, {
    by,
    action: "blacklist.removed",
    subject: subjectOf(list),
    reseller_id: list.reseller_id,
    merchant_id: null,
    details: { ...counts, phone_numbers: masked(numbers) },
  });
}

/** Refuses a number from now on by its hash, then forgets the number itself. What others listed, outside the scope, stays. NOT_AVAILABLE without ERASURE_KEY. */
export async function eraseNumber(
  { clock }: Pick<ServiceDeps, "clock">,
  blacklist: BlacklistRepository,
  hash: NumberHash,
  { phone_number, ...of }: ParamsOf<"blacklist.eraseNumber">,
): Promise<ResultOf<"blacklist.eraseNumber">> {
  await blacklist.add([erasedEntry(of, hash.own(phone_number), clock.now())]);
  const blacklist_entries = await blacklist.forget(of, spellingsOf(phone_number));
  return { erased: { blacklist_entries }, waiting: [], pending: false };
}
