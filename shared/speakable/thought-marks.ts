/**
 * How models and their servers write what is not for the listener: thoughts between tags, and the tokens of chat templates.
 * Sources: the reasoning parsers of vLLM (https://docs.vllm.ai/en/latest/features/reasoning_outputs/) and llama.cpp
 * (https://github.com/ggml-org/llama.cpp, common/chat.cpp), OpenAI's harmony format (https://github.com/openai/harmony), and the chat
 * templates of Command A, EXAONE, Gemma 4, Kimi, Magistral, MedGemma, Apertus, Apriel, Granite, Hunyuan, LongCat, Seed-OSS, Solar.
 */

/** Names of thoughts; small models and prompts write all of them. */
const NAMES =
  "think(?:s|ing)?|thoughts?|(?:thought|thinking|reasoning)[-_ ]?process|reasoning|(?:self[-_ ]?)?reflection|analysis|scratch[-_ ]?pad|monologue|(?:inner|internal)[-_ ]?(?:monologue|thoughts?|thinking|reasoning|dialogue)|chain[-_ ]?of[-_ ]?thoughts?|cot|rationale|deliberation|introspection|contemplat(?:ion|or)|ant[-_]?thinking";
/** With the name of a model in front: `seed:think`, `longcat_think`. */
const NAME = `(?:[a-z][a-z\\d-]{0,20}[:_])?(?:${NAMES})`;
/** Brackets that marks stand in, in pairs. */
const BRACKETS: Readonly<Record<string, string>> = { "<": ">", "＜": "＞", "[": "]", "◁": "▷", "【": "】", "⟨": "⟩" };

const TAG = new RegExp(
  `[<＜[◁【⟨]\\s{0,2}(\\/?)\\s{0,2}(${NAME})(\\s[^<>＜＞[\\]◁▷【】⟨⟩]{0,100})?([>＞\\]▷】⟩])`,
  "iy",
);
const TOKEN =
  /[<＜](?:[|｜]\s{0,2}([^<>|｜＜＞]{1,40})[|｜]?|(\/?[a-z_]{1,20})[|｜]|(bos|eos|pad|unk|sop|eop|(?:start|end)_of_turn|unused\d{1,4}|extra_id_\d{1,4}|special_\d{1,4}|0x[\da-f]{2}))[>＞]|\[(\/?(?:INST|SYSTEM_PROMPT|BOS|EOS|PAD|UNK|gMASK)|(?:BEGIN|END) FINAL RESPONSE)\]|<<(\/?SYS)>>/iy;
/** The beginning of a mark at the end of a piece. */
const BEGUN = new RegExp(
  [
    `[<＜]\\s{0,2}\\/?\\s{0,2}(?:[a-z][\\w:-]{0,45})?`,
    `[<＜]\\s{0,2}\\/?\\s{0,2}${NAME}\\s[^<>＜＞]{0,100}`,
    `[<＜][|｜][^<>＜＞]{0,44}`,
    `[<＜]\\/?[a-z_]{0,20}[|｜]?`,
    `<<\\/?S?Y?S?>?`,
    `[[◁【⟨]\\s{0,2}\\/?[a-z_ -]{0,40}`,
  ].join("$|") + "$",
  "iy",
);
/** Where a mark may begin. */
export const MARK_BEGINS = /[<＜[◁【⟨]/g;

/** Thoughts that begin an answer with words alone, and the words that end them. The first is what is left of harmony without its tokens. */
export const SPOKEN_MARKS: readonly { readonly begins: string; readonly goesOn: RegExp; readonly ends: string }[] = [
  { begins: "analysis", goesOn: /^\p{Lu}/u, ends: "assistantfinal" },
  { begins: "here are my reasoning steps:", goesOn: /^/, ends: "[begin final response]" },
  { begins: "here is my thought process:", goesOn: /^/, ends: "my response:" },
  { begins: "here's my thought process:", goesOn: /^/, ends: "my response:" },
  // of prompts that have the model reason and act by turns
  { begins: "thought:", goesOn: /^/, ends: "final answer:" },
];

/** What a token of a chat template does to the text behind it. */
export type TokenRole =
  /** It says whose words follow. */
  | "turn"
  /** It is whose words follow. */
  | "ours"
  | "theirs"
  /** The name of a channel follows. */
  | "channel"
  /** A thought follows. */
  | "thought"
  /** It belongs to the call of a function. */
  | "call"
  | "none";
/** A mark in a text. `name`: in lower case. */
export type Mark = { readonly length: number } & (
  | { readonly type: "begin" | "end"; readonly bracket: string; readonly name: string }
  | { readonly type: "token"; readonly role: TokenRole; readonly name: string }
  /** An empty tag. */
  | { readonly type: "nothing" }
);

const OURS = /^(?:assistant|model|ai|agent|bot|chatbot|gpt)$/;
const THEIRS = /^(?:user|human|customer|caller|system|developer|tool|function|observation|ipython|environment)$/;
const THOUGHT = new RegExp(`^(?:start|begin)?(?:_of)?_?(?:${NAME})$|^inner_prefix$|^unused94$`);
const TURN = /^(?:start|im_start|start_header_id|header_start|start_of_turn|turn|begin)$/;
const CALL = /tool|function|action|call(?!$)|python/;

const roleOf = (name: string): TokenRole => {
  const role = name.replace(/^im_/, "");
  if (TURN.test(name)) return "turn";
  if (name === "channel") return "channel";
  if (THOUGHT.test(name)) return "thought";
  if (OURS.test(role)) return "ours";
  if (THEIRS.test(role)) return "theirs";
  return CALL.test(name) ? "call" : "none";
};

/** Whose words a role names: null where it names nobody. */
export const isOurs = (role: string): boolean | null =>
  OURS.test(role.toLowerCase()) ? true : THEIRS.test(role.toLowerCase()) ? false : null;

/** The mark at this place; "begun": more text has to tell. */
export function markAt(text: string, at: number, last: boolean): Mark | "begun" | null {
  TAG.lastIndex = TOKEN.lastIndex = BEGUN.lastIndex = at;
  const tag = TAG.exec(text);
  const bracket = text.charAt(at);
  // attributes stand in <> alone: "[think twice]" is text
  if (tag !== null && BRACKETS[bracket] === tag[4] && (/[<＜]/.test(bracket) || (tag[3] ?? "").trim() === "")) {
    const name = (tag[2] ?? "").toLowerCase();
    const length = tag[0].length;
    if (tag[1] === "/") return { type: "end", bracket, name, length };
    return tag[3]?.endsWith("/") === true || tag[0].endsWith("/>")
      ? { type: "nothing", length }
      : { type: "begin", bracket, name, length };
  }
  const token = TOKEN.exec(text);
  if (token !== null) {
    const written = token.slice(1).find((part) => part !== undefined) ?? "";
    const name = written.trim().toLowerCase().replaceAll("▁", "_");
    // `<name|>` ends what `<|name>` begins
    const ends = token[2] !== undefined;
    const role = roleOf(name);
    return {
      type: "token",
      name: ends ? "" : name,
      role: ends && role !== "call" ? "none" : role,
      length: token[0].length,
    };
  }
  return !last && BEGUN.test(text) ? "begun" : null;
}
