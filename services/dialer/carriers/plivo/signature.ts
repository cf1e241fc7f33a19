import { createHmac, timingSafeEqual } from "node:crypto";
import { parse } from "node:querystring";
import type { SignedRequest } from "../carrier-port.ts";

const HEADER = "x-plivo-signature-v3";
const NONCE_HEADER = "x-plivo-signature-v3-nonce";
const FORM = "application/x-www-form-urlencoded";

type Fields = ReturnType<typeof parse>;

const valuesOf = (fields: Fields, name: string): string[] => [fields[name] ?? []].flat().sort();

const sortedQuery = (fields: Fields): string =>
  Object.keys(fields)
    .sort()
    .flatMap((name) => valuesOf(fields, name).map((value) => `${name}=${value}`))
    .join("&");

const sortedForm = (fields: Fields): string =>
  Object.keys(fields)
    .sort()
    .flatMap((name) => valuesOf(fields, name).map((value) => name + value))
    .join("");

/** What the signature is computed over: the address with its query sorted and decoded, then, for a POST, the form sorted; the nonce goes behind (as the plivo package computes it). */
export function signedText(method: string, url: string, form: string): string {
  const [base = "", ...rest] = url.split("?");
  const query = sortedQuery(parse(rest.join("?")));
  const posted = method === "POST" ? parse(form) : {};
  if (Object.keys(posted).length === 0) return query === "" ? base : `${base}?${query}`;
  return `${base}?${query}${query === "" ? "" : "."}${sortedForm(posted)}`;
}

/** Signature V3: base64 HMAC-SHA256 of the text, a full stop and the nonce (https://www.plivo.com/docs/voice/concepts/signature-validation). */
export const signatureOf = (auth_token: string, text: string, nonce: string): string =>
  createHmac("sha256", auth_token).update(`${text}.${nonce}`, "utf8").digest("base64");

const equal = (a: string, b: string): boolean => {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
};

const headerOf = (headers: Record<string, string>, sought: string): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === sought)?.[1] ?? "";

/** True when Plivo signed this request to `public_url` + path: the header lists one signature per auth token. A body that the signature does not cover is refused. */
export function isSigned(
  auth_token: string,
  public_url: string,
  { method, path, headers, body }: SignedRequest,
): boolean {
  const [given, nonce] = [headerOf(headers, HEADER), headerOf(headers, NONCE_HEADER)];
  if (given === "" || nonce === "") return false;
  const covered = method === "POST" && headerOf(headers, "content-type").toLowerCase().startsWith(FORM);
  if (!covered && body !== "") return false;
  const right = signatureOf(auth_token, signedText(method, public_url + path, body), nonce);
  return given.split(",").some((one) => equal(one.trim(), right));
}
