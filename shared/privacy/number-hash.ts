import { createHmac } from "node:crypto";
import { fail } from "../errors.ts";

/** The keys of the hashes, as the environment has them. */
export interface HashKeys {
  ERASURE_KEY?: string | undefined;
  ERASURE_OTHER_KEY?: string | undefined;
}

/**
 * Hashes of phone numbers: HMAC-SHA256 under ERASURE_KEY, with the name of the key in front. Who has the key can ask whether a number is meant; who has
 * only the hash can't try all numbers there are, as with a hash that needs no key.
 */
export interface NumberHash {
  /** The hash of a number in E.164. NOT_AVAILABLE without ERASURE_KEY. */
  own(e164: string): string;
  /** Folders of a bucket for what has to do with the number, `<name of the key>/<hash>`: the one under ERASURE_KEY first, then that under the other key. */
  folders(e164: string): string[];
  /** NOT_AVAILABLE without ERASURE_KEY. */
  check(): void;
  /** The hashes by which the number may be known: under each key there is; none without a key. */
  all(e164: string): string[];
}

const KEY_NAME_CHARS = 12;

type Hash = (e164: string) => string;

function hashUnder(key: string): Hash {
  const bytes = Buffer.from(key, "base64");
  const hmac = (text: string): string => createHmac("sha256", bytes).update(text).digest("base64url");
  const name = hmac("name of a key for erased numbers").slice(0, KEY_NAME_CHARS);
  return (e164) => `hmac:${name}:${hmac(`erased number ${e164}`)}`;
}

/** The hashes over the environment's keys, which have passed `keyIssues` (shared/process/key-variables.ts). */
export function numberHash(env: HashKeys): NumberHash {
  const own = env.ERASURE_KEY === undefined ? null : hashUnder(env.ERASURE_KEY);
  const other = env.ERASURE_OTHER_KEY === undefined ? null : hashUnder(env.ERASURE_OTHER_KEY);
  const hashes = [own, other].filter((hash) => hash !== null);
  return {
    own: (e164) =>
      own
        ? own(e164)
        : fail(
            "NOT_AVAILABLE",
            "Nothing can be erased: ERASURE_KEY is not set in this deployment, without which an erased number could not be kept from being called again.",
          ),
    check: () =>
      own
        ? undefined
        : fail(
            "NOT_AVAILABLE",
            "Nothing can be archived: ERASURE_KEY is not set in this deployment, without which an erasure would not find a number in the archive.",
          ),
    folders: (e164) => hashes.map((hash) => hash(e164).split(":").slice(1).join("/")),
    all: (e164) => [...new Set(hashes.map((hash) => hash(e164)))],
  };
}
