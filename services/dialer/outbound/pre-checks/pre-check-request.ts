import { renderedAddress, urlEncoded } from "../../../../shared/egress/rendered-address.ts";
import { renderedHeaders } from "../../../../shared/egress/request-headers.ts";
import { render, renderJson, secretNames, type SecretValues, type Sources } from "../../../../shared/placeholders.ts";
import type { PreCheck } from "./pre-check.ts";

/** A pre-check's request, every {{variable}} filled in. Headers may hold secrets: never to be logged. */
export interface Outgoing {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

const WITHOUT_BODY = new Set(["GET", "HEAD"]);

/** Values put into a text body keep their place there: what they hold never becomes syntax. */
function encodingOf(type: string): (value: string) => string {
  if (type.includes("json")) return (value) => JSON.stringify(value).slice(1, -1);
  if (type.includes("form-urlencoded")) return urlEncoded;
  return (value) => value;
}

const typeOf = (body: unknown, given: string | undefined): string =>
  given ?? (typeof body !== "string" || /^\s*[[{]/.test(body) ? "application/json" : "text/plain; charset=utf-8");

/** Fills the request in; a text says why it can't be sent. Values are URL-encoded in the address, which takes no secrets: servers log it. Pure. */
export function outgoingOf(check: PreCheck, sources: Sources, secrets: SecretValues): Outgoing | string {
  if (check.url === null) return "it names no url";
  const missing = secretNames(check.headers, check.body).find((name) => !secrets.has(name));
  if (missing !== undefined) return `there is no secret of the name ${missing}`;
  const url = renderedAddress(check.url, sources);
  if (url === null) return "a part of its address is . or ..";
  const headers = renderedHeaders(check.headers, sources, secrets);
  if (typeof headers === "string") return headers;
  if (check.body === undefined || WITHOUT_BODY.has(check.method))
    return { url, method: check.method, headers, body: null };
  const type = typeOf(check.body, headers["content-type"]);
  const body =
    typeof check.body === "string"
      ? render(check.body, sources, encodingOf(type), secrets)
      : JSON.stringify(renderJson(check.body, sources, secrets));
  return { url, method: check.method, headers: { ...headers, "content-type": type }, body };
}
