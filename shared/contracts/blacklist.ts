import {
  action,
  described,
  E164,
  Id,
  IsoTime,
  named,
  Nothing,
  Nullable,
  PhoneText,
  Strict,
  Text,
  Type,
  UpTo,
  Uuid,
  valued,
  type Static,
} from "./define.ts";
import { archiveFolders } from "./requests/archive.ts";
import { eraseNumber } from "./requests/erasures.ts";
import { By, Count, NextCursor, PageParams } from "./records/identity.ts";

/** A listed number. */
export const BlacklistEntry = named(
  "BlacklistEntry",
  "A number that must not be called.",
  Type.Object({
    phone_number: described("The number, E.164.", UpTo(32)),
    reseller_id: described(
      "Whose list it is on; null: an admin listed it, and it holds for every tenant.",
      Nullable(Id),
    ),
    created_at: described("When it was listed.", IsoTime),
    source: Type.Optional(
      described(
        "Who listed it. Absent: somebody by POST /blacklist.",
        valued(["callee", "erasure"], {
          callee: "Whoever answered there asked not to be called again.",
          erasure: "The number was erased (POST /erasures); shown only to who names the number.",
        }),
      ),
    ),
    merchant_id: Type.Optional(
      described(
        "Of a callee's wish: for which merchant it holds; null: for the reseller's own templates. Of an erasure: for which merchant alone; null: for the reseller and all its merchants.",
        Nullable(Id),
      ),
    ),
    lead_id: Type.Optional(described("Of a callee's wish: the lead in whose conversation it was said.", Uuid)),
  }),
);
export type BlacklistEntry = Static<typeof BlacklistEntry>;

/** Numbers of one change. */
const MAX_WRITTEN = 10_000;

/** Parameters of add and remove. */
const written = {
  by: By,
  phone_numbers: described("The numbers, E.164.", Type.Array(PhoneText, { minItems: 1, maxItems: MAX_WRITTEN }), {
    example: ["+14155550123"],
  }),
  reseller_id: Type.Optional(
    described("Whose list. Left out: the asker's own; an admin's holds for every tenant.", Text(64)),
  ),
};

/** Numbers that must not be called. */
export const blacklist = {
  name: "blacklist",
  actions: {
    /** Adds numbers, each checked and normalised; numbers already listed are counted. INVALID_PHONE_NUMBER lists every bad one and adds none;
     *  NUMBER_EXISTS when all of them were listed already. */
    add: action(
      Strict(written),
      Type.Object({
        added: described("Numbers that were not on the list before.", Type.Integer({ minimum: 0 })),
        already_listed: described("Numbers that were.", Type.Integer({ minimum: 0 })),
        phone_numbers: described("All of them as they are listed.", Type.Array(E164, { maxItems: MAX_WRITTEN })),
      }),
    ),
    /** Lifts numbers; those not listed are passed over. INVALID_PHONE_NUMBER lists every bad one and lifts none; BLACKLIST_ENTRY_NOT_FOUND when none of
     *  them is on the list; FORBIDDEN when one of them is listed by an admin only. */
    remove: action(Strict(written), Nothing),
    list: action(
      Strict({
        by: By,
        phone_number: Type.Optional(described("Only this number, E.164.", PhoneText, { example: "+14155550123" })),
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        entries: described("The listed numbers.", Type.Array(BlacklistEntry)),
        next_cursor: NextCursor,
      }),
    ),
    /** Internal: for each pair whether it is listed, in order. `merchant_id`: whose call it would be (null: the reseller's own template), so that what callees asked of it counts; absent: that is not asked. */
    check: action(
      Strict({
        pairs: Type.Array(
          Strict({ reseller_id: Text(64), phone_number: E164, merchant_id: Type.Optional(Nullable(Text(64))) }),
          { maxItems: 500 },
        ),
      }),
      Type.Object({ listed: Type.Array(Type.Boolean(), { maxItems: 500 }) }),
    ),
    /** Internal: a callee asked, in the conversation of this lead, not to be called again; for the lead's merchant (null: for the reseller's own templates). Idempotent. `added` false: it was known. */
    recordWish: action(
      Strict({
        reseller_id: Text(64),
        merchant_id: Nullable(Text(64)),
        phone_number: E164,
        lead_id: Uuid,
        asked_at: IsoTime,
      }),
      Type.Object({ added: Type.Boolean() }),
      { since: "0.3.0" },
    ),
    /** Internal: the number is refused from here on, in this scope, by a hash that is kept; entries with the number itself go (requests/erasures.ts). NOT_AVAILABLE without ERASURE_KEY. */
    eraseNumber: action(...eraseNumber, { since: "0.3.0" }),
    /** Internal: folders of the archive for these numbers (requests/archive.ts). NOT_AVAILABLE without ERASURE_KEY. */
    archiveFolders: action(...archiveFolders, { since: "0.3.0" }),
  },
  events: {},
};
