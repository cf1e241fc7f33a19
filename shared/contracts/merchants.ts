import {
  action,
  described,
  describedAs,
  IsoTime,
  named,
  Nothing,
  Nullable,
  Patch,
  PhoneText,
  Strict,
  Text,
  Type,
  type Static,
  Id,
  UpTo,
  Label,
  valued,
} from "./define.ts";
import { By, Count, NextCursor, OwnerFilter, PageParams, Stamps } from "./records/identity.ts";
import { SpendCeiling } from "./records/spend.ts";

const CEILING = "What its calls may take in a day and in a month of UTC; null: no ceiling.";
const ResellerName = described("Its name, for people.", Label(200), { example: "Northwind" });
const RESELLER_CEILING = `${CEILING} Those of its merchants count too.`;
const ResellerCeiling = described(RESELLER_CEILING, Nullable(SpendCeiling));

/** A reseller, the top of the scope tree. */
export const ResellerRecord = named(
  "Reseller",
  "The owner of merchants.",
  Type.Object({
    id: described("Id of the reseller.", Id),
    name: described("Its name, for people.", UpTo(200)),
    is_active: described("false: its users and tokens, and those of its merchants, do not work.", Type.Boolean()),
    spend_ceiling: Type.Optional(ResellerCeiling),
    ...Stamps,
  }),
);
export type ResellerRecord = Static<typeof ResellerRecord>;

/** A pause by a person: when, by whom (kind:id) and why. */
export const Pause = named(
  "Pause",
  "A pause of calling by a person: leads wait, calls under way go on.",
  Type.Object({
    at: described("Since when.", IsoTime),
    by: described("By whom: user: or s2s: and the id.", UpTo(80)),
    reason: described("Why; null: none was given.", Nullable(UpTo(500))),
  }),
);
export type Pause = Static<typeof Pause>;

/** Most test numbers of a merchant. */
export const MAX_TEST_NUMBERS = 100;

/** Most calls that a cap per callee may allow. */
export const MAX_CAPPED_CALLS = 1000;
const CappedCalls = Type.Integer({ minimum: 1, maximum: MAX_CAPPED_CALLS });
/** How often a merchant calls one person at most, over all its templates. */
export const CalleeCap = named(
  "CalleeCap",
  "How often a merchant calls one person at most, over all its templates.",
  Patch({
    per_day: Type.Optional(described("Calls in any 24 hours, at most. Absent: no limit.", CappedCalls, { example: 2 })),
    per_week: Type.Optional(described("Calls in any 7 days, at most. Absent: no limit.", CappedCalls, { example: 5 })),
  }),
);
export type CalleeCap = Static<typeof CalleeCap>;

/** How webhook events of a merchant show the phone number of their lead. */
export const WEBHOOK_PHONE_NUMBERS = ["masked", "full"] as const;
export type WebhookPhoneNumber = (typeof WEBHOOK_PHONE_NUMBERS)[number];

const Email = Type.String({ format: "email", maxLength: 254 });
const merchant = {
  name: described("Its name, for people.", Label(200), { example: "Corner shop" }),
  contact_email: described("Whom to write to about it.", Email, { example: "calls@shop.example.com" }),
  test_numbers: described(
    "Numbers of its own people, E.164: a playground run may call them outside the calling window, and although they are listed. The list is replaced as a whole.",
    Type.Array(PhoneText, { maxItems: MAX_TEST_NUMBERS }),
    { example: ["+14155550123"] },
  ),
  max_calls_per_callee: described("How often one person is called at most; null: no cap.", Nullable(CalleeCap)),
  spend_ceiling: described(CEILING, Nullable(SpendCeiling)),
  webhook_phone_number: described(
    "How lead.finished shows data.phone_number. A change takes effect within a minute.",
    valued(WEBHOOK_PHONE_NUMBERS, { masked: "With its middle left out.", full: "As it is." }),
    { default: "masked" },
  ),
};
const { name: _name, contact_email: _email, ...limits } = merchant;
const optional = Type.Partial(Type.Object(limits)).properties;
const RESELLER = "Id of the reseller that owns it.";
const MERCHANT_ACTIVE = "false: its users and tokens do not work.";

/** A merchant: the business that calls. `paused`: its leads wait. */
export const MerchantRecord = named(
  "Merchant",
  "The business that calls: the owner of templates and leads.",
  Type.Object(
    describedAs(merchant, {
      id: described("Id of the merchant.", Id),
      name: UpTo(200),
      reseller_id: described(RESELLER, Id),
      contact_email: UpTo(254),
      is_active: described(MERCHANT_ACTIVE, Type.Boolean()),
      paused: Type.Optional(described("Its pause; null: its leads are called.", Nullable(Pause))),
      ...optional,
      ...Stamps,
    }),
  ),
);
export type MerchantRecord = Static<typeof MerchantRecord>;

const Deployment = named(
  "Deployment",
  "The switch for all calling.",
  Type.Object({ paused: described("The pause of all calling; null: leads are called.", Nullable(Pause)) }),
);

/** Start of the name, upper and lower case alike. */
const NameStart = Type.Optional(described("Only those whose name begins so, upper and lower case alike.", Text(200)));
const OnlyActive = Type.Optional(described("Only those that are switched on, or only the others.", Type.Boolean()));
const ResellerId = described("Id of the reseller.", Text(64));
const MerchantId = described("Id of the merchant.", Text(64));
const OneMerchant = { by: By, id: MerchantId };
const PauseReason = Type.Optional(described("Why, for people.", Text(500), { example: "maintenance" }));

/** The scope tree: resellers and merchants have one owner. */
export const merchants = {
  name: "merchants",
  actions: {
    createReseller: action(
      Strict({ by: By, name: ResellerName, spend_ceiling: Type.Optional(ResellerCeiling) }),
      ResellerRecord,
    ),
    listResellers: action(
      Strict({ by: By, name: NameStart, is_active: OnlyActive, ...PageParams }),
      Type.Object({
        count: Count,
        resellers: described("The resellers.", Type.Array(ResellerRecord)),
        next_cursor: NextCursor,
      }),
    ),
    /** RESELLER_NOT_FOUND when it is unknown or foreign. */
    getReseller: action(Strict({ by: By, id: ResellerId }), ResellerRecord),
    /** Switched off, its users and tokens and those of its merchants stop working within 5 s. RESELLER_NOT_FOUND, FORBIDDEN. */
    updateReseller: action(
      Strict({
        by: By,
        id: ResellerId,
        name: Type.Optional(ResellerName),
        is_active: Type.Optional(
          described(
            "false: its users and tokens, and those of its merchants, stop working within 5 s.",
            Type.Boolean(),
          ),
        ),
        spend_ceiling: Type.Optional(ResellerCeiling),
      }),
      ResellerRecord,
    ),
    /** RESOURCE_IN_USE while it has merchants, templates or unfinished leads; RESELLER_NOT_FOUND, FORBIDDEN. */
    deleteReseller: action(Strict({ by: By, id: ResellerId }), Nothing),
    /** FORBIDDEN outside the asker's reseller, RESELLER_NOT_FOUND when it does not exist. */
    create: action(
      Strict({
        by: By,
        name: merchant.name,
        reseller_id: described(RESELLER, Text(64)),
        contact_email: merchant.contact_email,
        ...optional,
      }),
      MerchantRecord,
    ),
    list: action(
      Strict({
        by: By,
        reseller_id: OwnerFilter.reseller_id,
        name: NameStart,
        is_active: OnlyActive,
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        merchants: described("The merchants.", Type.Array(MerchantRecord)),
        next_cursor: NextCursor,
      }),
    ),
    /** MERCHANT_NOT_FOUND when it is unknown or foreign. */
    get: action(Strict(OneMerchant), MerchantRecord),
    /** Switched off, its users and tokens stop working within 5 s. MERCHANT_NOT_FOUND, FORBIDDEN. */
    update: action(
      Strict({
        ...OneMerchant,
        name: Type.Optional(merchant.name),
        contact_email: Type.Optional(merchant.contact_email),
        ...optional,
        is_active: Type.Optional(described("false: its users and tokens stop working within 5 s.", Type.Boolean())),
      }),
      MerchantRecord,
    ),
    /** RESOURCE_IN_USE while it owns templates or unfinished leads; MERCHANT_NOT_FOUND, FORBIDDEN. */
    remove: action(Strict(OneMerchant), Nothing),
    /** No lead of the merchant is dialled from now on; calls under way go on. Pausing twice keeps the first. MERCHANT_NOT_FOUND, FORBIDDEN. */
    pause: action(Strict({ ...OneMerchant, reason: PauseReason }), MerchantRecord),
    /** MERCHANT_NOT_FOUND, FORBIDDEN. */
    resume: action(Strict(OneMerchant), MerchantRecord),
    /** The deployment as a whole. FORBIDDEN for all but admins. */
    deployment: action(Strict({ by: By }), Deployment),
    /** No lead at all is dialled from now on; calls under way go on. FORBIDDEN for all but admins. */
    pauseDeployment: action(Strict({ by: By, reason: PauseReason }), Deployment),
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
        webhook_phone_number: Type.Optional(merchant.webhook_phone_number),
      }),
    ),
    /** Internal: the name of a merchant; null: there is none. */
    named: action(
      Strict({ reseller_id: Text(64), merchant_id: Text(64) }),
      Type.Object({ name: Nullable(UpTo(200)) }),
      { since: "0.3.0" },
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
