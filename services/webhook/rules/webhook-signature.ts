import { createHmac } from "node:crypto";

/** A signing secret in the form of Standard Webhooks: `whsec_` and base64 of the key. */
export const SECRET_PREFIX = "whsec_";

const keyOf = (secret: string): Buffer =>
  Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, "base64");

/** Signature header of Standard Webhooks 1.0 over exactly the bytes sent: one `v1,` entry per valid secret, so that a rotation breaks no receiver. */
export const sign = (secrets: readonly string[], id: string, timestampSeconds: number, body: string): string =>
  secrets
    .map((s) => `v1,${createHmac("sha256", keyOf(s)).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`)
    .join(" ");
