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
