const QUOTE = '"';
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const isBlank = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

/** Longest path that is told. */
const MAX_PATH = 200;

/** Where the string ends that begins at `from`: the place of its closing quote. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf(QUOTE, from + 1); at >= 0; at = text.indexOf(QUOTE, at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return at;
  }
  return text.length;
}

/** Whether a colon follows, so that the string that ends here is a name. */
function isName(text: string, end: number): boolean {
  let at = end + 1;
  while (isBlank(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

/** How many names of properties a valid JSON text holds, at any depth and with all repetitions. */
export function namesIn(text: string): number {
  let names = 0;
  for (let at = text.indexOf(QUOTE); at >= 0;) {
    const end = endOfString(text, at);
    if (isName(text, end)) names++;
    at = text.indexOf(QUOTE, end + 1);
  }
  return names;
}

/** An object or array that is open: what it is called, the names it has had, and the part that is being read. */
interface Open {
  path: string;
  names: Set<string> | null;
  index: number;
}

const pathIn = ({ path, names, index }: Open, name: string): string =>
  names === null ? `${path}[${index}]` : path === "" ? name : `${path}.${name}`;

/** The path of the first property of a valid JSON text that an object has twice; null: there is none. Works without recursion, in time that grows with the text. */
export function repeatedNameIn(text: string): string | null {
  const open: Open[] = [];
  let name = "";
  for (let at = 0; at < text.length; at++) {
    const top = open.at(-1);
    switch (text[at]) {
      case "{":
      case "[":
        open.push({
          path: top ? pathIn(top, name).slice(0, MAX_PATH) : "",
          names: text[at] === "{" ? new Set() : null,
          index: 0,
        });
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        if (top) top.index++;
        break;
      case QUOTE: {
        const end = endOfString(text, at);
        if (top?.names && isName(text, end)) {
          name = String(JSON.parse(text.slice(at, end + 1)));
          if (top.names.has(name)) return pathIn(top, name).slice(0, MAX_PATH);
          top.names.add(name);
        }
        at = end;
        break;
      }
    }
  }
  return null;
}
