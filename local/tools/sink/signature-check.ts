import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the sender's clock may be from ours, seconds (Standard Webhooks 1.0). */
const TOLERANCE_SECONDS = 300;

/** The headers of a signed request. */
export interface SignedHeaders {
  id: string;
  timestamp: string;
  signature: string;
}

/** What keeps a request from being believed, as a sentence; null when one of the secrets signed it (Standard Webhooks 1.0, symmetric). */
export function signatureError(
  secrets: readonly string[],
  { id, timestamp, signature }: SignedHeaders,
  body: string,
  nowSeconds: number,
): string | null {
  if (id === "" || timestamp === "" || signature === "")
    return "webhook-id, webhook-timestamp or webhook-signature is missing";
  if (!/^\d+$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS)
    return `webhook-timestamp is more than ${TOLERANCE_SECONDS} s away from now`;
  const expected = secrets.map((s) =>
    createHmac("sha256", Buffer.from(s.replace(/^whsec_/, ""), "base64"))
      .update(`${id}.${timestamp}.${body}`)
      .digest(),
  );
  const given = signature
    .split(" ")
    .filter((s) => s.startsWith("v1,"))
    .map((s) => Buffer.from(s.slice(3), "base64"));
  return expected.some((e) => given.some((g) => g.length === e.length && timingSafeEqual(g, e)))
    ? null
    : "no signature in webhook-signature fits";
}
