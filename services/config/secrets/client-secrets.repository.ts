import type { Model } from "mongoose";
import type { ListFilter } from "../../../shared/bus/bus.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import type { Owner } from "../tenancy.ts";
import type { SecretSeal } from "../../../shared/process/secret-seal.ts";
import { contextOf, type ClientSecretDoc } from "./client-secrets.model.ts";

/** Whose secret, and which. */
export type NamedSecret = Owner & { name: string };

/** Reads and writes of the collection `secrets`. */
export interface ClientSecretsRepository {
  /** Writes a secret, new or in place of what it was. */
  put(doc: ClientSecretDoc): Promise<ClientSecretDoc>;
  /** False: there is none. */
  remove(secret: NamedSecret): Promise<boolean>;
  /** Removes all of a merchant, or of a reseller and its merchants; how many. */
  removeOf(owner: { reseller_id: string; merchant_id?: string | undefined }): Promise<number>;
  page(
    scope: Scope,
    filter: ListFilter<"config.listSecrets">,
    after: PageFilter,
    size: number,
  ): Promise<ClientSecretDoc[]>;
  /** Those of an owner with these names, in no order. */
  ofOwner(owner: Owner, names: readonly string[]): Promise<ClientSecretDoc[]>;
  /** How many an owner has beside the one of this name. */
  othersOf(secret: NamedSecret): Promise<number>;
}

const keyOf = ({ reseller_id, merchant_id, name }: NamedSecret): NamedSecret => ({ reseller_id, merchant_id, name });

/** Seals anew what is sealed under another key than SECRETS_KEY; how many. A value written at the same moment wins. */
export async function resealClientSecrets(model: Model<ClientSecretDoc>, seal: SecretSeal): Promise<number> {
  let count = 0;
  for await (const doc of model.find().lean<ClientSecretDoc[]>().cursor()) {
    if (!seal.isStale(doc.sealed)) continue;
    const sealed = seal.seal(seal.open(doc.sealed, contextOf(doc)), contextOf(doc));
    count += (await model.updateOne({ _id: doc._id, sealed: doc.sealed }, { $set: { sealed } })).modifiedCount;
  }
  return count;
}

/** The repository over a mongoose model. */
export function clientSecretsRepository(model: Model<ClientSecretDoc>): ClientSecretsRepository {
  const put = async (doc: ClientSecretDoc): Promise<ClientSecretDoc> => {
    const { _id, sealed, created_at, updated_at } = doc;
    const update = { $set: { sealed, updated_at }, $setOnInsert: { _id, created_at } };
    return model
      .findOneAndUpdate(keyOf(doc), update, { upsert: true, returnDocument: "after" })
      .lean<ClientSecretDoc>()
      .orFail();
  };
  return {
    put: (doc) =>
      put(doc).catch((error: unknown) => {
        // another one made it at the same moment: now there is one to change
        if (isDuplicateKey(error)) return put(doc);
        throw error;
      }),
    remove: async (secret) => (await model.deleteOne(keyOf(secret))).deletedCount > 0,
    removeOf: async ({ reseller_id, merchant_id }) =>
      (await model.deleteMany({ reseller_id, ...(merchant_id === undefined ? {} : { merchant_id }) })).deletedCount,
    page: (scope, filter, after, size) => newestOf(model, [within(scope), filter, after], size),
    ofOwner: ({ reseller_id, merchant_id }, names) =>
      model.find({ reseller_id, merchant_id, name: { $in: [...names] } }).lean<ClientSecretDoc[]>(),
    othersOf: ({ reseller_id, merchant_id, name }) =>
      model.countDocuments({ reseller_id, merchant_id, name: { $ne: name } }),
  };
}
