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
  Uuid,
  type Static,
  Id,
  UpTo,
} from "./define.ts";
import { ProviderEnum } from "./records/configuration.ts";
import { By, NextCursor, OwnerFilter, PageParams } from "./records/identity.ts";

/** States of a number. IN_USE is derived: all its slots are reserved. */
export const NUMBER_STATUSES = ["AVAILABLE", "IN_USE", "DISABLED"] as const;

/** An outbound number (caller id), which people may call too. Calls come and go over numbers whose channel is `voice` only. reseller_id/merchant_id null: shared pool. inbound_template_id: the template that takes calls to it; null: the
 *  owner's configuration that takes inbound calls decides. */
export const NumberRecord = Type.Object({
  id: Uuid,
  phone_number: UpTo(32),
  provider: ProviderEnum,
  status: Type.Enum([...NUMBER_STATUSES]),
  channel: UpTo(32),
  max_concurrent_calls: Type.Integer(),
  reseller_id: Nullable(Id),
  merchant_id: Nullable(Id),
  inbound_template_id: Nullable(Id),
  created_at: IsoTime,
  updated_at: IsoTime,
});
export type NumberRecord = Static<typeof NumberRecord>;

const NumberStatus = Type.Enum(["AVAILABLE", "DISABLED"]);
const LeaseSeconds = Type.Integer({ minimum: 1, maximum: 20_000 });
const Lines = Type.Integer({ minimum: 1, maximum: 10_000 });

/** A change of a number; its phone number stays what it is. A reseller named without a merchant: for all its merchants. */
export const NumberPatch = Patch({
  provider: Type.Optional(ProviderEnum),
  status: Type.Optional(NumberStatus),
  channel: Type.Optional(Text(32)),
  max_concurrent_calls: Type.Optional(Lines),
  reseller_id: Type.Optional(Nullable(Text(64))),
  merchant_id: Type.Optional(Nullable(Text(64))),
  inbound_template_id: Type.Optional(Nullable(Uuid)),
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
        phone_number: Text(32),
        provider: ProviderEnum,
        /** IN_USE counts as AVAILABLE: a use is a fact of calls. */
        status: Type.Optional(Type.Enum([...NUMBER_STATUSES])),
        channel: Type.Optional(Text(32)),
        max_concurrent_calls: Type.Optional(Lines),
        reseller_id: Type.Optional(Nullable(Text(64))),
        merchant_id: Type.Optional(Nullable(Text(64))),
        inbound_template_id: Type.Optional(Nullable(Uuid)),
      }),
      NumberRecord,
      { timeout_ms: 20_000 },
    ),
    list: action(
      Strict({
        by: By,
        provider: Type.Optional(ProviderEnum),
        status: Type.Optional(Type.Enum([...NUMBER_STATUSES])),
        phone_number: Type.Optional(Text(32)),
        ...OwnerFilter,
        ...PageParams,
      }),
      Type.Object({ count: Type.Integer(), numbers: Type.Array(NumberRecord), next_cursor: NextCursor }),
    ),
    /** NUMBER_NOT_FOUND when it is unknown or not to be seen by the asker. */
    get: action(Strict({ by: By, number_id: Text(64) }), NumberRecord),
    /** FORBIDDEN, NUMBER_NOT_FOUND, MERCHANT_NOT_FOUND, RESELLER_NOT_FOUND, TEMPLATE_NOT_FOUND. RESOURCE_IN_USE: disabled during a call without `force`, or
     *  given another provider during one. `force` lets live calls finish and takes no new ones. With another reseller or provider the carrier is asked as in create. */
    update: action(
      Strict({ by: By, number_id: Text(64), number: NumberPatch, force: Type.Optional(Type.Boolean()) }),
      NumberRecord,
      { timeout_ms: 20_000 },
    ),
    /** FORBIDDEN, NUMBER_NOT_FOUND, RESOURCE_IN_USE during a call without `force`. The phone number may be added again at once. */
    remove: action(Strict({ by: By, number_id: Text(64), force: Type.Optional(Type.Boolean()) }), Nothing),
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
