import { service } from "../../shared/bus/bus.ts";
import { scopeOf } from "../../shared/contracts/records/identity.ts";
import { readPage } from "../../shared/page.ts";
import { spellingsOf } from "../../shared/numbering/spellings.ts";
import { soughtNumber } from "../../shared/phone.ts";
import { entrySchema } from "./blacklist.model.ts";
import { blacklistRepository } from "./blacklist.repository.ts";
import { forbiddingIds, toEntry, wishEntry } from "./blacklist-entries.ts";
import { numberHash } from "../../shared/privacy/number-hash.ts";
import { addNumbers, eraseNumber, removeNumbers } from "./blacklist-changes.ts";

/** Numbers that must not be called. An entry belongs to the reseller that made it; an admin's applies to every reseller; a callee's wish to the merchant that was asked. */
export default service("blacklist", (deps) => {
  const blacklist = blacklistRepository(deps.store().model("blacklist", entrySchema));
  const { ERASURE_KEY, ERASURE_OTHER_KEY } = deps.env;
  const hash = numberHash({ ERASURE_KEY, ERASURE_OTHER_KEY });
  /** All by which entries may name the phone of a number. */
  const namesOf = (e164: string): string[] => spellingsOf(e164).flatMap((one) => [one, ...hash.all(one)]);

  return {
    actions: {
      add: (params, { bus }) => addNumbers(deps, blacklist, bus, params),
      async remove(params, { bus }) {
        await removeNumbers(deps, blacklist, bus, hash, params);
        return {};
      },
      async list({ by, phone_number, limit, cursor }) {
        const sought = phone_number === undefined ? undefined : soughtNumber(phone_number, "phone_number");
        const { items, next_cursor } = await readPage(
          { limit, cursor },
          (after, size) => blacklist.page(scopeOf(by), sought === undefined ? sought : namesOf(sought), after, size),
          (entry) => toEntry(entry, sought),
        );
        return { count: items.length, entries: items, next_cursor };
      },
      async check({ pairs }) {
        const ids = pairs.map((pair) => forbiddingIds(pair, hash));
        const existing = await blacklist.existing([...new Set(ids.flat())]);
        return { listed: ids.map((any) => any.some((id) => existing.has(id))) };
      },
      async recordWish(wish) {
        const added = (await blacklist.add([wishEntry(wish)])) === 1;
        const { lead_id, reseller_id, merchant_id } = wish;
        if (added)
          deps.log.info(
            { event: "blacklist.wish", lead_id, reseller_id, merchant_id },
            "a callee asked not to be called again",
          );
        return { added };
      },
      archiveFolders({ phone_numbers }) {
        hash.check();
        // what is archived from now on goes to the first
        return { folders: phone_numbers.map((e164) => spellingsOf(e164).flatMap((one) => hash.folders(one))) };
      },
      eraseNumber: (params) => eraseNumber(deps, blacklist, hash, params),
    },
  };
});
