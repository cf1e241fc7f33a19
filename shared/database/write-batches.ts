import mongoose, { type Model } from "mongoose";
import { fail } from "../errors.ts";
import { isDuplicateKey, isGivenUp, writeErrorsOf } from "./database-errors.ts";

/*
 * Writes of several documents. A database that holds a lock until its command ends would have two commands wait for each other, some
 * for ever, that write the same documents in different orders: batches are written in the order of their ids, whoever asks.
 */

/** Result of inserting one document; `present`: one with its id or unique key exists already. */
export type Written = "written" | "present" | "failed";

/** A write to one document, which `filter` names by `_id`. */
export interface DocumentWrite {
  filter: Record<string, unknown>;
  update: object;
}

const INSERT = { ordered: false, lean: true, rawResult: true, throwOnValidationError: true } as const;
/** Times that a write is asked for: of those that wait for each other in a circle, the database gives up one. */
const TRIES = 8;
/** Times that a change is tried again because another one came first. */
const MOST_LOST_RACES = 20;

const byText = (a: unknown, b: unknown): number => (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0);

/** The driver's error where it can't put a document into any request; it throws that for a whole batch, before anything is sent. Null: it can. */
function unwritable(doc: object): unknown {
  try {
    mongoose.mongo.BSON.serialize(doc);
    return null;
  } catch (error) {
    return error;
  }
}

/** A document that was not inserted. */
interface Refusal {
  index: number;
  fault: unknown;
  error: unknown;
}

/** After a failure without results: where documents of the batch are the reason, the others are inserted without them. Throws the failure where none is. */
async function withoutUnwritable<Doc extends { _id: string }>(
  model: Model<Doc>,
  docs: readonly Doc[],
  failure: unknown,
): Promise<Refusal[]> {
  const guilty = docs.flatMap((doc, index): Refusal[] => {
    const error = unwritable(doc);
    return error === null ? [] : [{ index, fault: error, error }];
  });
  if (guilty.length === 0 || guilty.length === docs.length) throw failure;
  const at = new Set(guilty.map(({ index }) => index));
  const rest = [...docs.entries()].filter(([index]) => !at.has(index));
  const refused = await refusalsOf(
    model,
    rest.map(([, doc]) => doc),
  );
  return [...guilty, ...refused.map(({ index, ...of }) => ({ ...of, index: rest[index]?.[0] ?? index }))];
}

/** Inserts what can be inserted, each document for itself; the refusals, each with the index of its document. Throws where no result is known. */
async function refusalsOf<Doc extends { _id: string }>(model: Model<Doc>, docs: readonly Doc[]): Promise<Refusal[]> {
  const inOrder = [...docs.entries()].sort(([, a], [, b]) => byText(a._id, b._id));
  try {
    await model.insertMany(
      inOrder.map(([, doc]) => doc),
      INSERT,
    );
    return [];
  } catch (error) {
    const refused = writeErrorsOf(error);
    if (refused === null) return withoutUnwritable(model, docs, error);
    return refused.map((fault) => ({ index: inOrder[fault.index]?.[0] ?? fault.index, fault, error }));
  }
}

/** Inserts what can be inserted, each document for itself; returns each result in order. Throws where no result is known. */
export async function insertEach<Doc extends { _id: string }>(
  model: Model<Doc>,
  docs: readonly Doc[],
): Promise<Written[]> {
  const written: Written[] = docs.map(() => "written");
  for (const { index, fault } of await refusalsOf(model, docs))
    written[index] = isDuplicateKey(fault) ? "present" : "failed";
  return written;
}

/** Inserts the documents that are not there yet; true for each that was not. Throws the driver's error when one failed for any other reason. */
export async function insertNew<Doc extends { _id: string }>(
  model: Model<Doc>,
  docs: readonly Doc[],
): Promise<boolean[]> {
  const fresh = docs.map(() => true);
  for (const { index, fault, error } of await refusalsOf(model, docs)) {
    if (!isDuplicateKey(fault)) throw error;
    fresh[index] = false;
  }
  return fresh;
}

/**
 * Inserts documents one after the other, as they stand: where one fails, none behind it is inserted. False: one has its id or a unique key taken. Throws the driver's error otherwise.
 */
export async function appendEach<Doc extends { _id: string | number }>(
  model: Model<Doc>,
  docs: readonly Doc[],
): Promise<boolean> {
  try {
    await model.insertMany([...docs], { ...INSERT, ordered: true });
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/** Makes each write whose filter holds, all in one request; how many those were. Throws the driver's error when one was refused, or can't be sent at all; the others are made all the same. */
export async function updateEach<Doc>(model: Model<Doc>, writes: readonly DocumentWrite[]): Promise<number> {
  const inOrder = writes
    .toSorted((a, b) => byText(a.filter["_id"], b.filter["_id"]))
    .map((updateOne) => ({ updateOne }));
  try {
    return (await model.bulkWrite(inOrder as Parameters<Model<Doc>["bulkWrite"]>[0], { ordered: false })).matchedCount;
  } catch (error) {
    const rest = writeErrorsOf(error) === null ? writes.filter((write) => unwritable(write) === null) : [];
    if (rest.length > 0 && rest.length < writes.length) await updateEach(model, rest);
    throw error;
  }
}

/**
 * Makes a write of several documents that are found by other fields than their ids: one that the database gave up for another was not made, and is
 * asked for again. `write` asks for one that may be made twice, and throws the last error where it was given up each time.
 */
export async function repeatGivenUp<T>(write: () => PromiseLike<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (tries === TRIES || !isGivenUp(error)) throw error;
    }
  }
}

/**
 * Makes a change of what was just read, which holds only where nothing changed since: `attempt` reads and writes, and gives null where another change came first.
 * `what` is changed, for the error. BUSY: others came first each time.
 */
export async function againstOthers<T>(what: string, attempt: () => Promise<T | null>): Promise<T> {
  for (let lost = 0; lost < MOST_LOST_RACES; lost++) {
    const made = await attempt();
    if (made !== null) return made;
  }
  return fail("BUSY", `${what} by many at once; try again in a few seconds.`);
}
