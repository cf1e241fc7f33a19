/** One element of a parsed document; text is kept in order among the children. */
export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: (XmlElement | string)[];
}

/** Thrown for a document that is not well-formed; the message says where. */
export class XmlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "XmlError";
  }
}

const MAX_DEPTH = 20;
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const TOKEN =
  /<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!\[CDATA\[([\s\S]*?)\]\]>|<\/([^\s>]+)\s*>|<([A-Za-z_][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|[^<]+|</g;
const ATTRIBUTE = /([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|\w+);|&/gi, (whole, name: string | undefined) => {
    if (name === undefined) throw new XmlError("a bare & must be written &amp;");
    if (name.startsWith("#"))
      return String.fromCodePoint(/^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1)));
    const known = ENTITIES[name];
    if (known === undefined) throw new XmlError(`unknown entity ${whole}`);
    return known;
  });
}

function attributesOf(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = "", double, single] of text.matchAll(ATTRIBUTE)) {
    if (name in found) throw new XmlError(`attribute ${name} is given twice`);
    found[name] = decode(double ?? single ?? "");
  }
  return found;
}

/** Parses the subset of XML that call documents use (no DTD, no namespaces). Throws XmlError. */
export function parseXml(text: string): XmlElement {
  const root: XmlElement = { name: "", attributes: {}, children: [] };
  const open: XmlElement[] = [root];
  for (const match of text.replace(/^\uFEFF/, "").matchAll(TOKEN)) {
    const [whole, cdata, closing, opening, attributes = "", selfClosing] = match;
    const inside = open.at(-1) ?? root;
    if (cdata !== undefined) inside.children.push(cdata);
    else if (closing !== undefined) {
      if (open.length === 1 || inside.name !== closing)
        throw new XmlError(`</${closing}> at ${match.index} closes nothing`);
      open.pop();
    } else if (opening !== undefined) {
      if (open.length > MAX_DEPTH) throw new XmlError(`nested deeper than ${MAX_DEPTH}`);
      const element: XmlElement = { name: opening, attributes: attributesOf(attributes), children: [] };
      inside.children.push(element);
      if (selfClosing !== "/") open.push(element);
    } else if (whole === "<") throw new XmlError(`a broken tag at ${match.index}`);
    else if (!whole.startsWith("<")) {
      if (open.length === 1 && whole.trim() !== "")
        throw new XmlError(`text outside the root element at ${match.index}`);
      inside.children.push(decode(whole));
    }
  }
  if (open.length > 1) throw new XmlError(`<${open.at(-1)?.name ?? ""}> is never closed`);
  const elements = root.children.filter((c) => typeof c !== "string");
  const [only] = elements;
  if (!only || elements.length > 1) throw new XmlError("there must be exactly one root element");
  return only;
}

/** All text inside an element, trimmed. */
export const textOf = (element: XmlElement): string =>
  element.children
    .map((c) => (typeof c === "string" ? c : textOf(c)))
    .join("")
    .replace(/\s+/g, " ")
    .trim();

/** The child elements. */
export const elementsOf = (element: XmlElement): XmlElement[] => element.children.filter((c) => typeof c !== "string");
