import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ResultOf } from "../../../shared/bus/bus.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { escapeHtml, PAGE_STYLE } from "../../../shared/html/page-parts.ts";
import { isRecord, recordIn } from "../../../shared/json.ts";
import { livekitAccount, type LivekitAccount } from "../../../shared/livekit/rooms.ts";
import type { Env } from "../../../shared/process/env.ts";
import type { RoomEnv } from "../../../shared/process/room-variables.ts";
import { readBytes, textOf } from "../http/body.ts";
import { answerJson, answerText, withHead, type Exchange, type Handler, type Refuser } from "../http/exchange.ts";
import type { Limits } from "../http/request-limits.ts";

type PageEnv = Pick<Env, "PUBLIC_WS_URL"> & RoomEnv;

/** The files of the page, by the last part of their address. */
const ASSETS = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "recording.js": "text/javascript; charset=utf-8",
  "session.js": "text/javascript; charset=utf-8",
  "session-error.js": "text/javascript; charset=utf-8",
  "socket-transport.js": "text/javascript; charset=utf-8",
  "room-transport.js": "text/javascript; charset=utf-8",
  "session.d.ts": "text/plain; charset=utf-8",
  "call.js": "text/javascript; charset=utf-8",
  "call.d.ts": "text/plain; charset=utf-8",
  "widget.js": "text/javascript; charset=utf-8",
  "audio.js": "text/javascript; charset=utf-8",
} as const;

/** What a link may look like; a longer one is none. */
const LINK = /^[\w-]{1,64}$/;
/** The page waits so long for what is known of its link, ms. */
const LOOK_MS = 3000;

/** Pages of any origin may use the SDK and exchange a link: what they need is the link, and no cookie is looked at. */
const SHARED = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };

const fileOf = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");
const assetOf = (name: string): string => (name === "page.css" ? `${PAGE_STYLE}\n${fileOf(name)}` : fileOf(name));

type Seen = ResultOf<"leads.lookAtLink">;
/** Where it can't be known: the button finds out. */
const UNKNOWN: Seen = { refused: null, name: null };

/** The page as it is before its button is pressed. */
function pageFor(page: string, { refused, name }: Seen): string {
  const values: Record<string, string> = {
    title: name ? `Talk to ${name}` : "Conversation",
    refused: refused ?? "",
  };
  return page.replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => escapeHtml(values[key] ?? ""));
}

/** LiveKit's client library, as its package has it for browsers; a new version is fetched within a day. */
const LIVEKIT_FILE = "livekit-client.mjs";
const LIVEKIT_CACHING = "public, max-age=86400";
function livekitFile(): string {
  const built = createRequire(import.meta.url).resolve("livekit-client");
  return readFileSync(join(dirname(built), "livekit-client.esm.mjs"), "utf8");
}

/** Where a client of a LiveKit server connects, by https too: it asks there why it was refused. LiveKit Cloud leads to hosts of its regions. */
function roomOrigins({ public_url }: Pick<LivekitAccount, "public_url">): string[] {
  const { protocol, host } = new URL(public_url);
  const hosts = host.endsWith(".livekit.cloud") ? [host, "*.livekit.cloud"] : [host];
  const schemes = protocol === "wss:" || protocol === "https:" ? ["wss:", "https:"] : ["ws:", "http:"];
  return hosts.flatMap((each) => schemes.map((scheme) => `${scheme}//${each}`));
}

/** What the page may do: its own files, the session's socket or room, the microphone, the recording that it has fetched; nothing of anybody else. */
function policyOf(env: PageEnv, account: LivekitAccount | null): string {
  const media = [new URL(env.PUBLIC_WS_URL).origin, ...(account ? roomOrigins(account) : [])].join(" ");
  return `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${media}; media-src blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;
}

/** What a tab says of itself. `resume`: its secret; absent: it has none yet. `livekit`: it can be in a LiveKit room. VALIDATION_FAILED. */
function tabIn(bytes: Uint8Array): { resume?: string; livekit: boolean } {
  const body = recordIn(textOf(bytes) ?? "");
  const { resume, livekit } = isRecord(body) ? body : { resume: null };
  if (resume === undefined) return { livekit: livekit === true };
  if (typeof resume !== "string") return fail("VALIDATION_FAILED", "The body is not what the page sends.");
  return { resume, livekit: livekit === true };
}

/** The page behind a join link, its files, and the exchange of the link for a session. Opening it changes nothing: programs open links too. */
export function sessionPage(
  env: PageEnv,
  limits: Pick<Limits, "checkBadTokens">,
  refused: Refuser,
): Record<string, Handler> {
  const account = livekitAccount(env);
  const page = fileOf("page.html");
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policyOf(env, account),
    "Permissions-Policy": "microphone=(self)",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
  };
  const served = (name: string, type: string, text: string, caching: string): Record<string, Handler> =>
    withHead(`/r/assets/${name}`, async ({ res }) => {
      answerText(res, 200, { "Content-Type": type, "Cache-Control": caching, ...SHARED }, text);
    });
  /** A link that leads nowhere is said to be dead before anybody allows a microphone. Who guesses links learns no more than by pressing the button. */
  const look = async ({ req, bus, path }: Exchange): Promise<Seen> => {
    const link = path["link"] ?? "";
    if (!LINK.test(link)) return { refused: "LEAD_NOT_FOUND", name: null };
    try {
      const countBad = limits.checkBadTokens(req);
      const seen = await bus.call("leads.lookAtLink", { link }, { timeout_ms: LOOK_MS });
      if (seen.refused === "LEAD_NOT_FOUND") countBad();
      return seen;
    } catch {
      return UNKNOWN;
    }
  };
  const files = Object.entries(ASSETS).map(([name, type]) => served(name, type, assetOf(name), "no-cache"));
  if (account) files.push(served(LIVEKIT_FILE, ASSETS["page.js"], livekitFile(), LIVEKIT_CACHING));
  return {
    ...(Object.assign({}, ...files) as Record<string, Handler>),
    ...withHead("/r/:link", async (exchange) => {
      const { refused, name } = await look(exchange);
      answerText(exchange.res, refused === "LEAD_NOT_FOUND" ? 404 : 200, headers, pageFor(page, { refused, name }));
    }),
    "POST /r/:link": async (exchange) => {
      const { req, res, bus, path } = exchange;
      for (const [name, value] of Object.entries(SHARED)) res.setHeader(name, value);
      try {
        const countBad = limits.checkBadTokens(req);
        const tab = tabIn(await readBytes(req));
        const joined = await bus
          .call("leads.joinByLink", { link: path["link"] ?? "", ...tab })
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
