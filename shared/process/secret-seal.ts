import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import { fail } from "../errors.ts";
import type { Ids } from "../ids.ts";

/** The keys that secrets are sealed with, as the environment has them. */
export interface SealKeys {
  SECRETS_KEY?: string | undefined;
  SECRETS_OTHER_KEY?: string | undefined;
}

/**
 * Seals texts for the database: AES-256-GCM under SECRETS_KEY, with a nonce of its own each. What was sealed under SECRETS_OTHER_KEY is opened too.
 * `context` says what and whose the text is, and is authenticated with it: a sealed text opens nowhere else.
 */
export interface SecretSeal {
  /** Whether there is a key to seal with. */
  readonly seals: boolean;
  /** NOT_AVAILABLE without SECRETS_KEY. */
  seal(text: string, context: string): string;
  /** The text; one that is not sealed is given back as it is. NOT_AVAILABLE where the key is not here, or the text was not sealed for this context. */
  open(stored: string, context: string): string;
  /** Whether it should be sealed anew: it is in clear, or sealed under another key than SECRETS_KEY. False without that key. */
  isStale(stored: string): boolean;
}

const MARK = "sealed:v1:";
const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_NAME_CHARS = 12;

interface Key {
  name: string;
  bytes: Buffer;
}

/** The name of a key tells keys apart, and nothing of them. */
const keyOf = (text: string): Key => {
  const bytes = Buffer.from(text, "base64");
  const name = createHmac("sha256", bytes).update("name of a key for secrets").digest("base64url");
  return { name: name.slice(0, KEY_NAME_CHARS), bytes };
};

function sealWith({ name, bytes }: Key, nonce: Buffer, text: string, context: string): string {
  const cipher = createCipheriv(CIPHER, bytes, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(context, "utf8"));
  const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `${MARK}${name}:${Buffer.concat([nonce, sealed]).toString("base64url")}`;
}

function openWith({ bytes }: Key, sealed: Buffer, context: string): string {
  const decipher = createDecipheriv(CIPHER, bytes, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(context, "utf8"));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  return decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8");
}

/** The seal over the environment's keys, which have passed `keyIssues` (key-variables.ts). */
export function secretSeal(env: SealKeys, ids: Pick<Ids, "hex">): SecretSeal {
  const [own, other] = [env.SECRETS_KEY, env.SECRETS_OTHER_KEY].map((text) => (text ? keyOf(text) : undefined));
  const keyNameOf = (stored: string): string => stored.slice(MARK.length).split(":")[0] ?? "";
  return {
    seals: own !== undefined,
    seal: (text, context) =>
      own
        ? sealWith(own, Buffer.from(ids.hex(NONCE_BYTES), "hex"), text, context)
        : fail("NOT_AVAILABLE", "Secrets can't be stored: SECRETS_KEY is not set in this deployment."),
    open(stored, context) {
      if (!stored.startsWith(MARK)) return stored;
      const name = keyNameOf(stored);
      const key =
        [own, other].find((one) => one?.name === name) ??
        fail(
          "NOT_AVAILABLE",
          `A secret can't be read: it is sealed with the key ${name}, which neither SECRETS_KEY nor SECRETS_OTHER_KEY is.`,
        );
      try {
        return openWith(key, Buffer.from(stored.slice(MARK.length + name.length + 1), "base64url"), context);
      } catch {
        return fail("NOT_AVAILABLE", "A secret can't be read: it was changed in the database, or is another's.");
      }
    },
    isStale: (stored) => own !== undefined && (!stored.startsWith(MARK) || keyNameOf(stored) !== own.name),
  };
}
