import { described, E164, IsoTime, named, Nullable, Patch, Strict, Text, Type, type Static } from "../define.ts";

/** Most calls, minutes or units of money that a spend ceiling may name. */
export const MAX_SPEND = 1_000_000_000;
/** The smallest amount of money that is counted. */
export const LEAST_MONEY = 0.000001;
const Limit = Type.Integer({ minimum: 1, maximum: MAX_SPEND });
const ABSENT = "Absent: no limit.";
/** The most that calls may take in a period; a field that is absent limits nothing. */
const PeriodCeiling = named(
  "PeriodCeiling",
  "What calls may take in a period.",
  Patch({
    calls: Type.Optional(described(`Calls at most. ${ABSENT}`, Limit, { example: 500 })),
    minutes: Type.Optional(described(`Started minutes at most. ${ABSENT}`, Limit, { example: 20_000 })),
    money: Type.Optional(
      described(
        `Money at most, in the deployment's currency (COST_CURRENCY). ${ABSENT}`,
        Type.Number({ minimum: LEAST_MONEY, maximum: MAX_SPEND }),
        { example: 40 },
      ),
    ),
  }),
);
/** What the calls of a merchant, or of a reseller with all its merchants, may take. */
export const SpendCeiling = named(
  "SpendCeiling",
  "What calls may take in a day and in a calendar month of UTC; leads that do not fit wait.",
  Patch({
    per_day: Type.Optional(described("In a day of UTC.", PeriodCeiling)),
    per_month: Type.Optional(described("In a calendar month of UTC.", PeriodCeiling)),
  }),
);
export type SpendCeiling = Static<typeof SpendCeiling>;
/** The ceilings that a call counts for; absent: none. */
export const SpendCeilings = Strict({
  merchant: Type.Optional(SpendCeiling),
  reseller: Type.Optional(SpendCeiling),
});
export type SpendCeilings = Static<typeof SpendCeilings>;

/** Most more calls that a ceiling is said to have room for. */
export const MAX_SPEND_ROOM = 10_000;
/** A spend ceiling that has no room for one more call: whose, of which period, what it limits (`reservations`: too many calls are under way; `price`: its number has no price), until when; null: until calls under way have ended, or somebody acts. */
export const SpendReached = Type.Object({
  whose: Type.Enum(["merchant", "reseller"]),
  period: Nullable(Type.Enum(["day", "month"])),
  what: Type.Enum(["calls", "minutes", "money", "reservations", "price"]),
  until: Nullable(IsoTime),
});
export type SpendReached = Static<typeof SpendReached>;

/** Calls that room is sought for. `to` null: whatever number is called, at the lowest price. */
export const SpendRoomAsked = Strict({
  calls: Type.Array(
    Strict({
      reseller_id: Text(64),
      merchant_id: Nullable(Text(64)),
      spend_ceilings: SpendCeilings,
      max_call_seconds: Type.Integer({ minimum: 1 }),
      to: Nullable(E164),
      /** No number is called, as in a session: it costs time and a call, no money. */
      unpaid: Type.Optional(Type.Boolean()),
    }),
    { minItems: 1, maxItems: 200 },
  ),
});

/** How many more of these calls fit under each ceiling, and why none does. */
export const SpendRoom = Type.Object({
  room: Type.Object({ merchant: Type.Optional(Type.Integer()), reseller: Type.Optional(Type.Integer()) }),
  reached: Nullable(SpendReached),
});
export type SpendRoom = Static<typeof SpendRoom>;
/** The answers in the order of the questions. */
export const SpendRooms = Type.Object({ calls: Type.Array(SpendRoom, { maxItems: 200 }) });
