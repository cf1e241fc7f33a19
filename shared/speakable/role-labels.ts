import type { TextFilter } from "./character-filter.ts";

/** What models that continue a script write in front of their words: "Agent: Hello". */
const LABELS: readonly string[] = [
  "agent",
  "ai",
  "ai agent",
  "ai assistant",
  "assistant",
  "voice assistant",
  "bot",
  "chatbot",
  "agente",
  "asistente",
  "assistente",
  "assistent",
  "assistentin",
  "asystent",
  "asistan",
  "ассистент",
  "агент",
  "एजेंट",
  "सहायक",
  "助手",
  "客服",
  "アシスタント",
  "상담원",
  "المساعد",
];
const MAX_LABEL_CHARS = 60;

/** Drops such a label where a text begins with it. `names`: further ones. */
export function roleLabelFilter(names: readonly string[]): TextFilter {
  const labels = [...LABELS, ...names.map((name) => name.toLowerCase())];
  let held: string | null = "";
  let dropped = false;
  const decide = (last: boolean): string => {
    const text = held ?? "";
    const begun = text.toLowerCase();
    const label = labels.find((known) => /^\s{0,2}[:：]/.test(begun.slice(known.length)) && begun.startsWith(known));
    const mayBe =
      begun.length < MAX_LABEL_CHARS &&
      labels.some(
        (known) => known.startsWith(begun) || (begun.startsWith(known) && begun.slice(known.length).trim() === ""),
      );
    if (label === undefined && mayBe && !last) return "";
    held = null;
    if (label === undefined) return text;
    const rest = text.slice(label.length).replace(/^\s*[:：]\s*/, "");
    dropped = rest === "";
    return rest;
  };
  return {
    push(piece) {
      if (held === null) {
        const first = dropped ? piece.trimStart() : piece;
        dropped &&= first === "";
        return first;
      }
      held += piece;
      return held === "" ? "" : decide(false);
    },
    end: () => (held === null ? "" : decide(true)),
  };
}

/** How a prompt introduces the model: "You are Mia, …". */
const INTRODUCTIONS =
  /(?:\b[Yy]ou are|\b[Yy]our name is|\b[Dd]u bist|\b[Ss]ie sind|\b[Dd]u heißt|\b[Ee]res|\b[Tt]e llamas|\b[Tt]u es|\b[Tt]u t'appelles|\b[Vv]ous êtes|\b[Ss]ei|\b[Tt]i chiami|\b[Vv]ocê é|\b[Jj]ij bent|\b[Jj]e heet)\s+(\p{Lu}[\p{L}'-]{1,30}(?:\s\p{Lu}[\p{L}'-]{1,30})?)/gu;
const MAX_PROMPT_CHARS = 4000;
const MAX_NAMES = 4;

/** The names that a prompt gives the model. */
export const namesIn = (prompt: string): string[] =>
  [...prompt.slice(0, MAX_PROMPT_CHARS).matchAll(INTRODUCTIONS)]
    .flatMap(([, name = ""]) => [name, name.split(" ")[0] ?? ""])
    .filter((name, at, all) => name !== "" && all.indexOf(name) === at)
    .slice(0, MAX_NAMES);
