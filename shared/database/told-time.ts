import type { Connection } from "mongoose";
import type { ClockSource, ToldTime } from "../time/store-clock.ts";

const COLLECTION = "deployment_clock";
const ID = "told";

/** What the processes of a deployment tell of its time, where those that start find it: one document, which none of them needs to be there. */
export function toldTimeIn(connection: Connection): Required<Pick<ClockSource, "told" | "tell">> {
  const told = () => connection.collection<ToldTime & { _id: string }>(COLLECTION);
  return {
    async told() {
      const doc = await told().findOne({ _id: ID });
      return doc && { ahead_ms: doc.ahead_ms, for_ms: doc.for_ms, told_at: doc.told_at, known_ms: doc.known_ms ?? 0 };
    },
    async tell({ ahead_ms, for_ms, told_at, known_ms }) {
      await told().updateOne({ _id: ID }, { $set: { ahead_ms, for_ms, told_at, known_ms } }, { upsert: true });
    },
  };
}
