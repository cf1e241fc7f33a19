import { createHash } from "node:crypto";
import { BASE_PATH } from "../../../shared/base-path.ts";
import type { Env } from "../../../shared/process/env.ts";
import { answerText, withHead, type Handler } from "../http/exchange.ts";
import { escapeHtml } from "./field-tables.ts";

const STYLE = `:root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;max-width:40rem;margin:0 auto;padding:1.5rem}
h1{margin:0}dt{margin-top:1rem;font-weight:600}dd{margin:0}code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}`;

/** Nothing but its own style and an empty icon. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** Where a person goes from here: address, what it is called, and what is there. */
type Link = readonly [string, string, string];

const pageOf = (base: string, links: readonly Link[]): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>callagent</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body><main>
<h1>callagent</h1><p>Outbound voice calls: push a lead, the phone rings, they talk, a webhook reports. The API is at <code>${escapeHtml(`${base}${BASE_PATH}`)}</code>.</p>
<dl>${links.map(([href, name, about]) => `<dt><a href="${escapeHtml(href)}">${name}</a></dt><dd>${about}</dd>`).join("")}</dl>
</main></body></html>
`;

/** The page at the root, which leads on. TALK_PAGE_URL: a page on which a person talks to an agent, where the deployment has one. */
export function homePage(env: Pick<Env, "PUBLIC_HTTP_URL" | "TALK_PAGE_URL">): Record<string, Handler> {
  const talk = env.TALK_PAGE_URL;
  const page = pageOf(env.PUBLIC_HTTP_URL, [
    ...(talk === undefined
      ? []
      : [[talk, "Talk to an agent", "A conversation in this browser; no phone rings."] as const]),
    ["/docs", "API documentation", "Every endpoint with its fields, errors and an example."],
    ["/openapi.json", "OpenAPI document", "The same for programs and generators."],
    ["/health/ready", "Health", "Whether calls can be placed; <code>/health/live</code>: whether the process answers."],
  ]);
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
  };
  return withHead("/", async ({ res }) => answerText(res, 200, headers, page));
}
