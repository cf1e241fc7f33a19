import {
  described,
  Id,
  IsoTime,
  Label,
  named,
  Nullable,
  PhoneText,
  Strict,
  Text,
  Type,
  UpTo,
  valued,
} from "../define.ts";
import { AskerKind, By, Count, NextCursor, OwnerFilter, PageParams, RoleEnum } from "../records/identity.ts";
import type { Static } from "../define.ts";

/** The states of a legal hold. */
export const HOLD_STATES = ["active", "lifted"] as const;
const HoldState = valued(HOLD_STATES, {
  active: "Nothing that it covers is ended by retention or erased.",
  lifted: "It holds nothing any more.",
});
const Covers = valued(["reseller", "number"], {
  reseller: "Everything of the reseller and its merchants.",
  number: "One phone number, with the reseller and its merchants.",
});

/** Longest reason, characters. */
const MAX_REASON = 500;
const reason = (why: string) =>
  described(`${why} Write a reference, such as the number of a case: no name and no phone number.`, Label(MAX_REASON), {
    example: "case 2026-118, letter of 20 November",
  });
const Person = Type.Object({
  kind: AskerKind,
  id: described("Id of the person or token.", Id),
  role: described("The role at that time.", RoleEnum),
});

/** A legal hold, in force or lifted. */
export const LegalHoldRecord = named(
  "LegalHold",
  "A legal hold: while it is active, nothing that it covers is ended by retention, and an erasure of it is refused.",
  Type.Object({
    id: described("Id of the hold.", Id),
    reseller_id: described("The reseller whose records it covers, with its merchants'.", Id),
    covers: described("What of the reseller it covers.", Covers),
    phone_number: described(
      "The number that it covers, E.164; null: it covers all numbers, or was lifted and has forgotten its number.",
      Nullable(UpTo(16)),
      { example: "+14155550123" },
    ),
    state: HoldState,
    reason: described("Why it was put.", UpTo(MAX_REASON), { example: "case 2026-118, letter of 20 November" }),
    put_by: described("Who put it.", Person),
    created_at: described("When it was put.", IsoTime),
    lifted_by: described("Who lifted it; null: it is active.", Nullable(Person)),
    lift_reason: described("Why it was lifted; null: it is active.", Nullable(UpTo(MAX_REASON))),
    lifted_at: described("When it was lifted; null: it is active.", Nullable(IsoTime)),
  }),
);
export type LegalHoldRecord = Static<typeof LegalHoldRecord>;

/** A hold that is to be put. */
export const newLegalHold = [
  Strict({
    by: By,
    reseller_id: described("Whose records it covers.", Text(64)),
    phone_number: Type.Optional(
      described("The one number that it covers, E.164. Left out: everything of the reseller.", PhoneText, {
        example: "+14155550123",
      }),
    ),
    reason: reason("Why it is put."),
  }),
  LegalHoldRecord,
] as const;

const Which = { by: By, id: described("Id of the hold.", Text(64)) };
/** One hold. */
export const oneLegalHold = [Strict(Which), LegalHoldRecord] as const;
/** A hold that is to be lifted. */
export const liftedLegalHold = [Strict({ ...Which, reason: reason("Why it is lifted.") }), LegalHoldRecord] as const;

/** Holds of a scope. */
export const legalHoldList = [
  Strict({
    by: By,
    state: Type.Optional(described("Only those in this state.", HoldState)),
    reseller_id: OwnerFilter.reseller_id,
    ...PageParams,
  }),
  Type.Object({
    count: Count,
    legal_holds: described("The holds, newest first.", Type.Array(LegalHoldRecord)),
    next_cursor: NextCursor,
  }),
] as const;
