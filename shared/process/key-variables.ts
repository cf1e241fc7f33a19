const SECRET = { kind: "text", secret: true } as const;

/** Variables of VARIABLES with the deployment's own keys: what access tokens are signed with, and what clients' secrets are encrypted with. */
export const KEY_VARIABLES = {
  JWT_PRIVATE_KEY: {
    ...SECRET,
    doc: "Ed25519 private key, PKCS #8 PEM (\\n allowed as two characters), that signs access tokens; required by auth",
  },
  JWT_OTHER_KEY: {
    ...SECRET,
    doc: "a second key, private or public, whose access tokens are accepted too, for a change of keys",
  },
  SECRETS_KEY: {
    ...SECRET,
    doc: "key that clients' secrets and signing secrets are encrypted with in the database: 32 bytes as base64; for config and webhook, and for npm run migrate",
  },
  SECRETS_OTHER_KEY: {
    ...SECRET,
    doc: "a second key, which secrets are read with too, for the first key and for a change of keys",
  },
  ERASURE_KEY: {
    ...SECRET,
    doc: "key of the hashes that erased phone numbers are known by: 32 bytes as base64; for blacklist. Without it nothing can be erased; without the one they were made with, erased numbers may be called again",
  },
  ERASURE_OTHER_KEY: {
    ...SECRET,
    doc: "a second key, by whose hashes erased numbers are known too, after a change of keys",
  },
} as const;

const KEY_BYTES = 32;
const BASE64_KEY = /^[A-Za-z0-9+/]{43}=?$/;

/** The variables whose values are keys of 32 bytes. */
const KEY_NAMES = ["SECRETS_KEY", "SECRETS_OTHER_KEY", "ERASURE_KEY", "ERASURE_OTHER_KEY"] as const;

/** What is wrong with the keys; never any of them. */
export const keyIssues = (env: Readonly<Partial<Record<(typeof KEY_NAMES)[number], string>>>): string[] =>
  KEY_NAMES.flatMap((name) => {
    const text = env[name];
    return text === undefined || (BASE64_KEY.test(text) && Buffer.from(text, "base64").length === KEY_BYTES)
      ? []
      : [`${name} must be ${KEY_BYTES} bytes as base64; make one with: openssl rand -base64 ${KEY_BYTES}`];
  });
