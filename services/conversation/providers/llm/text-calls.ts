import { isRecord, textOf } from "../../../../shared/json.ts";

/** A function call that came as text. */
export interface TextCall {
  readonly name: string;
  readonly arguments: string;
}

/** What a call that can't be read is named: no template has such a function, so that the dialogue refuses it. */
export const UNREADABLE_CALL = "unreadable_call";

/** How servers without a parser of their model's calls write them: Hermes and Qwen, Mistral, Llama, fenced JSON, and JSON alone. */
const OPENERS = ["<tool_call", "<function", "<|python_tag|>", "[TOOL_CALLS]", "```", '{"', "[{"] as const;
const LONGEST_OPENER = Math.max(...OPENERS.map((opener) => opener.length));
const SPACE = /\s+/gu;

const squeezed = (text: string): string => text.replaceAll(SPACE, "");

/** Where a call begins in a text; Infinity: nowhere. JSON at the very beginning is none that is spoken, however it is spaced. */
function openingAt(text: string, spoke: boolean, names: readonly string[]): number {
  const found = OPENERS.map((opener) => text.indexOf(opener)).filter((at) => at >= 0);
  const lead = text.length - text.trimStart().length;
  const begun = text.slice(lead);
  const named = names.some((name) => begun.startsWith(name) && /^\s*[({]/u.test(begun.slice(name.length)));
  const json = /^[{[]\s*["{}[\]]/u.test(begun);
  return Math.min(...found, ...(!spoke && (named || json) ? [lead] : []), Infinity);
}

/** Where the end of a text may be the beginning of a call; its length: nowhere. JSON, or a name, opens one at the very beginning only. */
function mayOpenAt(text: string, spoke: boolean, names: readonly string[]): number {
  const begun = text.trimStart();
  const isName = names.some(
    (name) => name.startsWith(begun) || (begun.startsWith(name) && begun.slice(name.length).trim() === ""),
  );
  if (!spoke && (begun === "" || isName || /^[{[]\s*$/u.test(begun))) return 0;
  for (let at = Math.max(0, text.length - LONGEST_OPENER); at < text.length; at++)
    if (OPENERS.some((opener) => opener.startsWith(text.slice(at)))) return at;
  return text.length;
}

/** The end of the JSON value that begins here; -1: it has none. */
function jsonEnd(text: string, from: number): number {
  let depth = 0;
  let quoted = false;
  for (let at = from; at < text.length; at++) {
    const c = text[at];
    if (quoted) {
      if (c === "\\") at++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "{" || c === "[") depth++;
    else if ((c === "}" || c === "]") && --depth === 0) return at + 1;
  }
  return -1;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const argumentsText = (value: unknown): string => (isRecord(value) ? JSON.stringify(value) : textOf(value) || "{}");

/** The calls that a JSON value holds, in any of the shapes that servers give them. */
function callsOf(value: unknown): TextCall[] {
  if (Array.isArray(value)) return value.flatMap(callsOf);
  if (!isRecord(value)) return [];
  const inner = value["function"] ?? value["function_call"] ?? value["tool_calls"];
  if (isRecord(inner) || Array.isArray(inner)) return callsOf(inner);
  const name = textOf(value["name"]) || textOf(value["function"]) || textOf(value["tool"]);
  const args = value["arguments"] ?? value["parameters"] ?? value["args"];
  return name === "" ? [] : [{ name, arguments: argumentsText(args) }];
}

const LITERALS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

/** Arguments as Python writes them: `day="Friday", times=2`. */
function keywordArguments(text: string): string {
  if (text.trim().startsWith("{")) return text.trim();
  const pairs = [...text.matchAll(/([A-Za-z_]\w*)\s*=\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^,]+)/gu)].map(
    ([, key = "", raw = ""]) => {
      const word = raw.trim();
      const json = word.startsWith("'") ? JSON.stringify(word.slice(1, -1)) : word;
      return [key, word in LITERALS ? LITERALS[word] : (parsed(json) ?? word)] as const;
    },
  );
  return pairs.length === 0 && text.trim() !== "" ? text : JSON.stringify(Object.fromEntries(pairs));
}

/** The function calls in a text that is no speech; one that is named UNREADABLE_CALL where there is none to be read. */
export function callsInText(text: string, names: readonly string[]): TextCall[] {
  const calls: TextCall[] = [];
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "{" && text[at] !== "[") continue;
    const end = jsonEnd(text, at);
    const value = end < 0 ? undefined : parsed(text.slice(at, end));
    if (value === undefined) continue;
    const before = /([A-Za-z_]\w*)[^\w]{0,3}(?:\[ARGS\])?\s*$/u.exec(text.slice(0, at))?.[1] ?? "";
    const found = callsOf(value);
    if (found.length > 0) calls.push(...found);
    else if (isRecord(value) && names.includes(before)) calls.push({ name: before, arguments: JSON.stringify(value) });
    at = end - 1;
  }
  if (calls.length > 0) return calls;
  for (const [, name = "", args = ""] of text.matchAll(/([A-Za-z_]\w*)\(([^()]*)\)/gu))
    if (names.includes(name)) calls.push({ name, arguments: keywordArguments(args) });
  return calls.length > 0 ? calls : [{ name: UNREADABLE_CALL, arguments: "{}" }];
}

/** Tells speech from calls that are written as text: `push` returns what may be said, `end` that and the calls. What is held is never said. */
export function withoutTextCalls(names: readonly string[]) {
  let held = "";
  let calling = false;
  let spoke = false;
  return {
    push(text: string): string {
      held += text;
      if (calling) return "";
      const at = openingAt(held, spoke, names);
      calling = at !== Infinity;
      const until = calling ? at : mayOpenAt(held, spoke, names);
      const speech = held.slice(0, until);
      held = held.slice(until);
      spoke ||= speech.trim() !== "";
      return speech;
    },
    end(): { text: string; calls: TextCall[] } {
      if (calling) return { text: "", calls: callsInText(held, names) };
      // a name alone is a call without arguments
      if (!spoke && names.includes(squeezed(held)))
        return { text: "", calls: [{ name: squeezed(held), arguments: "{}" }] };
      return { text: held, calls: [] };
    },
  };
}
