import type { Model } from "mongoose";
import { recencyCache } from "../../../shared/cache.ts";
import { plusSeconds, type Clock } from "../../../shared/time/clock.ts";
import { isDuplicateKey } from "../../../shared/database/database-errors.ts";
import { fail } from "../../../shared/errors.ts";
import type { Ids } from "../../../shared/ids.ts";
import type { SecretsDoc } from "./secrets.model.ts";
import { SECRET_PREFIX } from "../rules/webhook-signature.ts";

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

const SECRET_BYTES = 32;
/** How long a process may go on signing with what it read: a secret that was rotated meanwhile is valid beside the new one for a day anyway. */
const CACHED_MS = 2000;
/** Owners in the cache. */
const MAX_CACHED = 1000;
/** How long the secret before goes on signing after a rotation: a day. */
export const ROTATION_SECONDS = 86_400;
/** Rotations of one owner at the same moment that may come before this one. */
const ROTATION_TRIES = 5;

/** The repository over its model. */
export function secretsRepository(model: Model<SecretsDoc>, ids: Ids, clock: Clock): Secrets {
  const idOf = ({ reseller_id, merchant_id }: Owner): string =>
    merchant_id ? `merchant:${merchant_id}` : `reseller:${reseller_id}`;
  const made = () => ({ value: `${SECRET_PREFIX}${ids.base64(SECRET_BYTES)}`, valid_until: null });
  const cache = recencyCache<Promise<SecretsDoc | null>>({ max: MAX_CACHED, ttl: { ms: CACHED_MS, clock } });
  const valid = (doc: SecretsDoc | null, now: Date) =>
    (doc?.secrets ?? []).filter((s) => s.valid_until === null || new Date(s.valid_until) > now);

  async function read(_id: string): Promise<SecretsDoc | null> {
    const doc = await model.findById(_id).lean<SecretsDoc>();
    if (doc) return doc;
    await model.create({ _id, secrets: [made()] }).catch((error: unknown) => {
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
    validFor: async (owner) => valid(await read(idOf(owner)), clock.now()).map((s) => s.value),
    toSignFor: async (owner) => valid(await readCached(idOf(owner)), clock.now()).map((s) => s.value),
    async rotate(owner) {
      const _id = idOf(owner);
      for (let tries = 0; tries < ROTATION_TRIES; tries++) {
        const [newest] = await this.validFor(owner);
        const now = clock.now();
        const next = made();
        const previous_valid_until = newest === undefined ? null : plusSeconds(now, ROTATION_SECONDS);
        const secrets = [next, ...(newest === undefined ? [] : [{ value: newest, valid_until: previous_valid_until }])];
        const { matchedCount } = await model.updateOne(
          { _id, "secrets.0.value": newest ?? null },
          { $set: { secrets } },
        );
        cache.delete(_id);
        if (matchedCount > 0) return { secret: next.value, previous_valid_until };
      }
      return fail("BUSY", "the secret was rotated by others at the same moment; read it, and rotate again if need be");
    },
  };
}
