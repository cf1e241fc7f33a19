import { createPublicKey, verify, type KeyObject } from "node:crypto";
import type { SignedRequest } from "../carrier-port.ts";
import { headerOf } from "../signed-request.ts";

const SIGNATURE_HEADER = "telnyx-signature-ed25519";
const TIME_HEADER = "telnyx-timestamp";
/** A callback signed longer ago, or further ahead, is refused: this prevents replay. Within it, the event's id identifies repeats. */
const TOLERANCE_SECONDS = 300;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** What stands before the 32 bytes of an Ed25519 key in its usual (SPKI) form. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");

/** The bytes of a text that is base64 to the letter, and has this many; null for any other. */
function strictly(base64: string, bytes: number): Buffer | null {
  const decoded = Buffer.from(base64, "base64");
  return decoded.length === bytes && decoded.toString("base64") === base64 ? decoded : null;
}

/** Telnyx's public key, base64 as its portal shows it. Throws a plain error for anything else. */
export function publicKeyOf(base64: string): KeyObject {
  const bytes = strictly(base64, KEY_BYTES);
  if (bytes === null)
    throw new Error(
      "Telnyx's public key must be 32 bytes in base64, as Mission Control shows it under Keys & Credentials: check TELNYX_PUBLIC_KEY.",
    );
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
}

/** True when Telnyx signed this request not long before `now`: Ed25519 over `<time>|<body>`. */
export function isSigned(
  key: KeyObject,
  { headers, body }: Pick<SignedRequest, "headers" | "body">,
  now: Date,
): boolean {
  const signature = strictly(headerOf(headers, SIGNATURE_HEADER), SIGNATURE_BYTES);
  const time = headerOf(headers, TIME_HEADER);
  if (signature === null || !/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(Math.floor(now.getTime() / 1000) - Number(time)) > TOLERANCE_SECONDS) return false;
  return verify(null, Buffer.from(`${time}|${body}`, "utf8"), key, signature);
}
