/** How long a browser may cache a preflight's answer. */
const MAX_AGE_SECONDS = 600;

/** What a page's script may send and read beyond what every page may. */
const SENT = "Authorization, Content-Type, Idempotency-Key, X-Request-Id, Range, If-Range";
const READ =
  "X-Request-Id, X-Api-Version, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotency-Replayed, Accept-Ranges, Content-Range, Content-Disposition, ETag";

/** The origins of CORS_ORIGINS; none when it is not set. */
export const originsOf = (list: string | undefined): ReadonlySet<string> =>
  new Set(
    (list ?? "")
      .split(",")
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ""),
  );

/** The headers that let a script of this origin read the answer; empty when it may not. Cookies are never asked for, so credentials stay off. */
export function corsHeaders(origin: string | undefined, allowed: ReadonlySet<string>): Record<string, string> {
  if (allowed.size === 0) return {};
  if (origin === undefined || !allowed.has(origin)) return { Vary: "Origin" };
  return { Vary: "Origin", "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": READ };
}

/** What is added where the request is a preflight of an allowed origin: it may use the methods that are there. */
export function preflightHeaders(
  origin: string | undefined,
  allowed: ReadonlySet<string>,
  methods: readonly string[],
): Record<string, string> {
  if (origin === undefined || !allowed.has(origin)) return {};
  return {
    "Access-Control-Allow-Methods": methods.join(", "),
    "Access-Control-Allow-Headers": SENT,
    "Access-Control-Max-Age": String(MAX_AGE_SECONDS),
  };
}
