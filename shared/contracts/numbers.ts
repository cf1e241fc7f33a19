import {
  action,
  described,
  describedAs,
  E164,
  named,
  Nothing,
  Nullable,
  Patch,
  PhoneText,
  Strict,
  Text,
  Type,
  Uuid,
  type Static,
  Id,
  UpTo,
  valued,
} from "./define.ts";
import { ProviderEnum } from "./records/configuration.ts";
import { By, Count, NextCursor, OwnerFilter, PageParams, Stamps } from "./records/identity.ts";

/** States of a number. IN_USE is derived: all its slots are reserved. */
export const NUMBER_STATUSES = ["AVAILABLE", "IN_USE", "DISABLED"] as const;

/** One of them as it travels. */
const NumberStatusEnum = named(
  "NumberStatus",
  "Whether calls go over a number.",
  valued(NUMBER_STATUSES, {
    AVAILABLE: "Calls go over it.",
    IN_USE: "Calls go over it, and all its slots are taken at the moment.",
    DISABLED: "It takes no new calls.",
  }),
);
const Lines = Type.Integer({ minimum: 1, maximum: 10_000 });

/** What a client says of a number. */
const settings = {
  provider: described("The provider whose carrier account holds it.", ProviderEnum),
  channel: described("What it is for: calls come and go over numbers whose channel is voice only.", Text(32), {
    default: "voice",
  }),
  max_concurrent_calls: described("How many calls it takes at once.", Lines, { default: 1 }),
  reseller_id: described("The reseller it is allotted to; null: the pool that all share.", Nullable(Text(64))),
  merchant_id: described("The merchant it is allotted to; null: all of its reseller's.", Nullable(Text(64))),
  inbound_template_id: described(
    "The template that takes calls to it; null: the owner's configuration that takes inbound calls decides.",
    Nullable(Uuid),
    { example: "5f0c8f0e-7a39-4c53-9d0f-2a2b6a3a1c12" },
  ),
};
const { provider: _provider, ...otherSettings } = settings;
const PhoneNumber = described("The number, E.164.", PhoneText, { example: "+14155550100" });

/** An outbound number (caller id), which people may call too. */
export const NumberRecord = named(
  "OutboundNumber",
  "An outbound number: the caller id of calls. People may call it too.",
  Type.Object(
    describedAs(settings, {
      id: described("Id of the number.", Uuid),
      phone_number: described("The number, E.164.", UpTo(32)),
      provider: ProviderEnum,
      status: NumberStatusEnum,
      channel: UpTo(32),
      max_concurrent_calls: Type.Integer(),
      reseller_id: Nullable(Id),
      merchant_id: Nullable(Id),
      inbound_template_id: Nullable(Id),
      ...Stamps,
    }),
  ),
);
export type NumberRecord = Static<typeof NumberRecord>;

const LeaseSeconds = Type.Integer({ minimum: 1, maximum: 20_000 });
const NumberId = described("Id of the number.", Text(64));
const Force = Type.Optional(
  described("true: although it is in a call; live calls finish, and it takes no new ones.", Type.Boolean(), {
    default: false,
  }),
);

/** A change of a number; its phone number stays what it is. */
export const NumberPatch = Patch({
  ...Type.Partial(Type.Object(settings)).properties,
  status: Type.Optional(
    described(
      "Whether calls go over it.",
      valued(["AVAILABLE", "DISABLED"], { AVAILABLE: "Calls go over it.", DISABLED: "It takes no new calls." }),
    ),
  ),
});
export type NumberPatch = Static<typeof NumberPatch>;

/** Outbound numbers and the leases of their slots (`lines` on the wire). A lease is named by its holder (the attempt), so a late release can't free another call's slot. */
export const numbers = {
  name: "numbers",
  actions: {
    /**
     * NUMBER_EXISTS whoever has it, INVALID_PHONE_NUMBER, FORBIDDEN, MERCHANT_NOT_FOUND. TEMPLATE_NOT_FOUND: inbound_template_id names none that its owner may use.
     * NUMBER_NOT_HELD: the provider's carrier account does not hold it; DEPENDENCY_DOWN: the carrier can't be asked; PROVIDER_UNCONFIGURED.
     */
    create: action(
      Strict({
        by: By,
        phone_number: PhoneNumber,
        provider: settings.provider,
        status: Type.Optional(
          described("Whether calls go over it; IN_USE counts as AVAILABLE.", NumberStatusEnum, {
            default: "AVAILABLE",
          }),
        ),
        ...Type.Partial(Type.Object(otherSettings)).properties,
      }),
      NumberRecord,
      { timeout_ms: 20_000 },
    ),
    list: action(
      Strict({
        by: By,
        provider: Type.Optional(described("Only numbers of this provider.", ProviderEnum)),
        status: Type.Optional(described("Only numbers with this status.", NumberStatusEnum)),
        phone_number: Type.Optional(described("Only this number, E.164.", PhoneText)),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({
        count: Count,
        numbers: described("The numbers.", Type.Array(NumberRecord)),
        next_cursor: NextCursor,
      }),
    ),
    /** NUMBER_NOT_FOUND when it is unknown or not to be seen by the asker. */
    get: action(Strict({ by: By, number_id: NumberId }), NumberRecord),
    /** FORBIDDEN, NUMBER_NOT_FOUND, MERCHANT_NOT_FOUND, RESELLER_NOT_FOUND, TEMPLATE_NOT_FOUND. RESOURCE_IN_USE: disabled during a call without `force`, or
     *  given another provider during one. `force` lets live calls finish and takes no new ones. With another reseller or provider the carrier is asked as in create. */
    update: action(Strict({ by: By, number_id: NumberId, number: NumberPatch, force: Force }), NumberRecord, {
      timeout_ms: 20_000,
    }),
    /** FORBIDDEN, NUMBER_NOT_FOUND, RESOURCE_IN_USE during a call without `force`. The phone number may be added again at once. */
    remove: action(Strict({ by: By, number_id: NumberId, force: Force }), Nothing),
    /** Internal: the number that was called, if it is in use; null: none. */
    called: action(
      Strict({ phone_number: E164, provider: ProviderEnum }),
      Type.Object({
        number: Nullable(
          Type.Object({
            id: Uuid,
            reseller_id: Nullable(Id),
            merchant_id: Nullable(Id),
            inbound_template_id: Nullable(Id),
          }),
        ),
      }),
    ),
    /** Internal: a slot for each holder until the lease's end, all of one scope, in order; null where none is free; the same holder gets the same slot again.
     *  `same_country`: only numbers of the callee's country (each want's own). */
    reserveMany: action(
      Strict({
        reseller_id: Text(64),
        merchant_id: Nullable(Text(64)),
        provider: ProviderEnum,
        lease_seconds: LeaseSeconds,
        same_country: Type.Boolean(),
        wants: Type.Array(Strict({ to: E164, holder: Text(80) }), { minItems: 1, maxItems: 500 }),
      }),
      Type.Object({
        lines: Type.Array(Nullable(Type.Object({ id: Uuid, phone_number: UpTo(32), provider: ProviderEnum })), {
          maxItems: 500,
        }),
      }),
    ),
    /** Internal: renews the leases of the slots reserved in these names (`<holder>~…`) to at least this long from now, in order; false: the lease had ended, the slot may be another holder's. */
    keepMany: action(
      Strict({
        lines: Type.Array(Strict({ holder: Text(80), lease_seconds: LeaseSeconds }), { minItems: 1, maxItems: 500 }),
      }),
      Type.Object({ kept: Type.Array(Type.Boolean(), { maxItems: 500 }) }),
    ),
    /** Internal, read only: how many numbers of this provider are usable in this scope at all (busy or not; 0 means "never" instead of
     *  "wait"), and how many of their slots are free now; `country`: only numbers of that country (ISO). */
    availability: action(
      Strict({
        reseller_id: Text(64),
        merchant_id: Nullable(Text(64)),
        provider: ProviderEnum,
        country: Type.Optional(Text(2)),
      }),
      Type.Object({ numbers: Type.Integer(), free_lines: Type.Integer() }),
    ),
    /** Internal: releases the holders' slots, and for each every slot reserved in its name as `<holder>~<replica>` (schedulers that race for one lead
     *  each reserve their own, so that the loser can't release the winner's). Idempotent. */
    releaseMany: action(Strict({ holders: Type.Array(Text(80), { maxItems: 500 }) }), Nothing),
  },
  events: {
    /** A slot was released or a number was added: leads that wait for a slot may be called. */
    "numbers.freed": Type.Object({ provider: ProviderEnum }),
  },
};
