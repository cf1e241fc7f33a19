/** One message of server-sent events. */
export interface StreamMessage {
  /** Empty: the message has none of its own. */
  id: string;
  event: string;
  /** Empty: there is none. */
  data: string;
}

/** Longest message that is read, characters: an event is far smaller. */
const MAX_MESSAGE = 1_048_576;

/** A message out of the lines between two empty ones; without data it tells a cursor alone. null: it tells nothing. */
function messageOf(lines: readonly string[]): StreamMessage | null {
  const fields = lines
    .filter((line) => !line.startsWith(":"))
    .map((line): [name: string, value: string] => {
      const at = line.indexOf(":");
      return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1).replace(/^ /, "")];
    });
  const all = (name: string): string[] => fields.filter(([one]) => one === name).map(([, value]) => value);
  if (all("data").length === 0 && all("id").length === 0) return null;
  return { id: all("id").at(-1) ?? "", event: all("event").at(-1) ?? "message", data: all("data").join("\n") };
}

/** The messages of a stream (HTML standard, section 9.2.6), as they arrive. `heard`: called for every piece that arrives, comments too. */
export async function* messagesOf(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder();
  let rest = "";
  let lines: string[] = [];
  for await (const piece of body) {
    heard();
    rest += decoder.decode(piece, { stream: true });
    // a carriage return at the end may be the first half of a line's end
    const parts = rest.split(/\r\n|\n|\r(?!$)/);
    rest = parts.pop() ?? "";
    if (rest.length > MAX_MESSAGE) throw new Error("a line of the stream has no end");
    for (const line of parts) {
      if (line !== "") {
        lines.push(line);
        continue;
      }
      const message = messageOf(lines);
      lines = [];
      if (message !== null) yield message;
    }
  }
}
