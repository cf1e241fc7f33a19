import { MongoClient, type Collection as Real, type Document } from "mongodb";
import { startStore, type RunningStore } from "../../../local/store/server.ts";
import { Collection } from "../collection/collection.ts";
import type { Filter } from "../collection/match.ts";
import { seeded, type Random } from "../engine/random.ts";
import type { Update } from "../collection/update.ts";
import type { Doc } from "../collection/values.ts";
import { played } from "../../fixtures/long-form.ts";

/** Moves that are compared, and documents that they are made on. */
const MOVES = played(400, 1500);
const DOCS = 8;
const AGO = new Date("2020-01-01T00:00:00Z");
const FAR = new Date("2040-01-01T00:00:00Z");

const ids = Array.from({ length: DOCS }, (_, i) => `id${i}`);
const WORDS = ["BACKLOG", "RETRY", "PROCESSING"];

const someDate = (r: Random): Date => new Date(Date.UTC(2026, 0, r.whole(1, 6)));
const slot = (r: Random): Doc => ({ holder: `h${r.whole(0, 5)}~${r.whole(0, 1)}`, until: r.pick([AGO, FAR]) });
const document = (r: Random, _id: string): Doc => ({
  _id,
  status: r.pick(WORDS),
  n: r.whole(0, 4),
  held: r.chance(0.5) ? null : { why: r.pick(["window", "line"]), times: 1 },
  slots: Array.from({ length: r.whole(0, 3) }, () => slot(r)),
  ring: [someDate(r), someDate(r), someDate(r)].sort(Number),
  ...(r.chance(0.6) ? { due: someDate(r) } : {}),
  ...(r.chance(0.5) ? { lease: r.chance(0.3) ? null : someDate(r) } : {}),
});

const LIVE = { $filter: { input: "$slots", as: "slot", cond: { $gt: ["$$slot.until", "$$NOW"] } } };
const FILTERS: ((r: Random) => Filter)[] = [
  (r) => ({ _id: r.pick(ids) }),
  (r) => ({ status: r.pick(WORDS) }),
  (r) => ({ status: { $in: [r.pick(WORDS), r.pick(WORDS)] }, n: { $gte: r.whole(0, 4) } }),
  (r) => ({ due: { $lte: someDate(r) } }),
  (r) => ({ due: { $gt: someDate(r), $lte: someDate(r) } }),
  (r) => ({ due: { $exists: r.chance(0.5) }, lease: null }),
  () => ({ lease: { $ne: null } }),
  (r) => ({ "held.why": r.pick([null, "window", { $ne: "line" }]) }),
  (r) => ({ "slots.holder": `h${r.whole(0, 5)}~0` }),
  (r) => ({ "slots.holder": { $nin: [`h${r.whole(0, 5)}~0`, `h${r.whole(0, 5)}~1`] } }),
  (r) => ({ slots: { $elemMatch: { holder: { $gte: `h${r.whole(0, 5)}~`, $lt: `h${r.whole(0, 5)}~\uffff` } } } }),
  (r) => ({ $expr: { $lt: [{ $size: LIVE }, r.whole(0, 3)] } }),
  (r) => ({ slots: { $size: r.whole(0, 2) }, $or: [{ n: r.whole(0, 4) }, { status: r.pick(WORDS) }] }),
  (r) => ({ $and: [{ n: { $lt: r.whole(1, 5) } }, { $nor: [{ status: r.pick(WORDS) }] }] }),
  (r) => ({ n: { $not: { $gt: r.whole(0, 4) } }, due: { $lt: someDate(r) } }),
  (r) => ({ ring: someDate(r) }),
  (r) => ({ $expr: { $lte: [{ $arrayElemAt: ["$ring", 0] }, { $subtract: ["$$NOW", r.whole(0, 1e12)] }] } }),
];

const UPDATES: ((r: Random) => Update)[] = [
  (r) => ({ $set: { status: r.pick(WORDS), lease: someDate(r) }, $unset: { due: 1 }, $inc: { n: 1 } }),
  (r) => ({ $set: { due: someDate(r), held: { why: "rate", times: 1 } }, $inc: { n: -1, fresh: 2 } }),
  () => ({ $set: { "held.until": FAR }, $inc: { "held.times": 1 } }),
  (r) => ({ $push: { ring: { $each: [someDate(r), someDate(r)], $slice: -4 } } }),
  (r) => ({
    $push: { history: { $each: [{ event: "x", at: someDate(r) }], $slice: 3 } },
    $min: { n: 1 },
    $max: { due: someDate(r) },
  }),
  (r) => ({ $pull: { slots: { holder: `h${r.whole(0, 5)}~0` } } }),
  (r) => ({ $pull: { slots: { holder: { $in: [`h${r.whole(0, 5)}~0`, `h${r.whole(0, 5)}~1`] } } } }),
  (r) => ({ $addToSet: { tags: r.pick(["a", "b", "c"]) } }),
  (r) => ({ $set: { held: null }, $push: { tags: r.pick(["a", "b"]) } }),
  () => ({ $set: { "held.why": "x", held: null } }), // a conflict: both must refuse it
  (r) => [
    { $set: { slots: { $concatArrays: [LIVE, [{ holder: { $literal: `h${r.whole(0, 5)}~1` }, until: FAR }]] } } },
  ],
  (r) => [
    {
      $set: {
        slots: {
          $map: {
            input: LIVE,
            as: "s",
            in: {
              $cond: [
                { $eq: ["$$s.holder", { $literal: `h${r.whole(0, 5)}~0` }] },
                { holder: "$$s.holder", until: FAR },
                "$$s",
              ],
            },
          },
        },
      },
    },
  ],
  (r) => [
    {
      $set: {
        ring: {
          $concatArrays: [{ $slice: ["$ring", 1, 10] }, [{ $max: [someDate(r), { $arrayElemAt: ["$ring", -1] }] }]],
        },
      },
    },
    { $unset: "lease" },
  ],
  () => [
    {
      $set: {
        n: { $ifNull: ["$n", 0] },
        last: { $last: "$ring" },
        gap: { $subtract: [{ $last: "$ring" }, { $first: "$ring" }] },
        later: { $add: [{ $first: "$ring" }, 1000] },
      },
    },
  ],
];

const SORTS = [
  { due: 1, _id: 1 },
  { n: -1, _id: -1 },
  { status: 1, n: 1, _id: 1 },
  { "held.why": 1, _id: 1 },
] as const;
const PROJECTIONS = [
  null,
  { history: 0 },
  { n: 1, due: 1 },
  { _id: 0, status: 1 },
  { free: { $size: LIVE }, n: 1 },
  { "held.why": 1 },
  { "held.until": 1, n: 1 },
] as const;

describe("the simulated database agrees with the embedded store", () => {
  let store: RunningStore;
  let client: MongoClient;
  let real: Real<Document & { _id: string }>;
  const simulated = new Collection(
    "docs",
    [{ name: "one_line", paths: ["slots.holder"], partial: { "slots.holder": { $exists: true } } }],
    () => new Date(),
  );

  beforeAll(async () => {
    store = await startStore({ dir: ":memory:", port: 0 });
    client = await MongoClient.connect(store.url);
    real = client.db("compare").collection("docs");
    await real.createIndex(
      { "slots.holder": 1 },
      { name: "one_line", unique: true, partialFilterExpression: { "slots.holder": { $exists: true } } },
    );
  });
  afterAll(async () => {
    await client.close();
    await store.close();
  });

  const both = async (what: string, onReal: () => Promise<unknown>, onSimulated: () => unknown): Promise<void> => {
    const [a, b] = await Promise.all([
      onReal().then(
        (value) => ({ value }),
        () => ({ value: "refused" }),
      ),
      (async () => onSimulated())().then(
        (value) => ({ value }),
        () => ({ value: "refused" }),
      ),
    ]);
    expect({ what, value: b.value }).toEqual({ what, value: a.value });
  };

  it(`over ${MOVES} random moves`, async () => {
    const r = seeded(20_261_121);
    for (let i = 0; i < MOVES; i++) {
      const filter = r.pick(FILTERS)(r);
      const update = r.pick(UPDATES)(r);
      const sort = { ...r.pick(SORTS) };
      const projection = r.pick(PROJECTIONS);
      const what = `${i}: ${JSON.stringify(filter)} ${JSON.stringify(update)}`;
      const shown = projection === null ? {} : { projection: { ...projection } };
      const change = update as Parameters<typeof real.updateOne>[1];
      switch (r.whole(0, 6)) {
        case 0: {
          const doc = document(r, r.pick(ids));
          await both(
            `insert ${what}`,
            () => real.insertOne({ ...doc } as Document & { _id: string }).then(() => "in"),
            () => {
              simulated.insert(doc);
              return "in";
            },
          );
          break;
        }
        case 1:
          await both(
            `findOneAndUpdate ${what}`,
            () => real.findOneAndUpdate(filter, change, { sort, returnDocument: "after", ...shown }),
            () => simulated.change(filter, update, { sort, after: true, projection: projection && { ...projection } }),
          );
          break;
        case 2:
          await both(
            `updateOne by id ${what}`,
            () => real.updateOne({ ...filter, _id: "id1" }, change).then((d) => d.matchedCount),
            () => simulated.changeAll({ ...filter, _id: "id1" }, update, 1).matched,
          );
          break;
        case 3:
          await both(
            `find ${what}`,
            () => real.find(filter, { sort, limit: 3, ...shown }).toArray(),
            () => simulated.find(filter, { sort, limit: 3, projection: projection && { ...projection } }),
          );
          break;
        case 4: {
          const gone = { ...filter, _id: r.chance(0.3) ? "id2" : "none" };
          await both(
            `delete ${what}`,
            () => real.deleteOne(gone).then((d) => d.deletedCount),
            () => simulated.remove(gone, 1),
          );
          break;
        }
        case 5:
          await both(
            `aggregate ${what}`,
            () =>
              real
                .aggregate([
                  { $match: filter },
                  { $group: { _id: "$status", n: { $sum: 1 }, all: { $sum: "$n" }, first: { $min: "$due" } } },
                  { $sort: { _id: 1 } },
                ])
                .toArray(),
            () =>
              simulated.aggregate([
                { $match: filter },
                { $group: { _id: "$status", n: { $sum: 1 }, all: { $sum: "$n" }, first: { $min: "$due" } } },
                { $sort: { _id: 1 } },
              ]),
          );
          break;
        default:
          await both(
            `changed and read ${what}`,
            async () => {
              await real.findOneAndUpdate(filter, change, { sort });
              return real.find({}, { sort: { _id: 1 } }).toArray();
            },
            () => {
              simulated.change(filter, update, { sort });
              return simulated.find({}, { sort: { _id: 1 } });
            },
          );
      }
    }
    await both(
      "all in the end",
      () => real.find({}, { sort: { _id: 1 } }).toArray(),
      () => simulated.find({}, { sort: { _id: 1 } }),
    );
    expect(simulated.docs.size).toBeGreaterThan(2);
  }, 60_000);

  it("and refuses what it does not know", () => {
    simulated.insert({ _id: "unknown", a: 1 });
    expect(() => simulated.find({ a: { $regex: "x" } })).toThrow("does not know the filter $regex");
    expect(() => simulated.change({ _id: "unknown" }, { $rename: { a: "b" } })).toThrow(
      "does not know the update $rename",
    );
    expect(() => simulated.find({ $expr: { $sinh: "$a" } })).toThrow("does not know the expression $sinh");
    expect(() => simulated.aggregate([{ $lookup: {} }])).toThrow("does not know the stage $lookup");
    expect(() => simulated.find({ a: undefined })).toThrow("undefined");
  });
});
