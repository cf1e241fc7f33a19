import type { Model } from "mongoose";
import type { Clock } from "../../shared/clock.ts";
import { isDuplicateKey } from "../../shared/errors.ts";
import type { Ids } from "../../shared/ids.ts";
import type { SecretsDoc } from "./secrets.model.ts";
import { SECRET_PREFIX } from "./signing.ts";

/** Whose secret signs. */
export interface Owner { reseller_id: string; merchant_id: string | null }

/** Signing secrets by owner. */
export interface Secrets { /** The valid secrets, newest first; made at first need. */ validFor(owner: Owner): Promise<string[]> }

const SECRET_BYTES = 32;

/** The repository over its model. */
export function secretsRepository(model: Model<SecretsDoc>, ids: Ids, clock: Clock): Secrets {
  return {
    async validFor({ reseller_id, merchant_id }) {
      const _id = merchant_id ? `merchant:${merchant_id}` : `reseller:${reseller_id}`;
      let doc = await model.findById(_id).lean<SecretsDoc>();
      if (!doc) {
        await model.create({ _id, secrets: [{ value: `${SECRET_PREFIX}${ids.base64(SECRET_BYTES)}`, valid_until: null }] })
          .catch((error: unknown) => { if (!isDuplicateKey(error)) throw error; });
        doc = await model.findById(_id).lean<SecretsDoc>();
      }
      const now = clock.now();
      return (doc?.secrets ?? []).filter((s) => s.valid_until === null || new Date(s.valid_until) > now).map((s) => s.value);
    },
  };
}
