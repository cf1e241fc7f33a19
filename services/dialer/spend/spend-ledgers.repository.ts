import type { Model } from "mongoose";
import { takeLongestDue } from "../../../shared/database/take-due.ts";
import { batched } from "../../../shared/batching.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { fail } from "../../../shared/errors.ts";
import { emptyLedger, type Ledger, type Step } from "./spend-reservations.ts";
import type { SpendLedgerDoc } from "./spend-ledgers.model.ts";

/** Reads and writes of `spend_ledgers`. */
export interface SpendLedgers {
  /** Makes a step of one ledger, whole and after every other one of it; its result. STORE_UNAVAILABLE: too many others write it. */
  step<T extends {} | null>(id: string, now: Date, make: (ledger: Ledger) => Step<T>): Promise<T>;
  find(id: string): Promise<SpendLedgerDoc | null>;
  /** The ledgers of these ids; those that nothing was written of are left out. */
  findMany(ids: readonly string[]): Promise<SpendLedgerDoc[]>;
  /** Claims the ledger whose reservations are due longest and keeps other nodes off until `next_due`. */
  takeDue(now: Date, next_due: Date): Promise<SpendLedgerDoc | null>;
}

/** Rounds without a write: in each another process was sooner. */
const MAX_LOST_ROUNDS = 200;
/** Steps of one moment that are made in one go. */
const STEPS_AT_ONCE = 500;

/** One step that waits for its turn; `make` gives the ledger after it and keeps its own result, and may be made again. */
interface Waiting {
  id: string;
  now: Date;
  make(ledger: Ledger): Ledger;
  error?: unknown;
}

/** The earliest instant at which a reservation is to be looked at. */
const dueOf = ({ reserved }: Ledger): Date | null =>
  reserved.reduce<Date | null>((first, { until }) => (first === null || until < first ? until : first), null);

/** Makes steps of ledgers: those of one moment and ledger one after another, in one write. */
function stepper(model: Model<SpendLedgerDoc>, find: SpendLedgers["find"]): SpendLedgers["step"] {
  /** Writes the ledger where it is still of this revision; false: another writer was sooner. */
  const write = async (_id: string, rev: number, ledger: Ledger): Promise<boolean> => {
    const due_at = dueOf(ledger);
    const next = { ...ledger, reserved: [...ledger.reserved], rev: rev + 1, ...(due_at === null ? {} : { due_at }) };
    const update = { $set: next, ...(due_at === null ? { $unset: { due_at: 1 as const } } : {}) };
    if (rev > 0) return (await model.updateOne({ _id, rev }, update)).modifiedCount > 0;
    try {
      await model.create({ _id, ...next });
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  };
  const makeAll = async (id: string, steps: readonly Waiting[]): Promise<void> => {
    for (let lost = 0; lost < MAX_LOST_ROUNDS; lost++) {
      const known = await find(id);
      const { day, month, reserved } = known ?? emptyLedger(steps[0]?.now ?? new Date(0));
      const before: Ledger = { day, month, reserved };
      const after = steps.reduce((ledger, step) => step.make(ledger), before);
      const same = after.reserved === reserved && after.day === day && after.month === month;
      if (same || (await write(id, known?.rev ?? 0, after))) return;
    }
    fail("STORE_UNAVAILABLE", "The ledger of a spend ceiling is written by too many at once; try again.");
  };
  const made = batched(
    async (steps: Waiting[]) => {
      const failing = (of: readonly Waiting[]) => (error: unknown) => {
        for (const step of of) step.error = error;
      };
      const byLedger = [...Map.groupBy(steps, ({ id }) => id)];
      await Promise.all(byLedger.map(([id, of]) => makeAll(id, of).catch(failing(of))));
      return steps;
    },
    { maxItems: STEPS_AT_ONCE },
  );
  return async <T extends {} | null>(id: string, now: Date, make: (ledger: Ledger) => Step<T>): Promise<T> => {
    const results: T[] = [];
    const { error } = await made({
      id,
      now,
      make(ledger) {
        const step = make(ledger);
        results[0] = step.result;
        return step.ledger;
      },
    });
    if (error !== undefined) throw error;
    const [result] = results;
    return result === undefined ? fail("STORE_UNAVAILABLE", "A step of a spend ledger was not made.") : result;
  };
}

/** The repository on its model. */
export function createSpendLedgers(model: Model<SpendLedgerDoc>): SpendLedgers {
  const find = (id: string): Promise<SpendLedgerDoc | null> => model.findById(id).lean<SpendLedgerDoc>();
  return {
    find,
    step: stepper(model, find),
    findMany: (ids) => model.find({ _id: { $in: [...ids] } }).lean<SpendLedgerDoc[]>(),
    takeDue: (now, next_due) => takeLongestDue(model, now, next_due),
  };
}
