import { render, renderJson, type Sources } from "../../../../shared/placeholders.ts";
import type { PreCheck } from "./pre-check.ts";

/** A pre-check's request, every {{variable}} filled in. Headers may hold secrets: never to be logged. */
export interface Outgoing {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

/** Headers that belong to the connection, not to the configuration of the check. */
const OURS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "keep-alive",
  "accept-encoding",
]);
const WITHOUT_BODY = new Set(["GET", "HEAD"]);
// oxlint-disable-next-line no-control-regex -- these are the characters meant
const CONTROL = /[\u0000-\u001F\u007F]/;

/** For addresses and forms; half a character (a lone surrogate) has no code and becomes a replacement character. */
const urlEncoded = (value: string): string => encodeURIComponent(value.toWellFormed());

/** Values put into a text body keep their place there: what they hold never becomes syntax. */
function encodingOf(type: string): (value: string) => string {
  if (type.includes("json")) return (value) => JSON.stringify(value).slice(1, -1);
  if (type.includes("form-urlencoded")) return urlEncoded;
  return (value) => value;
}

const typeOf = (body: unknown, given: string | undefined): string =>
  given ?? (typeof body !== "string" || /^\s*[[{]/.test(body) ? "application/json" : "text/plain; charset=utf-8");

/** Fills the request in; a text says why it can't be sent. Values are URL-encoded in the address. Pure. */
export function outgoingOf(check: PreCheck, sources: Sources): Outgoing | string {
  if (check.url === null) return "it names no url";
  const url = render(check.url, sources, urlEncoded);
  const headers: Record<string, string> = { accept: "application/json", "user-agent": "callagent" };
  for (const [name, template] of Object.entries(check.headers)) {
    const value = render(template, sources);
    if (OURS.has(name.toLowerCase())) return `the header "${name}" can't be set`;
    if (CONTROL.test(value)) return `the header "${name}" would hold a line break or another control character`;
    headers[name.toLowerCase()] = value;
  }
  if (check.body === undefined || WITHOUT_BODY.has(check.method))
    return { url, method: check.method, headers, body: null };
  const type = typeOf(check.body, headers["content-type"]);
  const body =
    typeof check.body === "string"
      ? render(check.body, sources, encodingOf(type))
      : JSON.stringify(renderJson(check.body, sources));
  return { url, method: check.method, headers: { ...headers, "content-type": type }, body };
}
