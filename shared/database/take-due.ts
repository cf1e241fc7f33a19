import type { Model, UpdateQuery } from "mongoose";

/** A document that is due at a time. */
interface Due {
  due_at?: Date;
}

/** Takes the document that has been due for longest: it is due again then, and what else is to change with it changes. Null: none is due. By an index on `due_at`. */
export const takeLongestDue = <Doc extends Due, Taken extends Doc = Doc>(
  model: Model<Doc>,
  now: Date,
  due_at: Date,
  change: UpdateQuery<Doc> = {},
): Promise<Taken | null> =>
  model
    .findOneAndUpdate(
      { due_at: { $lte: now } },
      { ...change, $set: { due_at } },
      { sort: { due_at: 1 }, returnDocument: "after" },
    )
    .lean<Taken>()
    .exec();
