import { createPublicKey, verify, type KeyObject } from "node:crypto";
import type { SignedRequest } from "../port.ts";

const SIGNATURE_HEADER = "telnyx-signature-ed25519";
const TIME_HEADER = "telnyx-timestamp";
/** A callback signed longer ago, or further ahead, is refused: what was overheard can't be sent again later. Within it, repeats are told by their event's id. */
const TOLERANCE_SECONDS = 300;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** What stands before the 32 bytes of an Ed25519 key in its usual (SPKI) form. */
const SPKI_HEAD = Buffer.from("302a300506032b6570032100", "hex");
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Telnyx's public key, base64 as its portal shows it. Throws a plain error for anything else. */
export function publicKeyOf(base64: string): KeyObject {
  const bytes = Buffer.from(base64, "base64");
  if (!BASE64.test(base64) || bytes.length !== KEY_BYTES) throw new Error("Telnyx's public key must be 32 bytes in base64, as Mission Control shows it under Keys & Credentials: check TELNYX_PUBLIC_KEY.");
  return createPublicKey({ key: Buffer.concat([SPKI_HEAD, bytes]), format: "der", type: "spki" });
}

const headerOf = (headers: Record<string, string>, wanted: string): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";

/** True when Telnyx signed this request not long before `now`: Ed25519 over `<time>|<body>` (voice.md 1.3). */
export function isSigned(key: KeyObject, { headers, body }: Pick<SignedRequest, "headers" | "body">, now: Date): boolean {
  const [given, time] = [headerOf(headers, SIGNATURE_HEADER), headerOf(headers, TIME_HEADER)];
  if (!BASE64.test(given) || !/^\d{1,12}$/.test(time)) return false;
  if (Math.abs(Math.floor(now.getTime() / 1000) - Number(time)) > TOLERANCE_SECONDS) return false;
  const signature = Buffer.from(given, "base64");
  return signature.length === SIGNATURE_BYTES && verify(null, Buffer.from(`${time}|${body}`, "utf8"), key, signature);
}
