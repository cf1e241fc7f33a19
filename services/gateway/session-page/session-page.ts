import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, fail } from "../../../shared/errors.ts";
import { isRecord, recordIn } from "../../../shared/json.ts";
import type { Env } from "../../../shared/process/env.ts";
import { readBytes, textOf } from "../http/body.ts";
import { answerJson, answerText, withHead, type Handler, type Refuser } from "../http/exchange.ts";
import type { Limits } from "../http/request-limits.ts";

/** The files of the page, by the last part of their address. */
const ASSETS = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "session.js": "text/javascript; charset=utf-8",
  "session.d.ts": "text/plain; charset=utf-8",
  "widget.js": "text/javascript; charset=utf-8",
  "audio.js": "text/javascript; charset=utf-8",
} as const;

/** Pages of any origin may use the SDK and exchange a link: what they need is the link, and no cookie is looked at. */
const SHARED = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };

const fileOf = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");

/** What the page may do: its own files, the session's socket, the microphone; nothing of anybody else. */
const policyOf = (env: Pick<Env, "PUBLIC_WS_URL">): string =>
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${new URL(env.PUBLIC_WS_URL).origin}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** The secret that a tab names; undefined: it has none yet. VALIDATION_FAILED. */
function resumeIn(bytes: Uint8Array): string | undefined {
  const body = recordIn(textOf(bytes) ?? "");
  const resume = isRecord(body) ? body["resume"] : null;
  if (resume === undefined) return undefined;
  return typeof resume === "string" ? resume : fail("VALIDATION_FAILED", "The body is not what the page sends.");
}

/** The page behind a join link, its files, and the exchange of the link for a session. Opening it changes nothing: programs open links too. */
export function sessionPage(
  env: Pick<Env, "PUBLIC_WS_URL">,
  limits: Pick<Limits, "checkBadTokens">,
  refused: Refuser,
): Record<string, Handler> {
  const page = fileOf("page.html");
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policyOf(env),
    "Permissions-Policy": "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
  };
  const files = Object.entries(ASSETS).map(([name, type]) => {
    const text = fileOf(name);
    return withHead(`/r/assets/${name}`, async ({ res }) => {
      answerText(res, 200, { "Content-Type": type, "Cache-Control": "no-cache", ...SHARED }, text);
    });
  });
  return {
    ...(Object.assign({}, ...files) as Record<string, Handler>),
    ...withHead("/r/:link", async ({ res }) => answerText(res, 200, headers, page)),
    "POST /r/:link": async (exchange) => {
      const { req, res, bus, path } = exchange;
      for (const [name, value] of Object.entries(SHARED)) res.setHeader(name, value);
      try {
        const countBad = limits.checkBadTokens(req);
        const resume = resumeIn(await readBytes(req));
        const joined = await bus
          .call("leads.joinByLink", { link: path["link"] ?? "", ...(resume === undefined ? {} : { resume }) })
          .catch((error: unknown) => {
            if (codeOf(error) === "LEAD_NOT_FOUND") countBad();
            throw error;
          });
        res.setHeader("Cache-Control", "no-store");
        answerJson(res, 200, joined);
      } catch (error) {
        refused(exchange, error, { answers: "plain" });
      }
    },
  };
}
