import { isDeepStrictEqual } from "node:util";
import type { Collection, Document } from "mongodb";

interface WitnessDoc extends Document {
  _id: number;
  group: number;
  value: number;
}

const GROUPS = 50;
/** Documents at most; the oldest go. */
const KEPT = 2000;

/** A client that writes and reads its own documents, remembers every acknowledged write, and says what is lost or wrong. */
export class Witness {
  readonly tookMs: number[] = [];
  readonly faults: string[] = [];
  readonly #docs: Collection<WitnessDoc>;
  readonly #random: () => number;
  readonly #known = new Map<number, WitnessDoc>();
  #next = 0;

  constructor(docs: Collection<WitnessDoc>, random: () => number) {
    this.#docs = docs;
    this.#random = random;
  }

  /** Makes the index it reads by. */
  async prepare(): Promise<void> {
    await this.#docs.createIndex({ group: 1, _id: 1 });
  }

  async #timed<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    const began = performance.now();
    try {
      return await work();
    } catch (error) {
      this.faults.push(`the witness's ${what} was refused: ${String(error)}`);
      return undefined;
    } finally {
      this.tookMs.push(performance.now() - began);
    }
  }

  #expect(what: string, got: unknown, wanted: unknown): void {
    if (!isDeepStrictEqual(got, wanted))
      this.faults.push(`${what}: ${JSON.stringify(got)} where ${JSON.stringify(wanted)} was acknowledged`);
  }

  /** Inserts, updates and reads once. */
  async round(): Promise<void> {
    const doc = { _id: this.#next++, group: this.#next % GROUPS, value: 0 };
    if (await this.#timed("insert", () => this.#docs.insertOne({ ...doc }))) this.#known.set(doc._id, doc);
    const id = this.#next - 1 - Math.floor(this.#random() * Math.min(this.#next, KEPT / 2));
    const old = this.#known.get(id);
    if (old === undefined) return;
    const value = Math.floor(this.#random() * 1e9);
    const changed = await this.#timed("update", () => this.#docs.updateOne({ _id: id }, { $set: { value } }));
    if (changed) old.value = value;
    this.#expect(`matched of document ${id}`, changed?.matchedCount, 1);
    this.#expect(`document ${id}`, await this.#timed("read by id", () => this.#docs.findOne({ _id: id })), old);
    const group = await this.#timed("read by index", () =>
      this.#docs.find({ group: old.group }).sort({ _id: 1 }).toArray(),
    );
    this.#expect(
      `group ${old.group}`,
      group,
      [...this.#known.values()].filter((d) => d.group === old.group),
    );
    const [eldest] = this.#known.keys();
    if (eldest === undefined || this.#known.size <= KEPT) return;
    if (await this.#timed("delete", () => this.#docs.deleteOne({ _id: eldest }))) this.#known.delete(eldest);
  }

  /** Reads everything once more. */
  async judge(): Promise<void> {
    const all = await this.#timed("last read", () => this.#docs.find().sort({ _id: 1 }).toArray());
    this.#expect("all documents", all, [...this.#known.values()]);
  }
}
