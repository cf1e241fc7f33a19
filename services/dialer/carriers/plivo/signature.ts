import { createHmac } from "node:crypto";
import { parse } from "node:querystring";
import type { SignedRequest } from "../carrier-port.ts";
import { headerOf, isForm, isSame } from "../signed-request.ts";

const HEADER = "x-plivo-signature-v3";
const NONCE_HEADER = "x-plivo-signature-v3-nonce";

type Fields = ReturnType<typeof parse>;

const valuesOf = (fields: Fields, name: string): string[] => [fields[name] ?? []].flat().sort();

/** Fields by name, their values by themselves, as one text. */
const sorted = (fields: Fields, between: { name: string; fields: string }): string =>
  Object.keys(fields)
    .sort()
    .flatMap((name) => valuesOf(fields, name).map((value) => name + between.name + value))
    .join(between.fields);

/** What the signature is computed over: the address with its query sorted and decoded, then, for a POST, the form sorted; the nonce goes behind (as the plivo package computes it). */
export function signedText(method: string, url: string, form: string): string {
  const [base = "", ...rest] = url.split("?");
  const query = sorted(parse(rest.join("?")), { name: "=", fields: "&" });
  const posted = method === "POST" ? parse(form) : {};
  if (Object.keys(posted).length === 0) return query === "" ? base : `${base}?${query}`;
  return `${base}?${query}${query === "" ? "" : "."}${sorted(posted, { name: "", fields: "" })}`;
}

/** Signature V3: base64 HMAC-SHA256 of the text, a full stop and the nonce (https://www.plivo.com/docs/voice/concepts/signature-validation). */
export const signatureOf = (auth_token: string, text: string, nonce: string): string =>
  createHmac("sha256", auth_token).update(`${text}.${nonce}`, "utf8").digest("base64");

/** True when Plivo signed this request to `public_url` + path: the header lists one signature per auth token. A body that the signature does not cover is refused. */
export function isSigned(auth_token: string, public_url: string, request: SignedRequest): boolean {
  const { method, path, headers, body } = request;
  const [given, nonce] = [headerOf(headers, HEADER), headerOf(headers, NONCE_HEADER)];
  if (given === "" || nonce === "") return false;
  if (!isForm(request) && body !== "") return false;
  const right = signatureOf(auth_token, signedText(method, public_url + path, body), nonce);
  return given.split(",").some((one) => isSame(one.trim(), right));
}
