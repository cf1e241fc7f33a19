import type { Model } from "mongoose";
import type { ListFilter, ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import { within, type Scope } from "../../../shared/contracts/records/identity.ts";
import { MAX_ENDPOINTS_OF_OWNER } from "../../../shared/contracts/webhooks/webhook-endpoint.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { fail } from "../../../shared/errors.ts";
import { newestOf, type PageFilter } from "../../../shared/page.ts";
import { secretSeal, type SecretSeal } from "../../../shared/process/secret-seal.ts";
import { newSecret, resealed, rotatedSecrets, storedFor, validSecrets } from "../secrets/sealed-secrets.ts";
import type { Owner } from "../secrets/secrets.repository.ts";
import type { EndpointDoc } from "./endpoints.model.ts";

/** An endpoint that is to be: the repository gives it its secret and its place. */
export type WantedEndpoint = Omit<EndpointDoc, "owner" | "slot" | "secrets">;
/** What changes of one. */
export type EndpointPatch = Partial<Pick<EndpointDoc, "url" | "types" | "paused">> & Pick<EndpointDoc, "updated_at">;

/** Reads and writes of the collection `webhook_endpoints`. What a person asks for takes a scope. */
export interface EndpointsRepository {
  /** Writes a new one, with its secret in the same write; null: its owner has as many as it may. */
  add(wanted: WantedEndpoint): Promise<{ endpoint: EndpointDoc; secret: string } | null>;
  page(
    scope: Scope,
    filter: ListFilter<"webhook.listEndpoints">,
    after: PageFilter,
    size: number,
  ): Promise<EndpointDoc[]>;
  find(scope: Scope, id: string): Promise<EndpointDoc | null>;
  change(scope: Scope, id: string, patch: EndpointPatch): Promise<EndpointDoc | null>;
  /** The endpoint that was removed; null: the scope has none of this id. */
  remove(scope: Scope, id: string): Promise<EndpointDoc | null>;
  /** Removes all of a merchant, or of a reseller and its merchants; their ids. */
  removeOf(owner: { reseller_id: string; merchant_id?: string | undefined }): Promise<string[]>;
  /** Puts a new secret before the newest one. null: there is no such endpoint; BUSY after lost races. */
  rotate(
    scope: Scope,
    id: string,
  ): Promise<{ endpoint: EndpointDoc; secret: string; previous_valid_until: Date } | null>;
  /** Those of the ids that are there. */
  many(ids: readonly string[]): Promise<EndpointDoc[]>;
  /** The least position behind which an endpoint hears; null: there is no endpoint. */
  firstPosition(): Promise<number | null>;
  /** All endpoints of these resellers and their merchants. */
  ofResellers(ids: readonly string[]): Promise<EndpointDoc[]>;
  /** Where an endpoint is, what signs for it, and whether it is paused, as read within the last second; null: it is gone. */
  toSend(id: string): Promise<{ url: string; secrets: string[]; paused: boolean } | null>;
}

/** How long a process goes on with what it read: a secret that was rotated meanwhile is valid beside the new one for a day anyway. */
const CACHED_MS = 1000;
const MAX_CACHED = 1000;
/** Changes of the same owner or endpoint at the same moment that may come before this one. */
const TRIES = MAX_ENDPOINTS_OF_OWNER;

/** What an endpoint's secrets are sealed for. */
const contextOf = (_id: string): string => JSON.stringify(["webhook_endpoint", _id]);

/** Seals anew what is in clear, or under another key than SECRETS_KEY; how many endpoints had such secrets. A rotation at the same moment wins. */
export async function resealEndpointSecrets(model: Model<EndpointDoc>, seal: SecretSeal): Promise<number> {
  let count = 0;
  for await (const { _id, secrets } of model.find().lean<EndpointDoc[]>().cursor()) {
    const sealed = resealed(seal, contextOf(_id), secrets);
    if (sealed === null) continue;
    const filter = { _id, "secrets.0.value": secrets[0]?.value };
    count += (await model.updateOne(filter, { $set: { secrets: sealed } })).modifiedCount;
  }
  return count;
}

const ownerKey = ({ reseller_id, merchant_id }: Owner): string =>
  merchant_id ? `merchant:${merchant_id}` : `reseller:${reseller_id}`;

const idIn = (scope: Scope, id: string) => ({ $and: [{ _id: id.toLowerCase() }, within(scope)] });

/** Writes an endpoint into the first place of its owner that is free; null: none is. A place that another one took meanwhile is passed over. */
async function insertInSlot(model: Model<EndpointDoc>, doc: Omit<EndpointDoc, "slot">): Promise<EndpointDoc | null> {
  for (let tries = 0; tries < TRIES; tries++) {
    const taken = await model.find({ owner: doc.owner }, { slot: 1 }).lean<Pick<EndpointDoc, "slot">[]>();
    const used = new Set(taken.map(({ slot }) => slot));
    const slot = Array.from({ length: MAX_ENDPOINTS_OF_OWNER }, (_, i) => i).find((i) => !used.has(i));
    if (slot === undefined) return null;
    try {
      const endpoint = { ...doc, slot };
      await model.create(endpoint);
      return endpoint;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
  return fail("BUSY", "Endpoints of this tenant were made by others at the same moment; try again.");
}

/** What services ask: of all tenants. */
const forServices = (
  model: Model<EndpointDoc>,
): Pick<EndpointsRepository, "removeOf" | "many" | "firstPosition" | "ofResellers"> => ({
  async removeOf({ reseller_id, merchant_id }) {
    const filter = { reseller_id, ...(merchant_id === undefined ? {} : { merchant_id }) };
    const found = await model.find(filter, { _id: 1 }).lean<Pick<EndpointDoc, "_id">[]>();
    await model.deleteMany(filter);
    return found.map(({ _id }) => _id);
  },
  many: (some) => model.find({ _id: { $in: [...some] } }).lean<EndpointDoc[]>(),
  firstPosition: async () =>
    (await model.findOne({}, { after_position: 1 }).sort({ after_position: 1 }).lean<EndpointDoc>())?.after_position ??
    null,
  ofResellers: (resellers) => model.find({ reseller_id: { $in: [...resellers] } }).lean<EndpointDoc[]>(),
});

/** The repository over its model. */
export function endpointsRepository(
  model: Model<EndpointDoc>,
  { ids, clock, env }: Pick<ServiceDeps, "ids" | "clock" | "env">,
): EndpointsRepository {
  const { SECRETS_KEY, SECRETS_OTHER_KEY } = env;
  const seal = secretSeal({ SECRETS_KEY, SECRETS_OTHER_KEY }, ids);
  const cache = recencyCache<EndpointDoc>({ max: MAX_CACHED, ttl: { ms: CACHED_MS, clock } });
  const find = (scope: Scope, id: string) => model.findOne(idIn(scope, id)).lean<EndpointDoc>();
  const forget = <T extends EndpointDoc | null>(doc: T): T => {
    if (doc) cache.delete(doc._id);
    return doc;
  };
  async function rotated(read: () => Promise<EndpointDoc | null>): ReturnType<EndpointsRepository["rotate"]> {
    for (let tries = 0; tries < TRIES; tries++) {
      const before = await read();
      if (!before) return null;
      const [secret, context] = [newSecret(ids), contextOf(before._id)];
      const { stored, previous_valid_until } = rotatedSecrets(seal, context, before.secrets, secret, clock.now());
      const endpoint = await model
        .findOneAndUpdate(
          { _id: before._id, "secrets.0.value": before.secrets[0]?.value },
          { $set: { secrets: stored, updated_at: clock.now() } },
          { returnDocument: "after" },
        )
        .lean<EndpointDoc>();
      if (forget(endpoint)) return endpoint && previous_valid_until && { endpoint, secret, previous_valid_until };
    }
    return fail("BUSY", "The secret was rotated by others at the same moment; try again.");
  }
  return {
    ...forServices(model),
    async add(wanted) {
      const secret = newSecret(ids);
      const secrets = [{ value: storedFor(seal, contextOf(wanted._id), secret), valid_until: null }];
      const endpoint = await insertInSlot(model, { ...wanted, owner: ownerKey(wanted), secrets });
      return endpoint && { endpoint, secret };
    },
    page: (scope, filter, after, size) => newestOf(model, [within(scope), filter, after], size),
    find,
    change: async (scope, id, patch) =>
      forget(
        await model.findOneAndUpdate(idIn(scope, id), { $set: patch }, { returnDocument: "after" }).lean<EndpointDoc>(),
      ),
    remove: async (scope, id) => forget(await model.findOneAndDelete(idIn(scope, id)).lean<EndpointDoc>()),
    rotate: (scope, id) => rotated(() => find(scope, id)),
    async toSend(id) {
      const doc = cache.get(id) ?? (await model.findById(id).lean<EndpointDoc>());
      if (!doc) return null;
      cache.set(id, doc);
      const valid = validSecrets(doc.secrets, clock.now());
      const secrets = valid.map(({ value }) => seal.open(value, contextOf(id)));
      return { url: doc.url, secrets, paused: doc.paused };
    },
  };
}
