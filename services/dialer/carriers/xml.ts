import type { AnswerDocument } from "./carrier-port.ts";

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;" };
/** Characters XML 1.0 can't hold at all, escaped or not. */
// oxlint-disable-next-line no-control-regex -- these are the characters meant
const FORBIDDEN = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/g;

/** Text as it stands in a call document. */
export const escaped = (text: string): string =>
  text.replace(FORBIDDEN, "").replace(/[&<>"']/g, (c) => ENTITIES[c] ?? c);

/** One element; `inside` is XML already, attributes that are null are left out. */
export function element(name: string, attributes: Record<string, string | null> = {}, inside = ""): string {
  const given = Object.entries(attributes)
    .map(([key, value]) => (value === null ? "" : ` ${key}="${escaped(value)}"`))
    .join("");
  return inside === "" ? `<${name}${given}/>` : `<${name}${given}>${inside}</${name}>`;
}

/** A call document as the carrier is answered. */
export const xmlAnswer = (body: string): AnswerDocument => ({ content_type: "text/xml; charset=utf-8", body });

/** A whole call document; both carriers that follow one call its root so. */
export const responseDocument = (inside: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Response>${inside}</Response>`;

/** Nothing to do: the answer to a notice. */
export const emptyDocument = (): string => responseDocument("");
