import { action, E164, IsoTime, Nothing, Nullable, Strict, Text, Type, type Static, Id, UpTo, Uuid } from "./define.ts";
import { By, NextCursor, PageParams } from "./records/identity.ts";

/** A listed number. `reseller_id` null: listed by an admin, holds for every tenant. `source` callee: whoever answers there asked not to be called again, in the conversation of `lead_id`;
 *  that holds for its merchant (`merchant_id` null: for the reseller's own templates). Absent: somebody listed it. */
export const BlacklistEntry = Type.Object({
  phone_number: UpTo(32),
  reseller_id: Nullable(Id),
  created_at: IsoTime,
  source: Type.Optional(Type.Enum(["callee"])),
  merchant_id: Type.Optional(Nullable(Id)),
  lead_id: Type.Optional(Uuid),
});
export type BlacklistEntry = Static<typeof BlacklistEntry>;

/** Numbers of one change. */
const MAX_WRITTEN = 10_000;

/** Parameters of add and remove. `reseller_id`: the owner of the list; absent: the asker's own, an admin's holds for every tenant. */
const written = {
  by: By,
  phone_numbers: Type.Array(Text(32), { minItems: 1, maxItems: MAX_WRITTEN }),
  reseller_id: Type.Optional(Text(64)),
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
        added: Type.Integer(),
        already_listed: Type.Integer(),
        phone_numbers: Type.Array(E164, { maxItems: MAX_WRITTEN }),
      }),
    ),
    /** Lifts numbers; those not listed are passed over. INVALID_PHONE_NUMBER lists every bad one and lifts none; BLACKLIST_ENTRY_NOT_FOUND when none of
     *  them is on the list; FORBIDDEN when one of them is listed by an admin only. */
    remove: action(Strict(written), Nothing),
    list: action(
      Strict({ by: By, phone_number: Type.Optional(Text(32)), ...PageParams }),
      Type.Object({ count: Type.Integer(), entries: Type.Array(BlacklistEntry), next_cursor: NextCursor }),
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
  },
  events: {},
};
