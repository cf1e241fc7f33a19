import mongoose from "mongoose";
import { MongoClient, type Document, type Sort } from "mongodb";

/** How a query was answered: the index that served it (null: none, every document was looked at) and whether documents had to be sorted afterwards. */
export interface Served {
  index: string | null;
  sorted: boolean;
}

interface Asked {
  collection: string;
  filter: Document;
  sort: Sort | undefined;
}

/** Runs `work` and gives the find queries that this process's services sent meanwhile, as they sent them. */
async function findsDuring(work: () => Promise<unknown>): Promise<Asked[]> {
  const asked: Asked[] = [];
  mongoose.set(
    "debug",
    (collection: string, method: string, filter: Document, _projection: unknown, options?: { sort?: Sort }) => {
      if (method === "find")
        asked.push({ collection, filter, sort: options?.sort ?? (_projection as { sort?: Sort } | undefined)?.sort });
    },
  );
  try {
    await work();
  } finally {
    mongoose.set("debug", false);
  }
  return asked;
}

function stages(plan: Document): Document[] {
  return [
    plan,
    ...(plan["inputStage"] ? stages(plan["inputStage"] as Document) : []),
    ...((plan["inputStages"] ?? []) as Document[]).flatMap(stages),
  ];
}

/** How the first query on `collection` that `work` makes is served, by the database's own explain of the very same query. */
export async function servedBy(uri: string, collection: string, work: () => Promise<unknown>): Promise<Served> {
  const query = (await findsDuring(work)).find((q) => q.collection === collection);
  if (!query) throw new Error(`no find on ${collection} was seen`);
  const client = await MongoClient.connect(uri);
  try {
    const cursor = client.db().collection(collection).find(query.filter);
    const plan = (await (query.sort === undefined ? cursor : cursor.sort(query.sort)).explain("queryPlanner")) as {
      queryPlanner: { winningPlan: Document };
    };
    const all = stages(plan.queryPlanner.winningPlan);
    return {
      index: (all.find((s) => s["stage"] === "IXSCAN")?.["indexName"] as string | undefined) ?? null,
      sorted: all.some((s) => s["stage"] === "SORT"),
    };
  } finally {
    await client.close();
  }
}
