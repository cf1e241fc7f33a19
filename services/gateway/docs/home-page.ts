import { BASE_PATH } from "../../../shared/base-path.ts";
import {
  brandHtml,
  escapeHtml,
  ICON,
  ICON_LINK,
  ICON_POLICY,
  PAGE_STYLE,
  sourceHash,
} from "../../../shared/html/page-parts.ts";
import type { Env } from "../../../shared/process/env.ts";
import { answerText, withHead, type Handler } from "../http/exchange.ts";

/** Nothing but its own style and icon. */
const POLICY = `default-src 'none'; style-src ${sourceHash(PAGE_STYLE)}; ${ICON_POLICY}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** Where a person goes from here: address, what it is called, and what is there. */
type Link = readonly [string, string, string];

const linkHtml = ([href, name, about]: Link): string =>
  `<div class="card"><h2><a href="${escapeHtml(href)}">${name}</a></h2><p>${about}</p></div>`;
const pageOf = (base: string, links: readonly Link[]): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>callagent</title>${ICON_LINK}<style>${PAGE_STYLE}</style></head><body class="page">${brandHtml("/")}<main>
<h1>Automated phone calls</h1><p>Push a lead, the phone rings, the agent and the person talk, a webhook reports. The API is at <code>${escapeHtml(`${base}${BASE_PATH}`)}</code>.</p>
${links.map(linkHtml).join("")}
</main></body></html>
`;

const ICON_HEADERS = {
  "Content-Type": "image/svg+xml",
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  "Cache-Control": "public, max-age=86400",
};
const icon: Handler = async ({ res }) => answerText(res, 200, ICON_HEADERS, ICON);

/** The page at the root, which leads on, and the icon, which browsers ask for wherever they are. TALK_PAGE_URL: a page on which a person talks to an agent, where the deployment has one. */
export function homePage(env: Pick<Env, "PUBLIC_HTTP_URL" | "TALK_PAGE_URL">): Record<string, Handler> {
  const talk = env.TALK_PAGE_URL;
  const page = pageOf(env.PUBLIC_HTTP_URL, [
    ...(talk === undefined
      ? []
      : [[talk, "Talk to an agent", "A conversation in this browser; no phone rings."] as const]),
    ["/docs", "API documentation", "Every endpoint with its fields, errors and an example."],
    ["/openapi.json", "OpenAPI document", "The same for programs and generators."],
    [
      "/health/ready",
      "Health",
      "JSON for programs: whether calls can be placed; <code>/health/live</code>: whether the process answers.",
    ],
  ]);
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
  };
  return {
    ...withHead("/", async ({ res }) => answerText(res, 200, headers, page)),
    ...withHead("/favicon.svg", icon),
    ...withHead("/favicon.ico", icon),
  };
}
