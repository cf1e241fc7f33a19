import { createHmac } from "node:crypto";

/**
 * X-Twilio-Signature: base64 HMAC-SHA1 over the full URL, then every form parameter's name and value sorted by name
 * (several values of one name: distinct, sorted). https://www.twilio.com/docs/usage/security
 */
export function sign(authToken: string, url: string, form: URLSearchParams = new URLSearchParams()): string {
  const names = [...new Set(form.keys())].sort();
  const text = names.reduce(
    (all, name) =>
      all +
      [...new Set(form.getAll(name))]
        .sort()
        .map((value) => name + value)
        .join(""),
    url,
  );
  return createHmac("sha1", authToken).update(text, "utf8").digest("base64");
}
