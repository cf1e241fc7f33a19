import type { Model } from "mongoose";
import { batched } from "../batching.ts";
import { isDuplicateKey, writeErrorsOf } from "./database-errors.ts";
import { updateEach } from "./write-batches.ts";

/** One guarded write to one document: whole, or not at all when the guard no longer holds. `filter` names the document by `_id`. */
export interface GuardedTransition {
  filter: Record<string, unknown>;
  update: { $set?: object; $inc?: object; $push?: object };
}

/** A document that keeps the marks of its last transitions: a writer of a batch, or one that lost the answer, recognises its own. */
export interface Marked {
  marks?: string[];
}

/** How a collection is written: `mark` gives a new unguessable word each time; `projection` names the fields that are read back (1), or left out (0). */
export interface GuardedOptions {
  mark(): string;
  projection: Record<string, 0 | 1>;
}

/** Marks kept per document: so many transitions by others may come between a write and its writer's read. */
const MARKS_KEPT = 6;
/** Transitions of one moment that share a write. */
const TRANSITIONS_PER_WRITE = 100;

/** Result of one transition: the document afterwards, null when its guard no longer held, or the error where the result is unknown. */
type Applied<Read> = { doc: Read | null } | { failure: unknown };

const marked = ({ filter, update }: GuardedTransition, mark: string) => ({
  filter,
  update: { ...update, $push: { ...update.$push, marks: { $each: [mark], $slice: -MARKS_KEPT } } },
});

const byMark = (transitions: readonly GuardedTransition[], mark: string): Record<string, unknown> => ({
  _id: { $in: transitions.map((t) => t.filter["_id"]) },
  marks: mark,
});

/** True where every refused write was refused for a unique key of another document. */
const onlyDuplicates = (failure: unknown): boolean => writeErrorsOf(failure)?.every(isDuplicateKey) ?? false;

/** The transitions of one collection: each is atomic by its guard, and known again by its mark when the database's answer is lost. */
export class GuardedCollection<Doc extends Marked, Read = Doc> {
  readonly #model: Model<Doc>;
  readonly #options: GuardedOptions;
  readonly #batched: (transition: GuardedTransition) => Promise<Applied<Read>>;

  constructor(model: Model<Doc>, options: GuardedOptions) {
    this.#model = model;
    this.#options = options;
    this.#batched = batched((transitions) => this.#inOrder(transitions), { maxItems: TRANSITIONS_PER_WRITE });
  }

  /**
   * Makes one transition; transitions of the same moment share a round trip. The document afterwards, or null when the guard no longer held or another document
   * has its unique key; throws the database's error where the outcome is unknown.
   */
  async transition(transition: GuardedTransition): Promise<Read | null> {
    const applied = await this.#batched(transition);
    if ("failure" in applied) throw applied.failure;
    return applied.doc;
  }

  /**
   * Makes transitions of different documents in one write; answers in order, null as for `transition`. Of two transitions of one document the second counts as
   * not made. Throws only where the write failed and left no trace of any of them.
   */
  async transitionMany(transitions: readonly GuardedTransition[]): Promise<(Read | null)[]> {
    if (transitions.length === 0) return [];
    const applied = await this.#applyAll(transitions);
    const docs = applied.map((a) => ("doc" in a ? a.doc : null));
    const lost = applied.find((a) => "failure" in a);
    if (lost && "failure" in lost && docs.every((doc) => doc === null)) throw lost.failure;
    return docs;
  }

  /** The first transition of each document in one write, then the others one by one, as they were asked for. */
  async #inOrder(transitions: readonly GuardedTransition[]): Promise<Applied<Read>[]> {
    const first = new Map(transitions.map((t) => [t.filter["_id"], t] as const).reverse());
    const together = transitions.filter((t) => first.get(t.filter["_id"]) === t);
    const [alone] = together;
    const applied = new Map<GuardedTransition, Applied<Read>>();
    if (together.length === 1 && alone) applied.set(alone, await this.#applyOne(alone));
    else {
      const all = await this.#applyAll(together);
      together.forEach((t, i) => applied.set(t, all[i] ?? { doc: null }));
    }
    for (const t of transitions) if (!applied.has(t)) applied.set(t, await this.#applyOne(t));
    return transitions.map((t) => applied.get(t) ?? { doc: null });
  }

  /** One round trip, a second one only where the answer was lost. */
  async #applyOne(transition: GuardedTransition): Promise<Applied<Read>> {
    const { mark, projection } = this.#options;
    const own = mark();
    const { filter, update } = marked(transition, own);
    try {
      const options = { returnDocument: "after", projection } as const;
      return { doc: await this.#model.findOneAndUpdate(filter, update, options).lean<Read>().exec() };
    } catch (failure) {
      if (isDuplicateKey(failure)) return { doc: null };
      const made = await this.#model
        .findOne(byMark([transition], own), projection)
        .lean<Read>()
        .exec();
      return made === null ? { failure } : { doc: made };
    }
  }

  /** One write for all, then a read of what carries its mark: a document is returned as it is by then, perhaps moved on since. */
  async #applyAll(transitions: readonly GuardedTransition[]): Promise<Applied<Read>[]> {
    const { mark, projection } = this.#options;
    const own = mark();
    const writes = transitions.map((t) => marked(t, own));
    const failure: unknown = await updateEach(this.#model, writes).then(
      () => null,
      (error: unknown) => error,
    );
    const made = await this.#model
      .find(byMark(transitions, own), projection)
      .lean<(Read & { _id: unknown })[]>()
      .exec();
    const left = new Map(made.map((doc) => [doc._id, doc]));
    const refused = failure === null || onlyDuplicates(failure);
    return transitions.map(({ filter: { _id } }): Applied<Read> => {
      const doc = left.get(_id);
      left.delete(_id);
      if (doc !== undefined) return { doc };
      return refused ? { doc: null } : { failure };
    });
  }
}
