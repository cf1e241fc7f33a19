import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";

/** What stands before the 32 bytes of an Ed25519 private key in its usual (PKCS #8) form. */
const PKCS8_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const KEY_BYTES = 32;
const FORGER = "somebody else";

/** Signs callbacks as Telnyx does. */
export interface Signer {
  /** base64, as Telnyx's portal shows it. */
  readonly publicKey: string;
  /** The headers that prove who sends this body at this time: Ed25519 over `<time>|<body>`. */
  headers(body: string, now: Date, forged?: boolean): Record<string, string>;
}

const keyFrom = (seed: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, createHash("sha256").update(seed).digest()]),
    format: "der",
    type: "pkcs8",
  });

/** The same seed, the same key pair. */
export function createSigner(seed: string): Signer {
  const [key, forger] = [keyFrom(`telnyx ${seed}`), keyFrom(FORGER)];
  return {
    publicKey: createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES).toString("base64"),
    headers(body, now, forged = false) {
      const time = String(Math.floor(now.getTime() / 1000));
      return {
        "telnyx-timestamp": time,
        "telnyx-signature-ed25519": sign(null, Buffer.from(`${time}|${body}`), forged ? forger : key).toString(
          "base64",
        ),
      };
    },
  };
}
