import type { Ids } from "../../../shared/ids.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { SecretSeal } from "../../../shared/process/secret-seal.ts";
import { SECRET_PREFIX } from "../rules/webhook-signature.ts";

/** A signing secret as it is stored; `valid_until` null: the newest one. */
export interface StoredSecret {
  value: string;
  valid_until: Date | null;
}

const SECRET_BYTES = 32;
/** How long the secret before goes on signing after a rotation: a day. */
export const ROTATION_SECONDS = 86_400;

/** A new signing secret. */
export const newSecret = (ids: Pick<Ids, "base64">): string => `${SECRET_PREFIX}${ids.base64(SECRET_BYTES)}`;

/** A secret as it is stored: sealed, where there is a key to seal with. What it is sealed for is its `context`: another owner's document does not open it. */
export const storedFor = (seal: SecretSeal, context: string, value: string): string =>
  seal.seals ? seal.seal(value, context) : value;

/** The secrets that sign now, newest first. */
export const validSecrets = (secrets: readonly StoredSecret[], now: Date): StoredSecret[] =>
  secrets.filter((s) => s.valid_until === null || new Date(s.valid_until) > now);

/** The secrets with a new one before the newest, which stays valid for ROTATION_SECONDS; older ones go. */
export function rotatedSecrets(
  seal: SecretSeal,
  context: string,
  secrets: readonly StoredSecret[],
  secret: string,
  now: Date,
): { stored: StoredSecret[]; previous_valid_until: Date | null } {
  const [newest] = validSecrets(secrets, now);
  const previous_valid_until = newest === undefined ? null : plusSeconds(now, ROTATION_SECONDS);
  const values = [secret, ...(newest === undefined ? [] : [seal.open(newest.value, context)])];
  const stored = values.map((value, i) => ({
    value: storedFor(seal, context, value),
    valid_until: i === 0 ? null : previous_valid_until,
  }));
  return { stored, previous_valid_until };
}

/** The secrets sealed anew, where one is in clear or under another key than SECRETS_KEY; null: none is. */
export const resealed = (seal: SecretSeal, context: string, secrets: readonly StoredSecret[]): StoredSecret[] | null =>
  secrets.some(({ value }) => seal.isStale(value))
    ? secrets.map((s) => ({ ...s, value: storedFor(seal, context, seal.open(s.value, context)) }))
    : null;
