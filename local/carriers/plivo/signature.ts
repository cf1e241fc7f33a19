import { createHmac } from "node:crypto";

const pairs = (fields: URLSearchParams, between: string): string[] =>
  [...new Set(fields.keys())].sort().flatMap((name) =>
    fields
      .getAll(name)
      .sort()
      .map((value) => name + between + value),
  );

/**
 * X-Plivo-Signature-V3: base64 HMAC-SHA256 over the address (its query sorted and decoded), a POST's fields sorted by name, and the nonce.
 * https://www.plivo.com/docs/voice/concepts/signature-validation
 */
export function sign(authToken: string, url: string, form: URLSearchParams | undefined, nonce: string): string {
  const [base = "", ...rest] = url.split("?");
  const query = pairs(new URLSearchParams(rest.join("?")), "=").join("&");
  const posted = form ? pairs(form, "").join("") : "";
  const text =
    posted === "" ? `${base}${query === "" ? "" : `?${query}`}` : `${base}?${query}${query === "" ? "" : "."}${posted}`;
  return createHmac("sha256", authToken).update(`${text}.${nonce}`, "utf8").digest("base64");
}
