import { reserve, settle, type Reached } from "../../../services/dialer/spend/spend-reservations.ts";
import { spendLedgerSchema } from "../../../services/dialer/spend/spend-ledgers.model.ts";
import { createSpendLedgers, type SpendLedgers } from "../../../services/dialer/spend/spend-ledgers.repository.ts";
import { openStore, type Store } from "../../../shared/database/mongo.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";

/** Ledgers in the database, written by several processes at once. */
const NOW = new Date("2026-11-23T12:00:00.000Z");
const TWO = { per_day: { calls: 2 } };
let database: Awaited<ReturnType<typeof freshDatabase>>;
let stores: Store[];
let ledgers: SpendLedgers[];
beforeAll(async () => {
  database = await freshDatabase();
  stores = [openStore(database.uri), openStore(database.uri)];
  ledgers = stores.map((store) => createSpendLedgers(store.model("spend_ledgers", spendLedgerSchema)));
  for (const store of stores) await store.open();
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await database.drop();
});

const reserved = (ledger: SpendLedgers, id: string, ref: string): Promise<Reached | null> =>
  ledger.step(id, NOW, (l) => reserve(l, TWO, { ref, calls: 1, minutes: 1, micros: 0, until: NOW }, NOW));

test("two dialers reserve twenty attempts at once: as many as the ceiling has calls, and each keeps its own when repeated", async () => {
  const refs = Array.from({ length: 20 }, (_, i) => `lead.${i}`);
  const ask = () =>
    Promise.all(
      refs.map(async (ref, i) => {
        const of = ledgers[i % 2];
        return of && (await reserved(of, "m1", ref)) === null ? ref : null;
      }),
    );
  const won = (await ask()).filter((ref) => ref !== null);
  expect(won).toHaveLength(2);
  expect((await ask()).filter((ref) => ref !== null)).toEqual(won);
  expect((await ledgers[0]?.find("m1"))?.reserved.map((r) => r.ref).sort()).toEqual([...won].sort());
});

test("an end that two dialers settle at once is committed once", async () => {
  const [one, other] = ledgers;
  if (!one || !other) throw new Error("there are two");
  await reserved(one, "m2", "a.1");
  const took = { calls: 1, minutes: 3, micros: 42_000 };
  const settled = await Promise.all([one, other].map((l) => l.step("m2", NOW, (d) => settle(d, "a.1", took, NOW))));
  expect(settled.sort()).toEqual([false, true]);
  expect(await one.find("m2")).toMatchObject({ day: took, month: took, reserved: [] });
});
