import mongoose, { type Model } from "mongoose";
import { isDuplicateKey } from "./errors.ts";
import { joining } from "./joining.ts";

/** One guarded write to one document: whole, or not at all when the guard no longer holds. `filter` names the document by `_id`. */
export interface GuardedMove {
  filter: Record<string, unknown>;
  update: { $set?: object; $push?: object };
}

/** A document that keeps the marks of its last moves, so that a writer whose answer was lost, or who wrote many at once, knows its own. */
export interface Marked {
  marks?: string[];
}

/** Fields that are read back (1), or all but these (0). */
export type Projection = Record<string, 0 | 1>;

/** Marks kept per document: so many moves by others may come between a write and its writer's look. */
const MARKS_KEPT = 6;
/** Moves joined into one write. */
const MOVES_AT_ONCE = 100;
const MAX_TIME_MS = 8000;

/** The move with its writer's mark. */
const marked = <M extends GuardedMove>({ filter, update }: M, mark: string) => ({
  filter,
  update: { ...update, $push: { ...update.$push, marks: { $each: [mark], $slice: -MARKS_KEPT } } },
});

const byMark = (moves: readonly GuardedMove[], mark: string): Record<string, unknown> => ({
  _id: { $in: moves.map((m) => m.filter["_id"]) },
  marks: mark,
});

/** What became of one move of many: the document afterwards, null when its guard no longer held, or why nobody can tell. */
export type Made<Doc> = { doc: Doc | null } | { failure: unknown };

/** True where each write that was refused was so for a unique key that another document has. */
function onlyDuplicates(failure: unknown): boolean {
  if (!(failure instanceof mongoose.mongo.MongoBulkWriteError) || failure.result.getWriteConcernError()) return false;
  const faults = [failure.writeErrors].flat();
  return faults.length > 0 && faults.every(isDuplicateKey);
}

/**
 * Makes moves of different documents in one go, in order. A document is returned as it is now, perhaps moved on since. A document named twice is moved by the first that
 * fits, the others count as not made. What failed is looked up by its mark.
 */
export async function moveEach<Doc extends Marked, Shown = Doc>(
  model: Model<Doc>,
  moves: readonly GuardedMove[],
  mark: string,
  projection: Projection,
): Promise<Made<Shown>[]> {
  const writes = moves.map((m) => ({ updateOne: marked(m, mark) }));
  const failure: unknown = await model
    .bulkWrite(writes as Parameters<Model<Doc>["bulkWrite"]>[0], { ordered: false })
    .then(
      () => null,
      (error: unknown) => error,
    );
  const mine = await model
    .find(byMark(moves, mark), projection)
    .maxTimeMS(MAX_TIME_MS)
    .lean<(Shown & { _id: unknown })[]>()
    .exec();
  const byId = new Map(mine.map((d) => [d._id, d]));
  const refused = failure === null || onlyDuplicates(failure);
  return moves.map(({ filter: { _id } }): Made<Shown> => {
    const doc = byId.get(_id);
    byId.delete(_id);
    if (doc !== undefined) return { doc };
    return refused ? { doc: null } : { failure };
  });
}

/** One move alone: one round trip, a second one only where the answer was lost. */
async function moveOne<Doc extends Marked>(
  model: Model<Doc>,
  move: GuardedMove,
  mark: string,
  projection: Projection,
): Promise<Made<Doc>> {
  const { filter, update } = marked(move, mark);
  try {
    return {
      doc: await model
        .findOneAndUpdate(filter, update, { returnDocument: "after", projection, maxTimeMS: MAX_TIME_MS })
        .lean<Doc>()
        .exec(),
    };
  } catch (failure) {
    if (isDuplicateKey(failure)) return { doc: null };
    const mine = await model
      .findOne(byMark([move], mark), projection)
      .maxTimeMS(MAX_TIME_MS)
      .lean<Doc>()
      .exec();
    return mine === null ? { failure } : { doc: mine };
  }
}

/** How moves are made: `mark` gives a new one each time. */
export interface MovingHow {
  mark(): string;
  projection: Projection;
}

/**
 * Makes moves one by one for many callers: those of one moment share a round trip, each is still whole for itself. The document afterwards, or null when the guard no longer
 * held or another document has its unique key; throws what the database threw where nobody can tell.
 */
export function joinedMoves<Doc extends Marked>(
  model: Model<Doc>,
  { mark, projection }: MovingHow,
): (move: GuardedMove) => Promise<Doc | null> {
  const run = joining(async (moves: GuardedMove[]): Promise<Made<Doc>[]> => {
    const first = new Map(moves.map((m) => [m.filter["_id"], m] as const).reverse());
    const together = moves.filter((m) => first.get(m.filter["_id"]) === m);
    const [alone] = together;
    const made = new Map<GuardedMove, Made<Doc>>();
    if (together.length === 1 && alone) made.set(alone, await moveOne(model, alone, mark(), projection));
    else
      (await moveEach(model, together, mark(), projection)).forEach((m, i) => {
        const move = together[i];
        if (move) made.set(move, m);
      });
    // a second move of the same document comes after the first, as it was asked for
    for (const move of moves) if (!made.has(move)) made.set(move, await moveOne(model, move, mark(), projection));
    return moves.map((move) => made.get(move) ?? { doc: null });
  }, MOVES_AT_ONCE);
  return async (move) => {
    const made = await run(move);
    if ("failure" in made) throw made.failure;
    return made.doc;
  };
}
