import type { Model } from "mongoose";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { recencyCache } from "../../../shared/cache.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { fail } from "../../../shared/errors.ts";
import { secretSeal, type SecretSeal } from "../../../shared/process/secret-seal.ts";
import type { SecretsDoc } from "./secrets.model.ts";
import { newSecret, resealed, rotatedSecrets, storedFor, validSecrets } from "./sealed-secrets.ts";

/** Whose secret signs. */
export interface Owner {
  reseller_id: string;
  merchant_id: string | null;
}

/** Signing secrets by owner. */
export interface Secrets {
  /** The valid secrets, newest first; made at first need. */
  validFor(owner: Owner): Promise<string[]>;
  /** The same as this process read them within the last two seconds, for signing. */
  toSignFor(owner: Owner): Promise<string[]>;
  /** Puts a new secret before the newest one, which stays valid for ROTATION_SECONDS; older ones go. BUSY after lost races. */
  rotate(owner: Owner): Promise<{ secret: string; previous_valid_until: Date | null }>;
}

/** How long a process may go on signing with what it read: a secret that was rotated meanwhile is valid beside the new one for a day anyway. */
const CACHED_MS = 2000;
/** Owners in the cache. */
const MAX_CACHED = 1000;
/** Rotations of one owner at the same moment that may come before this one. */
const ROTATION_TRIES = 5;

/** What the secrets of a document are sealed for: another owner's document does not open them. */
const contextOf = (_id: string): string => JSON.stringify(["webhook_secret", _id]);

/** Seals anew what is in clear, or under another key than SECRETS_KEY; how many owners had such secrets. A rotation at the same moment wins. */
export async function resealSigningSecrets(model: Model<SecretsDoc>, seal: SecretSeal): Promise<number> {
  let count = 0;
  for await (const { _id, secrets } of model.find().lean<SecretsDoc[]>().cursor()) {
    const sealed = resealed(seal, contextOf(_id), secrets);
    if (sealed === null) continue;
    const filter = { _id, "secrets.0.value": secrets[0]?.value };
    count += (await model.updateOne(filter, { $set: { secrets: sealed } })).modifiedCount;
  }
  return count;
}

/** The repository over its model. */
export function secretsRepository(
  model: Model<SecretsDoc>,
  { ids, clock, env }: Pick<ServiceDeps, "ids" | "clock" | "env">,
): Secrets {
  const { SECRETS_KEY, SECRETS_OTHER_KEY } = env;
  const seal = secretSeal({ SECRETS_KEY, SECRETS_OTHER_KEY }, ids);
  const idOf = ({ reseller_id, merchant_id }: Owner): string =>
    merchant_id ? `merchant:${merchant_id}` : `reseller:${reseller_id}`;
  const made = (): string => newSecret(ids);
  const cache = recencyCache<Promise<SecretsDoc | null>>({ max: MAX_CACHED, ttl: { ms: CACHED_MS, clock } });
  const valid = (doc: SecretsDoc | null, now: Date) => validSecrets(doc?.secrets ?? [], now);
  const opened = (doc: SecretsDoc | null): string[] =>
    valid(doc, clock.now()).map((s) => seal.open(s.value, contextOf(doc?._id ?? "")));

  async function read(_id: string): Promise<SecretsDoc | null> {
    const doc = await model.findById(_id).lean<SecretsDoc>();
    if (doc) return doc;
    await model
      .create({ _id, secrets: [{ value: storedFor(seal, contextOf(_id), made()), valid_until: null }] })
      .catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
    return model.findById(_id).lean<SecretsDoc>();
  }

  const readCached = (_id: string): Promise<SecretsDoc | null> => {
    const known = cache.get(_id);
    if (known) return known;
    const doc = read(_id);
    cache.set(_id, doc);
    doc.catch(() => cache.delete(_id));
    return doc;
  };

  return {
    validFor: async (owner) => opened(await read(idOf(owner))),
    toSignFor: async (owner) => opened(await readCached(idOf(owner))),
    async rotate(owner) {
      const _id = idOf(owner);
      for (let tries = 0; tries < ROTATION_TRIES; tries++) {
        const before = (await read(_id))?.secrets ?? [];
        const secret = made();
        const { stored, previous_valid_until } = rotatedSecrets(seal, contextOf(_id), before, secret, clock.now());
        const { matchedCount } = await model.updateOne(
          { _id, "secrets.0.value": before[0]?.value ?? null },
          { $set: { secrets: stored } },
        );
        cache.delete(_id);
        if (matchedCount > 0) return { secret, previous_valid_until };
      }
      return fail("BUSY", "the secret was rotated by others at the same moment; read it, and rotate again if need be");
    },
  };
}
