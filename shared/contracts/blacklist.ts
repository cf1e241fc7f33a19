import { action, E164, IsoTime, Nullable, Strict, Text, Type, type Static } from "./define.ts";
import { By, PageParams } from "./identity.ts";

/** A listed number. `reseller_id` null: listed by an admin, holds for everybody. */
export const BlacklistEntry = Type.Object({ phone_number: Type.String(), reseller_id: Nullable(Type.String()), created_at: IsoTime });
export type BlacklistEntry = Static<typeof BlacklistEntry>;

/** Numbers that must not be called. */
export const blacklist = {
  name: "blacklist",
  actions: {
    /** Adds numbers, each checked and normalised; numbers already listed are counted, not refused. INVALID_PHONE_NUMBER lists every bad one and adds none. */
    add: action(Strict({ by: By, phone_numbers: Type.Array(Text(32), { minItems: 1, maxItems: 10_000 }) }),
      Type.Object({ added: Type.Integer(), already_listed: Type.Integer(), phone_numbers: Type.Array(Type.String()) })),
    list: action(Strict({ by: By, phone_number: Type.Optional(Text(32)), ...PageParams }),
      Type.Object({ count: Type.Integer(), entries: Type.Array(BlacklistEntry), next_cursor: Nullable(Type.String()) })),
    /** Internal: for each pair whether it is listed, in order. */
    check: action(Strict({ pairs: Type.Array(Strict({ reseller_id: Text(64), phone_number: E164 }), { maxItems: 500 }) }),
      Type.Object({ listed: Type.Array(Type.Boolean()) })),
  },
  events: {},
};
