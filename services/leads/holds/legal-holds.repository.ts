import type { Model } from "mongoose";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import type { LegalHoldRecord } from "../../../shared/contracts/requests/legal-holds.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { LegalHoldDoc } from "./legal-holds.model.ts";
import { spellingsOf } from "../../../shared/numbering/spellings.ts";

/** Whether a number is held; of a reseller that is held as a whole every number is, and what has none too. */
export type IsHeld = (phone_number: string | null) => boolean;

/** Reads and guarded writes of the collection `legal_holds`. What ends records asks before each batch; nothing is cached. */
export interface LegalHolds {
  put(hold: LegalHoldDoc): Promise<void>;
  /** Lifts a hold that is in force, which forgets its number; null: it is not in force, or there is none. */
  lift(
    id: string,
    by: NonNullable<LegalHoldRecord["lifted_by"]>,
    reason: string,
    now: Date,
  ): Promise<LegalHoldDoc | null>;
  find(scope: Scope, id: string): Promise<LegalHoldDoc | null>;
  page(
    scope: Scope,
    filter: { state?: LegalHoldRecord["state"] | undefined; reseller_id?: string | undefined },
    after: PageFilter,
    size: number,
  ): Promise<LegalHoldDoc[]>;
  /** A hold in force that covers something of this number with the reseller, or with any (null); null: there is none. */
  covering(reseller_id: string | null, phone_number: string): Promise<Pick<LegalHoldDoc, "_id"> | null>;
  /** Which of these numbers of a reseller are held. */
  among(reseller_id: string, phone_numbers: readonly (string | null)[]): Promise<IsHeld>;
  /** Numbers of a reseller that are held, so many at most; "all": the reseller is held as a whole. */
  numbersOf(reseller_id: string, limit: number): Promise<"all" | string[]>;
}

type Covered = Pick<LegalHoldDoc, "phone_number">;
const IN_FORCE = { active: true } as const;

/** The repository over its model. */
export function legalHoldsRepository(model: Model<LegalHoldDoc>): LegalHolds {
  const covered = (reseller_id: string, more: Record<string, unknown> = {}) =>
    model.find({ ...IN_FORCE, reseller_id, ...more }, { _id: 0, phone_number: 1 });
  return {
    async put(hold) {
      await model.create(hold);
    },
    lift: (_id, lifted_by, lift_reason, lifted_at) =>
      model
        .findOneAndUpdate(
          { _id, ...IN_FORCE },
          { $set: { lifted_by, lift_reason, lifted_at, phone_number: null }, $unset: { active: 1 } },
          { returnDocument: "after" },
        )
        .lean<LegalHoldDoc>(),
    find: (scope, _id) => model.findOne({ _id, ...within(scope) }).lean<LegalHoldDoc>(),
    page: (scope, { state, reseller_id }, after, size) =>
      newestOf(
        model,
        [
          within(scope),
          state === undefined ? {} : { active: { $exists: state === "active" } },
          reseller_id === undefined ? {} : { reseller_id },
          after,
        ],
        size,
      ),
    covering: (reseller_id, phone_number) =>
      model
        .findOne(
          {
            ...IN_FORCE,
            phone_number: { $in: [null, ...spellingsOf(phone_number)] },
            ...(reseller_id === null ? {} : { reseller_id }),
          },
          { _id: 1 },
        )
        .lean<Pick<LegalHoldDoc, "_id">>(),
    async among(reseller_id, phone_numbers) {
      const asked = [...new Set([null, ...phone_numbers.flatMap((one) => (one === null ? [] : spellingsOf(one)))])];
      const holds = await covered(reseller_id, { phone_number: { $in: asked } }).lean<Covered[]>();
      const found = new Set(holds.map((hold) => hold.phone_number));
      return (phone_number) =>
        found.has(null) || (phone_number !== null && spellingsOf(phone_number).some((one) => found.has(one)));
    },
    async numbersOf(reseller_id, limit) {
      if (await model.exists({ ...IN_FORCE, reseller_id, phone_number: null })) return "all";
      const holds = await covered(reseller_id).limit(limit).lean<Covered[]>();
      return holds.flatMap(({ phone_number }) => (phone_number === null ? [] : spellingsOf(phone_number)));
    },
  };
}
