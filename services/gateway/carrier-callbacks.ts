import type { IncomingHttpHeaders } from "node:http";
import type { ParamsOf } from "../../shared/bus/bus.ts";
import { fail } from "../../shared/errors.ts";
import { readBytes, textOf } from "./http/body.ts";
import { answer, type Handler, type Refuser } from "./http/exchange.ts";

type Callback = ParamsOf<"dialer.carrierEvent">;

/** Credentials that no carrier's signature covers: they are not forwarded. */
const NOT_FORWARDED = new Set(["authorization", "cookie", "proxy-authorization"]);

/** Headers as single strings under lower-case names. */
export const singleHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name, value]) => value !== undefined && !NOT_FORWARDED.has(name))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")]),
  );

/**
 * Carrier callbacks: handed to the dialer as they came, path, query and body to the byte, because signatures are computed over them.
 * No token: the dialer checks the carrier's signature. While the dialer is down the answer is 503, so that the carrier tries again.
 */
export function carrierCallbacks(refused: Refuser): Handler {
  return async (exchange) => {
    const { req, res, bus, path, target } = exchange;
    try {
      const body =
        textOf(await readBytes(req)) ??
        fail("VALIDATION_FAILED", "The body is not UTF-8 text.", {
          errors: [{ path: "", message: "is not UTF-8 text" }],
        });
      const callback = {
        provider: path["provider"],
        kind: path["kind"],
        ref: path["ref"],
        method: req.method === "HEAD" ? "GET" : req.method,
        path: target,
        headers: singleHeaders(req.headers),
        body,
      };
      const document = await bus.call("dialer.carrierEvent", callback as Callback); // the dialer validates it
      answer(res, 200, { "Content-Type": document.content_type }, document.body);
    } catch (error) {
      refused(exchange, error, { answers: "carrier" });
    }
  };
}
