import type { Socket } from "node:net";
import { serialize } from "bson";
import type { Collection, Db, Document } from "mongodb";
import { frame, nestedBytes, send, spoiled } from "./hostile-wire.ts";

/** What a client has at hand: its own database, chance, and the store's port for frames that no driver writes. */
export interface Client {
  db: Db;
  things: Collection<ThingDoc>;
  port: number;
  random(): number;
  /** Connections left half open. */
  open: Set<Socket>;
}

/** What the clients' collections hold. */
export interface ThingDoc {
  _id: number;
  n?: number;
  text?: string;
  list?: unknown[];
  wide?: number[];
  log?: number[];
  objects?: { k: number }[];
  set?: number[];
  seen?: number;
  taken?: boolean;
  huge?: string;
}

/** A class of commands. It resolves when it was answered, to a word about the answer if there is more than one; a refusal rejects. */
export interface CommandClass {
  kind: "valid" | "invalid" | "hostile" | "heavy";
  name: string;
  run(client: Client): Promise<unknown>;
}

const THINGS = 2000;
const PAGE = 50;

/** Fills a client's collection anew. */
export async function fill(things: Collection<ThingDoc>): Promise<void> {
  await things.deleteMany({});
  await things.insertMany(
    Array.from({ length: THINGS }, (_, i) => ({
      _id: i,
      n: i % 97,
      text: `${"a".repeat(40)}!`,
      list: [i, i + 1, { k: i % 7 }],
      wide: Array.from({ length: 20 }, (_v, k) => k),
    })),
    { ordered: false },
  );
}

const whole = (c: Client, below: number): number => Math.floor(c.random() * below);
const WRONG: readonly unknown[] = [null, true, -1, 1e300, "x", "$", [], [[]], {}, { $x: 1 }, new Date(0), /\//];
const COMMANDS: readonly Document[] = [
  { find: "things", filter: {}, sort: {}, projection: {}, limit: 1, skip: 0, hint: {}, let: {}, batchSize: 1 },
  { aggregate: "things", pipeline: [], cursor: {}, let: {}, hint: {}, maxTimeMS: 1 },
  { update: "things", updates: [{ q: {}, u: { $set: { a: 1 } }, multi: false }], ordered: true },
  { delete: "things", deletes: [{ q: { _id: -1 }, limit: 1 }], ordered: true },
  { insert: "things", documents: [{ _id: -1 }], ordered: true },
  { findAndModify: "things", query: {}, update: { $set: { a: 1 } }, sort: {}, fields: {}, new: true },
  { count: "things", query: {}, limit: 1, skip: 1, hint: {} },
  { distinct: "things", key: "n", query: {} },
  { createIndexes: "things", indexes: [{ key: { n: 1 }, name: "n_1" }] },
  { getMore: 1, collection: "things", batchSize: 1 },
  { killCursors: "things", cursors: [] },
];
const STAGES =
  "$match $project $set $group $sort $limit $skip $unwind $lookup $facet $bucket $sample $out $merge $count $unionWith $graphLookup $setWindowFields $fill $densify".split(
    " ",
  );

function wrongArgument(c: Client): Promise<unknown> {
  const command = COMMANDS[whole(c, COMMANDS.length)] ?? {};
  const names = Object.keys(command);
  const name = names[whole(c, names.length)] ?? "";
  return c.db.command({ ...command, [name]: WRONG[whole(c, WRONG.length)] });
}

const pipeline = (c: Client, stages: Document[]): Promise<unknown> => c.things.aggregate(stages).toArray();
const nested = (depth: number, wrap: (inner: Document) => Document): Document => {
  let inner: Document = { n: 1 };
  for (let i = 0; i < depth; i++) inner = wrap(inner);
  return inner;
};
const range = (to: number): Document => ({ $range: [0, to] });

const valid: Record<string, CommandClass["run"]> = {
  "find by _id": (c) => c.things.findOne({ _id: whole(c, THINGS) }),
  "find a range, sorted": (c) =>
    c.things
      .find({ n: { $gte: whole(c, 97) } })
      .sort({ n: 1, _id: 1 })
      .limit(PAGE)
      .toArray(),
  insert: (c) => c.things.insertOne({ _id: THINGS + whole(c, THINGS), n: 1 }),
  update: (c) =>
    c.things.updateMany({ n: whole(c, 97) }, { $inc: { seen: 1 }, $push: { log: { $each: [1], $slice: -5 } } }),
  "delete and fill anew": (c) => (whole(c, 20) === 0 ? fill(c.things) : c.things.deleteOne({ _id: whole(c, THINGS) })),
  group: (c) => pipeline(c, [{ $group: { _id: "$n", sum: { $sum: "$_id" } } }, { $sort: { sum: -1 } }, { $limit: 5 }]),
  index: (c) => c.things.createIndex({ n: 1, _id: -1 }),
  findAndModify: (c) => c.things.findOneAndUpdate({ n: whole(c, 97) }, { $set: { taken: true } }, { sort: { _id: 1 } }),
};

const invalid: Record<string, CommandClass["run"]> = {
  "a wrong argument": wrongArgument,
  "a wrong stage": (c) => pipeline(c, [{ [STAGES[whole(c, STAGES.length)] ?? ""]: WRONG[whole(c, WRONG.length)] }]),
  "an unknown operator": (c) => c.things.find({ n: { $nope: 1 } }).toArray(),
  "an unknown command": (c) => c.db.command({ nope: 1 }),
};

/** They work until the store stops them. */
const heavy: Record<string, CommandClass["run"]> = {
  "a regex of many repeats": (c) => c.things.find({ text: { $regex: "(a?){500}a{500}" } }).toArray(),
  "regex bomb in an expression": (c) =>
    pipeline(c, [{ $match: { $expr: { $regexMatch: { input: "$text", regex: "^(a+)+$" } } } }]),
  "$range of 1e8": (c) => pipeline(c, [{ $limit: 3 }, { $project: { a: range(1e8) } }]),
  "$map in $map": (c) =>
    pipeline(c, [
      { $project: { a: { $map: { input: range(3000), in: { $map: { input: range(3000), in: "$n" } } } } } },
    ]),
  "$reduce that doubles a text": (c) =>
    pipeline(c, [
      { $limit: 1 },
      {
        $project: { a: { $reduce: { input: range(40), initialValue: "ab", in: { $concat: ["$$value", "$$value"] } } } },
      },
    ]),
  "$unwind of a product": (c) =>
    pipeline(c, [
      { $set: { b: "$wide", d: "$wide" } },
      { $unwind: "$wide" },
      { $unwind: "$b" },
      { $unwind: "$d" },
      { $count: "n" },
    ]),
  "$lookup of all in all": (c) =>
    pipeline(c, [{ $lookup: { from: "things", pipeline: [], as: "all" } }, { $project: { n: { $size: "$all" } } }]),
  "$facet of products": (c) =>
    pipeline(c, [{ $facet: { a: [{ $unwind: "$wide" }], b: [{ $unwind: "$wide" }], d: [{ $unwind: "$list" }] } }]),
  "$graphLookup through all": (c) =>
    pipeline(c, [
      { $limit: 20 },
      { $graphLookup: { from: "things", startWith: "$n", connectFromField: "n", connectToField: "n", as: "all" } },
      { $count: "n" },
    ]),
  "a large sort": (c) =>
    pipeline(c, [
      { $unwind: "$wide" },
      { $set: { pad: { $concat: ["$text", "$text", "$text", "$text"] } } },
      { $sort: { pad: 1, wide: -1, n: 1 } },
      { $limit: 1 },
    ]),
  "$group that keeps all": (c) =>
    pipeline(c, [{ $unwind: "$wide" }, { $group: { _id: null, all: { $push: "$$ROOT" } } }, { $count: "n" }]),
};

const hostile: Record<string, CommandClass["run"]> = {
  "regex bomb": (c) =>
    c.things.find({ text: { $regex: ["^(a+)+$", "(a|a)*$b", "^(a|aa)+$"][whole(c, 3)] ?? "" } }).toArray(),
  "a filter nested deeply": (c) =>
    c.things.find(nested(45, (inner) => (whole(c, 2) === 0 ? { $and: [inner] } : { $or: [inner] }))).toArray(),
  "$in of many": (c) => c.things.find({ n: { $in: Array.from({ length: 20_000 }, (_, i) => i) } }).toArray(),
  "$all of many": (c) => c.things.find({ wide: { $all: Array.from({ length: 20_000 }, (_, i) => i % 20) } }).toArray(),
  "many regexes": (c) =>
    c.things
      .find({ text: { $in: Array.from({ length: 300 }, (_, i) => new RegExp(`b{${i + 1}}[\\w-]+`, "i")) } })
      .toArray(),
  "bits of far places": (c) =>
    c.things.find({ n: { $bitsAllClear: Array.from({ length: 20_000 }, (_, i) => 2_000_000_000 + i) } }).toArray(),
  "$addToSet of many": (c) =>
    c.things.updateOne({ _id: 1 }, { $addToSet: { set: { $each: Array.from({ length: 20_000 }, (_, i) => i) } } }),
  "$push and $sort of many": (c) =>
    c.things.updateOne(
      { _id: 2 },
      {
        $push: {
          objects: { $each: Array.from({ length: 50_000 }, (_, i) => ({ k: -i })), $sort: { k: 1 }, $slice: 100 },
        },
      },
    ),
  "$pull by a filter": (c) =>
    c.things.updateMany({}, { $pull: { wide: { $in: Array.from({ length: 2000 }, (_, i) => i + 100) } } }),
  "nulls up to a far index": (c) => c.things.updateOne({ _id: 3 }, { $set: { "far.1499999": 1 } }),
  "array filters on arrays": (c) =>
    c.things.updateMany(
      {},
      { $set: { "list.$[a].k": 1 } },
      { arrayFilters: [{ "a.k": { $in: Array.from({ length: 5000 }, (_, i) => i) } }] },
    ),
  "a document of ten megabytes": (c) =>
    c.things.replaceOne({ _id: 4 }, { huge: "x".repeat(10_000_000) }, { upsert: true }),
  "cursors never closed": async (c) => {
    for (let i = 0; i < 5; i++) await c.db.command({ find: "things", batchSize: 1, noCursorTimeout: false });
  },
  "a collection dropped under a cursor": async (c) => {
    const { cursor } = await c.db.command({
      aggregate: "things",
      pipeline: [{ $sort: { text: 1, n: 1 } }],
      cursor: { batchSize: 1 },
    });
    await c.things.drop();
    await fill(c.things);
    return c.db.command({ getMore: cursor.id, collection: "things" });
  },
  "documents nested too deeply": (c) => send(c.port, frame(nestedBytes(3000))),
  "a spoiled frame": (c) =>
    send(
      c.port,
      spoiled({ find: "things", filter: { a: [1, "text", { b: 2 }] }, $db: c.db.databaseName }, [
        c.random(),
        c.random(),
        c.random(),
      ]),
    ),
  "a frame of 2 GB announced": (c) =>
    send(c.port, Buffer.from([255, 255, 255, 127, 1, 0, 0, 0, 0, 0, 0, 0, 221, 7, 0, 0])),
  "an unknown opcode": (c) => send(c.port, frame(serialize({ ping: 1 }), 9999)),
  "half a frame": (c) => {
    for (const socket of [...c.open].slice(0, Math.max(0, c.open.size - 20))) {
      socket.destroy();
      c.open.delete(socket);
    }
    return send(c.port, frame(serialize({ ping: 1, $db: "admin" })).subarray(0, 20), c.open);
  },
};

const classes = (kind: CommandClass["kind"], rows: Record<string, CommandClass["run"]>): CommandClass[] =>
  Object.entries(rows).map(([name, run]) => ({ kind, name, run }));

/** Every class of commands that the eight clients send; a new one is one more row above. */
export const COMMAND_CLASSES: readonly CommandClass[] = [
  ...classes("valid", valid),
  ...classes("invalid", invalid),
  ...classes("hostile", hostile),
  ...classes("heavy", heavy),
];
