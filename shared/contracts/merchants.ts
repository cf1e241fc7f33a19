import { action, IsoTime, Nullable, Strict, Text, Type, type Static } from "./define.ts";
import { By, PageParams } from "./identity.ts";

/** A reseller, the top of the scope tree. */
export const ResellerRecord = Type.Object({ id: Type.String(), name: Type.String(), is_active: Type.Boolean(), created_at: IsoTime, updated_at: IsoTime });
export type ResellerRecord = Static<typeof ResellerRecord>;

/** A merchant: the business that calls. */
export const MerchantRecord = Type.Object({
  id: Type.String(), name: Type.String(), reseller_id: Type.String(), contact_email: Type.String(),
  is_active: Type.Boolean(), created_at: IsoTime, updated_at: IsoTime,
});
export type MerchantRecord = Static<typeof MerchantRecord>;

/** The scope tree: resellers and merchants have one owner. */
export const merchants = {
  name: "merchants",
  actions: {
    createReseller: action(Strict({ by: By, name: Text(200) }), ResellerRecord),
    listResellers: action(Strict({ by: By, ...PageParams }),
      Type.Object({ count: Type.Integer(), resellers: Type.Array(ResellerRecord), next_cursor: Nullable(Type.String()) })),
    /** FORBIDDEN outside the asker's reseller, RESELLER_NOT_FOUND when it does not exist. */
    create: action(Strict({ by: By, name: Text(200), reseller_id: Text(64), contact_email: Type.String({ format: "email", maxLength: 254 }) }), MerchantRecord),
    list: action(Strict({ by: By, reseller_id: Type.Optional(Text(64)), ...PageParams }),
      Type.Object({ count: Type.Integer(), merchants: Type.Array(MerchantRecord), next_cursor: Nullable(Type.String()) })),
    /** Internal: whether the ids exist and belong together. */
    lookup: action(Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ reseller: Type.Boolean(), merchant: Type.Boolean() })),
  },
  events: {},
};
