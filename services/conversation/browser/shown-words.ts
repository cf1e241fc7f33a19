/** A line of the transcript, as the client sees it. */
export interface ShownLine {
  readonly role: string;
  readonly content: string;
}

/** What a client is shown of its conversation: words and node. */
export class ShownWords {
  #lines: readonly ShownLine[] = [];
  #node = "";

  /** Messages that show all of it, for who comes to a conversation under way. */
  all(): object[] {
    return [
      ...(this.#lines.length > 0 ? [{ type: "transcript", from: 0, lines: this.#lines }] : []),
      ...(this.#node === "" ? [] : [{ type: "node", name: this.#node }]),
    ];
  }

  /** Takes the state of now; gives the messages that show what changed. */
  change(lines: readonly ShownLine[], node: string): object[] {
    const from = lines.findIndex((line, i) => {
      const before = this.#lines[i];
      return before?.role !== line.role || before.content !== line.content;
    });
    const isNew = node !== this.#node;
    this.#lines = lines.map(({ role, content }) => ({ role, content }));
    this.#node = node;
    return [
      ...(from >= 0 ? [{ type: "transcript", from, lines: this.#lines.slice(from) }] : []),
      ...(isNew ? [{ type: "node", name: node }] : []),
    ];
  }
}
