import { createHmac, timingSafeEqual } from "node:crypto";

const TOLERANCE_SECONDS = 300;

/** Whether callagent sent this: `body` is the request body as it came, byte for byte; `nowSeconds` the time of your clock. */
export function isFromCallagent(
  secret: string,
  headers: { id: string; timestamp: string; signature: string },
  body: string | Uint8Array,
  nowSeconds: number,
): boolean {
  const { id, timestamp, signature } = headers;
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  return signature.split(" ").some((entry) => {
    const [version, value = ""] = entry.split(",");
    const given = Buffer.from(value, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}
