import { isDuplicateKey } from "./database-errors.ts";
import { isRecord } from "../json.ts";

/** An index as the database tells of it, or as a schema asks for it: the fields in their order, and whether it is unique. */
interface IndexShape {
  name: string;
  key: string;
  unique: boolean;
}

/** What of a model makes its collection. */
export interface OwnedModel {
  collection: {
    name: string;
    indexes(): Promise<{ name?: string; key: Record<string, unknown>; unique?: boolean }[]>;
    dropIndex(name: string): Promise<unknown>;
  };
  schema: { indexes(): [unknown, unknown][] };
  createCollection(): Promise<unknown>;
  createIndexes(): Promise<unknown>;
}

/** MongoDB's NamespaceNotFound and IndexNotFound. */
const GONE: readonly unknown[] = [26, 27];
const isGone = (error: unknown): boolean => isRecord(error) && GONE.includes(error["code"]);

/** The database lacks what this version of the services stands on. */
export class MigrationMissingError extends Error {
  constructor(missing: readonly string[]) {
    super(
      `The database is not prepared for this version of callagent: ${missing.join("; ")}. Run \`npm run migrate\` with the same MONGODB_URI, then start again.`,
    );
    this.name = "MigrationMissingError";
  }
}

/** Makes the collection with its indexes, and leaves alone what is there. MigrationMissingError where documents are what a unique index forbids. One that has none is made too: not every database takes each command for a collection that is not there. */
export const makeCollection = (model: OwnedModel): Promise<unknown> =>
  (model.schema.indexes().length > 0 ? model.createIndexes() : model.createCollection()).catch((error: unknown) => {
    // the database's own words hold the value that is there twice
    if (isDuplicateKey(error))
      throw new MigrationMissingError([`the collection ${model.collection.name} holds doubles that an index forbids`]);
    throw error;
  });

/** The indexes that a schema asks for, named as the driver names them. */
const wantedOf = ({ schema }: OwnedModel): IndexShape[] =>
  schema.indexes().map(([fields, options]) => {
    const key = isRecord(fields) ? fields : {};
    const given = isRecord(options) ? options : {};
    const name = Object.entries(key)
      .map((field) => field.join("_"))
      .join("_");
    return {
      name: typeof given["name"] === "string" ? given["name"] : name,
      key: JSON.stringify(key),
      unique: given["unique"] === true,
    };
  });

async function presentOf({ collection }: OwnedModel): Promise<IndexShape[]> {
  const indexes = await collection.indexes().catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  return indexes.map(({ name = "", key, unique = false }) => ({ name, key: JSON.stringify(key), unique }));
}

/** Indexes that a collection lacks, by name. */
export async function missingIndexes(model: OwnedModel): Promise<string[]> {
  const wanted = wantedOf(model);
  if (wanted.length === 0) return [];
  const present = new Set((await presentOf(model)).map((index) => JSON.stringify(index)));
  return wanted.filter((index) => !present.has(JSON.stringify(index))).map(({ name }) => name);
}

/** Throws MigrationMissingError where collections lack indexes. */
export async function checkCollections(models: readonly OwnedModel[]): Promise<void> {
  const missing = await Promise.all(
    models.map(async (model) => {
      const names = await missingIndexes(model);
      return names.length === 0 ? [] : [`the collection ${model.collection.name} lacks the index ${names.join(", ")}`];
    }),
  );
  if (missing.flat().length > 0) throw new MigrationMissingError(missing.flat());
}

/** Drops an index by its name; true: it was there. */
export const dropIndex = ({ collection }: OwnedModel, name: string): Promise<boolean> =>
  collection.dropIndex(name).then(
    () => true,
    (error: unknown) => {
      if (isGone(error)) return false;
      throw error;
    },
  );
