/** Bytes that came as text. `fault`: why they can't be read, the end of a sentence that begins with what they are part of; the text is empty then. */
export interface DecodedText {
  text: string;
  fault: string | null;
}

const UTF_8 = "utf-8";
/** Byte order marks, and what they say of the bytes behind them. */
const MARKS: readonly (readonly [bytes: readonly number[], charset: string])[] = [
  [[0xef, 0xbb, 0xbf], UTF_8],
  [[0xff, 0xfe], "utf-16le"],
  [[0xfe, 0xff], "utf-16be"],
];
const MARK = "\ufeff";
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]+)/i;
/** ASCII is a part of UTF-8. */
const ALIKE: ReadonlySet<string> = new Set([UTF_8, "utf8", "us-ascii", "ascii"]);

/** The charset that a Content-Type names, in lower case; null: it names none. */
export const charsetOf = (contentType: string | undefined): string | null =>
  CHARSET.exec(contentType ?? "")?.[1]?.toLowerCase() ?? null;

/** Whether a charset is UTF-8 or a part of it. */
export const isUtf8 = (charset: string): boolean => ALIKE.has(charset);

/** The charset that the first bytes tell of; null: they have no byte order mark. */
export const markedCharset = (bytes: Uint8Array): string | null =>
  MARKS.find(([mark]) => mark.every((byte, i) => bytes[i] === byte))?.[1] ?? null;

/** The text without a byte order mark at its beginning, which says how it was written and is no part of it. */
export const withoutMark = (text: string): string => (text.startsWith(MARK) ? text.slice(MARK.length) : text);

/** Longest name of a charset that is told. */
const MAX_NAME_CHARS = 40;

/** A reader that takes nothing but its charset; null: the runtime knows none of this name. */
function decoderFor(charset: string) {
  try {
    return new TextDecoder(charset, { fatal: true });
  } catch {
    return null;
  }
}

/**
 * The one reader of text that others write: by its byte order mark, else by the charset of its Content-Type, else as UTF-8. What is written otherwise than that says is a fault, never replaced
 * characters. `cut`: the bytes are a beginning, whose last character may be half.
 */
export function decodedText(bytes: Uint8Array, contentType?: string, cut = false): DecodedText {
  const named = charsetOf(contentType);
  const charset = markedCharset(bytes) ?? (named === null || isUtf8(named) ? UTF_8 : named);
  const decoder = decoderFor(charset);
  if (decoder === null)
    return { text: "", fault: `is in the charset ${charset.slice(0, MAX_NAME_CHARS)}, which is not known` };
  try {
    return { text: withoutMark(decoder.decode(bytes, { stream: cut })), fault: null };
  } catch {
    return {
      text: "",
      fault: `is not in the charset ${charset}${named === null ? ", and nothing says in which it is" : ""}`,
    };
  }
}
