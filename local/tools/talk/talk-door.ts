import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { each } from "../../../deploy/client/pages.ts";
import {
  brandHtml,
  escapeHtml,
  ICON_LINK,
  ICON_POLICY,
  PAGE_STYLE,
  sourceHash,
} from "../../../shared/html/page-parts.ts";
import { ApiFailure, type Client } from "../api-client.ts";
import type { Sample } from "../sample/seed.ts";
import { talkLink, type TalkTemplate } from "./session-lead.ts";

/** A page of `npm start` alone: a button for each template begins a fresh test lead and leads to its page. The product has no such door. */

const HOST = "127.0.0.1";
const HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src ${sourceHash(PAGE_STYLE)}; ${ICON_POLICY}; form-action *; frame-ancestors 'none'; base-uri 'none'`,
  "Cache-Control": "no-store",
  // under no-referrer browsers send "Origin: null" with the page's own form (Fetch standard, section 3.2), which is no origin to trust
  "Referrer-Policy": "same-origin",
};
const MOVED = 303;
/** Leads that are begun in a minute; more are a program's. */
const MOST_A_MINUTE = 30;
const MINUTE_MS = 60_000;
const MINUTE_SECONDS = 60;
/** Templates that have a button. */
const MOST_SHOWN = 50;

type Shown = Pick<TalkTemplate, "id" | "name">;

const buttonHtml = ({ id, name }: Shown): string =>
  `<form class="card" method="post" action="/${escapeHtml(id)}"><button>Talk to ${escapeHtml(name)}</button></form>`;

const pageOf = (said: string, templates: readonly Shown[], home: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Talk to an agent</title>${ICON_LINK}<style>${PAGE_STYLE}</style></head><body class="page">${brandHtml(home)}<main><h1>Talk to an agent</h1><p role="status">${escapeHtml(said)}</p>${templates.map(buttonHtml).join("")}</main></body></html>`;

const SAID =
  "Each button begins a test session of a template in this browser; no phone rings. With the simulators the agent speaks tones in place of words: its words are on the page, and you answer by keypad or by typing.";
const TOO_MANY = `${MOST_A_MINUTE} conversations were begun within a minute, more than a person begins. Wait a minute, then press again.`;
const UNKNOWN = "That template is not there any more. These are:";

/** Pages of other origins may neither send the form nor, by a name of their own for this address, read the answer. */
const isOwn = ({ headers }: IncomingMessage, host: string): boolean =>
  headers.host === host && (headers.origin === undefined || headers.origin === `http://${host}`);

/** What the door leads to. */
export interface TalkDoor {
  url: string;
  close(): void;
}

/** Its address, on a port of this machine. */
export const talkAddress = (port: number): string => `http://${HOST}:${port}/`;

/** The templates that have a button: the samples first, then those of the author. */
async function shownOf(client: Client, sample: Sample): Promise<TalkTemplate[]> {
  const found: TalkTemplate[] = [];
  for await (const template of each(client, "/templates")) {
    if (template.is_active) found.push(template);
    if (found.length >= MOST_SHOWN) break;
  }
  const rank = ({ id }: Shown): number => {
    const at = sample.templates.findIndex((one) => one.id === id);
    return at < 0 ? sample.templates.length : at;
  };
  return found.toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** What begins a conversation: the address of its page, or why there is none. */
function beginner(client: () => Promise<Client>, sample: Sample) {
  let begun: number[] = [];
  return async (id: string): Promise<{ link: string } | { status: 404 | 429; said: string }> => {
    begun = begun.filter((at) => performance.now() - at < MINUTE_MS);
    if (begun.length >= MOST_A_MINUTE) return { status: 429, said: TOO_MANY };
    begun.push(performance.now());
    const asked = await client();
    const template = (await shownOf(asked, sample)).find((one) => one.id === id);
    if (template === undefined) return { status: 404, said: UNKNOWN };
    return { link: (await talkLink(asked, template, template.merchant_id ?? sample.merchant_id, {})).url };
  };
}

/** Opens it on a port of this machine. `home`: the page of the product itself. */
export async function openTalkDoor(
  client: () => Promise<Client>,
  sample: Sample,
  { port, home }: { port: number; home: string },
): Promise<TalkDoor> {
  const begin = beginner(client, sample);
  const show = async (response: ServerResponse, status: number, said: string, more: Record<string, string> = {}) => {
    const templates = await shownOf(await client(), sample).catch(() => sample.templates);
    response.writeHead(status, { ...HEADERS, ...more }).end(pageOf(said, templates, home));
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!isOwn(request, `${HOST}:${at()}`)) return void response.writeHead(403, HEADERS).end();
    if (request.method !== "POST") return show(response, 200, SAID);
    const made = await begin((request.url ?? "").slice(1));
    if ("link" in made)
      return void response.writeHead(MOVED, { Location: made.link, "Cache-Control": "no-store" }).end();
    await show(response, made.status, made.said, made.status === 429 ? { "Retry-After": String(MINUTE_SECONDS) } : {});
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) =>
      show(response, 502, error instanceof ApiFailure ? error.message : "callagent does not answer; try again."),
    );
  });
  const at = (): number => {
    const address = server.address();
    return address !== null && typeof address === "object" ? address.port : port;
  };
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, HOST, resolve);
  });
  // the product's end is waited for, not a browser's connection to this page
  server.unref();
  return { url: talkAddress(at()), close: () => server.closeAllConnections() };
}
