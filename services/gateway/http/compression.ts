import type { ServerResponse } from "node:http";
import { gzip } from "node:zlib";

/** Below this a compressed body saves less than it costs. */
export const GZIP_MIN_BYTES = 1024;
/** Fast rather than tight: JSON shrinks to a tenth even so. */
const LEVEL = 4;
const WORST_QUALITY = 0;

/** True when an Accept-Encoding header allows gzip (RFC 9110, 12.5.3). */
export function takesGzip(header: string | undefined): boolean {
  let star = false;
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((p) => p.trim());
    const quality = parameters.find((p) => p.startsWith("q="));
    const wanted = quality === undefined || Number(quality.slice(2)) > WORST_QUALITY;
    if (name === "gzip" || name === "x-gzip") return wanted;
    if (name === "*") star = wanted;
  }
  return star;
}

/** Sends a text, compressed off the event loop where that is allowed and worth it. */
export function sendCompressed(
  res: ServerResponse,
  body: string,
  send: (body: string | Buffer, headers: Record<string, string>) => void,
): void {
  if (Buffer.byteLength(body) < GZIP_MIN_BYTES) return send(body, {});
  res.appendHeader("Vary", "Accept-Encoding");
  if (!takesGzip(res.req.headers["accept-encoding"])) return send(body, {});
  gzip(body, { level: LEVEL }, (error, packed) => {
    if (error) send(body, {});
    else send(packed, { "Content-Encoding": "gzip" });
  });
}
