import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the sender's clock may be from ours, seconds (Standard Webhooks 1.0). */
const TOLERANCE_SECONDS = 300;

/** A request that is not what it says, or that nobody with one of the secrets signed. Answer it with 400. */
export class WebhookRefused extends Error {
  override readonly name = "WebhookRefused";
}

/** A webhook event as it arrives. `data`: by `type`. */
export interface WebhookEvent {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Headers as node:http, fetch or a plain object have them; names in lower case. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === "string" ? value : "";
}

const digest = (secret: string, signed: string): Buffer =>
  createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
    .update(signed)
    .digest();

const isEvent = (value: unknown): value is WebhookEvent =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  typeof value.type === "string" &&
  "timestamp" in value &&
  typeof value.timestamp === "string" &&
  "data" in value &&
  typeof value.data === "object" &&
  value.data !== null;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * The event of a webhook request, once its signature and its age hold (Standard Webhooks 1.0, symmetric). `body`: its bytes as they came, before any parser.
 * `secrets`: one, or two while a secret is rotated. The same `webhook-id` is the same event: keep those of the last three days and do each once. WebhookRefused.
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secrets: string | readonly string[],
  nowSeconds: number = Math.floor(Date.now() / 1000),
): WebhookEvent {
  const [id, timestamp, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(headers, name),
  );
  if (!id || !timestamp || !signature)
    throw new WebhookRefused("webhook-id, webhook-timestamp or webhook-signature is missing");
  if (!/^\d+$/.test(timestamp) || Math.abs(nowSeconds - Number(timestamp)) > TOLERANCE_SECONDS)
    throw new WebhookRefused(`webhook-timestamp is more than ${TOLERANCE_SECONDS} s away from now`);
  const text = typeof body === "string" ? body : Buffer.from(body).toString("utf8");
  const expected = [secrets].flat().map((secret) => digest(secret, `${id}.${timestamp}.${text}`));
  const given = signature
    .split(" ")
    .filter((one) => one.startsWith("v1,"))
    .map((one) => Buffer.from(one.slice(3), "base64"));
  if (!expected.some((e) => given.some((g) => g.length === e.length && timingSafeEqual(g, e))))
    throw new WebhookRefused("no signature in webhook-signature fits");
  const event = parsed(text);
  if (!isEvent(event)) throw new WebhookRefused("the body is signed, but is no event");
  return event;
}
