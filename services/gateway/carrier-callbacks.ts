import type { IncomingHttpHeaders } from "node:http";
import type { ParamsOf } from "../../shared/bus/bus.ts";
import { codeOf, fail } from "../../shared/errors.ts";
import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import { readBytes, textOf } from "./http/body.ts";
import { documentWaitMs, type Farewells } from "./carrier-farewells.ts";
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
 * No token: the dialer checks the carrier's signature. While the dialer is away a carrier that asks for a document gets one that ends the call
 * politely; else the answer is 503, so that the carrier tries again.
 */
export function carrierCallbacks(
  refused: Refuser,
  farewells: Pick<Farewells, "after">,
  { env, log }: Pick<ProcessDeps, "env" | "log">,
): Handler {
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
      const timeout_ms = documentWaitMs(callback.kind, env);
      const document = await bus
        .call("dialer.carrierEvent", callback as Callback, timeout_ms === undefined ? {} : { timeout_ms }) // the dialer validates it
        .catch((error: unknown) => {
          const { provider = "", kind = "" } = callback;
          const farewell = farewells.after(error, { provider, kind, path: target });
          if (farewell === null) throw error;
          log.warn(
            { event: "call.farewell", provider, kind, code: codeOf(error) },
            "no document of a conversation could be had; the call is ended politely",
          );
          return farewell;
        });
      answer(res, 200, { "Content-Type": document.content_type }, document.body);
    } catch (error) {
      refused(exchange, error, { answers: "carrier" });
    }
  };
}
