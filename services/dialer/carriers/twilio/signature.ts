import { createHash, createHmac } from "node:crypto";
import type { SignedRequest } from "../carrier-port.ts";
import { headerOf, isForm, isSame, queryOf } from "../signed-request.ts";

const HEADER = "x-twilio-signature";
const STANDARD_PORT: Record<string, string> = { https: "443", wss: "443", http: "80", ws: "80" };
const PARTS = /^([a-z]+):\/\/([^/?#]+)(.*)$/is;

/** base64 HMAC-SHA1 over the address as asked for, then every form field's name and value, sorted by name (https://www.twilio.com/docs/usage/security). */
export function signatureOf(auth_token: string, url: string, form: URLSearchParams): string {
  const names = [...new Set(form.keys())].sort();
  const signed = names
    .map((name) =>
      [...new Set(form.getAll(name))]
        .sort()
        .map((value) => name + value)
        .join(""),
    )
    .join("");
  return createHmac("sha1", auth_token)
    .update(url + signed, "utf8")
    .digest("base64");
}

/** The address with and without its port: Twilio signs either form (so does its own SDK accept both). */
function portForms(url: string): string[] {
  const [, scheme = "", host = "", rest = ""] = PARTS.exec(url) ?? [];
  const bare = host.replace(/:\d+$/, "");
  const port = STANDARD_PORT[scheme.toLowerCase()];
  return [
    ...new Set([
      url,
      `${scheme}://${bare}${rest}`,
      ...(bare === host && port ? [`${scheme}://${host}:${port}${rest}`] : []),
    ]),
  ];
}

/** The address with and without a slash at the end of its path. */
function slashForms(url: string): string[] {
  const [path = "", ...query] = url.split("?");
  const tail = query.length > 0 ? `?${query.join("?")}` : "";
  return [...new Set([url, `${path.replace(/\/+$/, "")}${tail}`, `${path.replace(/\/*$/, "/")}${tail}`])];
}

/** True when the body is the one whose hash stands in the signed query (`bodySHA256`), which Twilio adds for bodies that are no form. */
function bodyMatches(path: string, body: string): boolean {
  const hash = queryOf(path).get("bodySHA256");
  return hash !== null && isSame(hash, createHash("sha256").update(body, "utf8").digest("hex"));
}

/** True when Twilio signed this HTTP request to `public_url` + path. A body that the signature does not cover is refused. */
export function isSigned(auth_token: string, public_url: string, request: SignedRequest): boolean {
  const given = headerOf(request.headers, HEADER);
  if (given === "") return false;
  const covered = isForm(request);
  if (!covered && request.body !== "" && !bodyMatches(request.path, request.body)) return false;
  const form = new URLSearchParams(covered ? request.body : "");
  return portForms(public_url + request.path).some((url) => isSame(given, signatureOf(auth_token, url, form)));
}

/** True when Twilio signed this WebSocket upgrade. It carries no fields, and the slash at the end comes and goes. */
export function isUpgradeSigned(
  auth_token: string,
  public_ws_url: string,
  request: Pick<SignedRequest, "path" | "headers">,
): boolean {
  const given = headerOf(request.headers, HEADER);
  if (given === "") return false;
  const none = new URLSearchParams();
  return slashForms(public_ws_url + request.path)
    .flatMap(portForms)
    .some((url) => isSame(given, signatureOf(auth_token, url, none)));
}
