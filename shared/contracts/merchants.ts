import {
  action,
  E164,
  IsoTime,
  Nothing,
  Nullable,
  Patch,
  Strict,
  Text,
  Type,
  type Static,
  Id,
  UpTo,
  Label,
} from "./define.ts";
import { By, NextCursor, PageParams } from "./records/identity.ts";
import { SpendCeiling } from "./records/spend.ts";

/** null: no ceiling. */
const SpendCeilingField = Type.Optional(Nullable(SpendCeiling));

/** A reseller, the top of the scope tree. */
export const ResellerRecord = Type.Object({
  id: Id,
  name: UpTo(200),
  is_active: Type.Boolean(),
  spend_ceiling: SpendCeilingField,
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type ResellerRecord = Static<typeof ResellerRecord>;

/** A pause by a person: when, by whom (kind:id) and why. */
export const Pause = Type.Object({ at: IsoTime, by: UpTo(80), reason: Nullable(UpTo(500)) });
export type Pause = Static<typeof Pause>;

/** Most test numbers of a merchant. */
export const MAX_TEST_NUMBERS = 100;
/** Numbers of the merchant's own people: a playground run may call them outside the calling window, and although they are listed. */
const TestNumbers = Type.Array(E164, { maxItems: MAX_TEST_NUMBERS });

/** Most calls that a cap per callee may allow. */
export const MAX_CAPPED_CALLS = 1000;
const CappedCalls = Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_CAPPED_CALLS }));
/** How often a merchant calls one person at most, over all its templates: in any 24 hours, in any 7 days; a field that is absent limits nothing. */
export const CalleeCap = Patch({ per_day: CappedCalls, per_week: CappedCalls });
export type CalleeCap = Static<typeof CalleeCap>;
/** null: no cap. */
const CalleeCapField = Type.Optional(Nullable(CalleeCap));

/** How webhook events of a merchant show the phone number of their lead: `masked`, with its middle left out, or `full`. */
export const WEBHOOK_PHONE_NUMBERS = ["masked", "full"] as const;
export type WebhookPhoneNumber = (typeof WEBHOOK_PHONE_NUMBERS)[number];
const WebhookPhoneNumberField = Type.Optional(
  Type.Enum([...WEBHOOK_PHONE_NUMBERS], {
    description:
      "How lead.finished shows data.phone_number: masked (the default), with its middle left out, or full. It takes effect within a minute.",
  }),
);

/** A merchant: the business that calls. `paused`: its leads wait. */
export const MerchantRecord = Type.Object({
  id: Id,
  name: UpTo(200),
  reseller_id: Id,
  contact_email: UpTo(254),
  is_active: Type.Boolean(),
  paused: Type.Optional(Nullable(Pause)),
  test_numbers: Type.Optional(TestNumbers),
  max_calls_per_callee: CalleeCapField,
  spend_ceiling: SpendCeilingField,
  webhook_phone_number: WebhookPhoneNumberField,
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type MerchantRecord = Static<typeof MerchantRecord>;

const Deployment = Type.Object({ paused: Nullable(Pause) });

const Email = Type.String({ format: "email", maxLength: 254 });
/** Start of the name, upper and lower case alike. */
const NameStart = Type.Optional(Text(200));

/** The scope tree: resellers and merchants have one owner. */
export const merchants = {
  name: "merchants",
  actions: {
    createReseller: action(Strict({ by: By, name: Label(200), spend_ceiling: SpendCeilingField }), ResellerRecord),
    listResellers: action(
      Strict({ by: By, name: NameStart, is_active: Type.Optional(Type.Boolean()), ...PageParams }),
      Type.Object({ count: Type.Integer(), resellers: Type.Array(ResellerRecord), next_cursor: NextCursor }),
    ),
    /** RESELLER_NOT_FOUND when it is unknown or foreign. */
    getReseller: action(Strict({ by: By, id: Text(64) }), ResellerRecord),
    /** Switched off, its users and tokens and those of its merchants stop working within 5 s. RESELLER_NOT_FOUND, FORBIDDEN. */
    updateReseller: action(
      Strict({
        by: By,
        id: Text(64),
        name: Type.Optional(Label(200)),
        is_active: Type.Optional(Type.Boolean()),
        spend_ceiling: SpendCeilingField,
      }),
      ResellerRecord,
    ),
    /** RESOURCE_IN_USE while it has merchants, templates or unfinished leads; RESELLER_NOT_FOUND, FORBIDDEN. */
    deleteReseller: action(Strict({ by: By, id: Text(64) }), Nothing),
    /** FORBIDDEN outside the asker's reseller, RESELLER_NOT_FOUND when it does not exist. */
    create: action(
      Strict({
        by: By,
        name: Label(200),
        reseller_id: Text(64),
        contact_email: Email,
        test_numbers: Type.Optional(TestNumbers),
        max_calls_per_callee: CalleeCapField,
        spend_ceiling: SpendCeilingField,
        webhook_phone_number: WebhookPhoneNumberField,
      }),
      MerchantRecord,
    ),
    list: action(
      Strict({
        by: By,
        reseller_id: Type.Optional(Text(64)),
        name: NameStart,
        is_active: Type.Optional(Type.Boolean()),
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), merchants: Type.Array(MerchantRecord), next_cursor: NextCursor }),
    ),
    /** MERCHANT_NOT_FOUND when it is unknown or foreign. */
    get: action(Strict({ by: By, id: Text(64) }), MerchantRecord),
    /** Switched off, its users and tokens stop working within 5 s. MERCHANT_NOT_FOUND, FORBIDDEN. */
    update: action(
      Strict({
        by: By,
        id: Text(64),
        name: Type.Optional(Label(200)),
        contact_email: Type.Optional(Email),
        test_numbers: Type.Optional(TestNumbers),
        max_calls_per_callee: CalleeCapField,
        spend_ceiling: SpendCeilingField,
        webhook_phone_number: WebhookPhoneNumberField,
        is_active: Type.Optional(Type.Boolean()),
      }),
      MerchantRecord,
    ),
    /** RESOURCE_IN_USE while it owns templates or unfinished leads; MERCHANT_NOT_FOUND, FORBIDDEN. */
    remove: action(Strict({ by: By, id: Text(64) }), Nothing),
    /** No lead of the merchant is dialled from now on; calls under way go on. Pausing twice keeps the first. MERCHANT_NOT_FOUND, FORBIDDEN. */
    pause: action(Strict({ by: By, id: Text(64), reason: Type.Optional(Text(500)) }), MerchantRecord),
    /** MERCHANT_NOT_FOUND, FORBIDDEN. */
    resume: action(Strict({ by: By, id: Text(64) }), MerchantRecord),
    /** The deployment as a whole. FORBIDDEN for all but admins. */
    deployment: action(Strict({ by: By }), Deployment),
    /** No lead at all is dialled from now on; calls under way go on. FORBIDDEN for all but admins. */
    pauseDeployment: action(Strict({ by: By, reason: Type.Optional(Text(500)) }), Deployment),
    resumeDeployment: action(Strict({ by: By }), Deployment),
    /** Internal: what is paused, the caps per callee, and the spend ceilings of merchants and resellers; those without are left out. */
    pauses: action(
      Strict({
        merchant_ids: Type.Array(Text(64), { maxItems: 1000 }),
        reseller_ids: Type.Optional(Type.Array(Text(64), { maxItems: 200 })),
      }),
      Type.Object({
        deployment: Nullable(Pause),
        merchants: Type.Array(Type.Object({ id: Id, pause: Pause })),
        caps: Type.Optional(Type.Array(Type.Object({ id: Id, max_calls_per_callee: CalleeCap }), { maxItems: 1000 })),
        ceilings: Type.Optional(Type.Array(Type.Object({ id: Id, spend_ceiling: SpendCeiling }), { maxItems: 1200 })),
      }),
    ),
    /** Internal: which of these numbers are test numbers of these merchants, in order. */
    testNumbers: action(
      Strict({
        pairs: Type.Array(Strict({ merchant_id: Text(64), phone_number: Text(32) }), { minItems: 1, maxItems: 500 }),
      }),
      Type.Object({ listed: Type.Array(Type.Boolean(), { maxItems: 500 }) }),
      { since: "0.3.0" },
    ),
    /** Internal: whether the ids exist and belong together. `webhook_phone_number`: the merchant's choice, absent where it made none. */
    lookup: action(
      Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({
        reseller: Type.Boolean(),
        merchant: Type.Boolean(),
        webhook_phone_number: WebhookPhoneNumberField,
      }),
    ),
    /** Internal: whether the ids exist, belong together and are active. */
    active: action(
      Strict({ reseller_id: Text(64), merchant_id: Type.Optional(Text(64)) }),
      Type.Object({ active: Type.Boolean() }),
    ),
  },
  events: {
    /** Calling was paused or resumed for a merchant, or (null) for the deployment, or the merchant's cap on calls per callee or a spend ceiling changed. */
    "calling.switched": Type.Object({ merchant_id: Nullable(Id) }),
  },
};
