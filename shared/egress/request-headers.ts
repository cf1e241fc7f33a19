import { render, type SecretValues, type Sources } from "../placeholders.ts";

/** Headers that belong to the connection, not to whoever names the request. */
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
// oxlint-disable-next-line no-control-regex -- these are the characters meant
const CONTROL = /[\u0000-\u001F\u007F]/;

/** The headers of a request to a client's server, in lower case over our own, every placeholder filled in; a text says why they can't be sent. They may hold secrets: never to be logged. */
export function renderedHeaders(
  templates: Readonly<Record<string, string>>,
  sources: Sources,
  secrets: SecretValues,
): Record<string, string> | string {
  const headers: Record<string, string> = { accept: "application/json", "user-agent": "callagent" };
  for (const [name, template] of Object.entries(templates)) {
    const value = render(template, sources, undefined, secrets);
    if (OURS.has(name.toLowerCase())) return `the header "${name}" can't be set`;
    if (CONTROL.test(value)) return `the header "${name}" would hold a line break or another control character`;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}
