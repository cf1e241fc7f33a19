import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Keyboard } from "./keyboard.ts";

/** A keyboard and screen on two streams; lines that come before they are asked for wait. Prompts are shown to people only. */
export function terminal(input: Readable & { isTTY?: boolean }, output: Writable): Keyboard & { close(): void } {
  const isPerson = input.isTTY === true;
  let lines: ReturnType<typeof createInterface> | null = null;
  const waiting: string[] = [];
  let ended = false;
  let wake = (): void => undefined;

  /** Opened at the first question: a command that asks nothing must not wait for its input to end. */
  const open = (): void => {
    if (lines) return;
    lines = createInterface({ input, ...(isPerson ? { output, terminal: true } : {}) });
    lines.on("line", (line) => { waiting.push(line); wake(); });
    lines.on("close", () => { ended = true; wake(); });
  };

  return {
    print: (line) => { output.write(`${line}\n`); },
    async line(prompt) {
      open();
      if (isPerson) { lines?.setPrompt(prompt); lines?.prompt(); }
      while (waiting.length === 0 && !ended) await new Promise<void>((resolve) => { wake = resolve; });
      const line = waiting.shift() ?? null;
      // what was typed is not on the screen where it was piped in
      if (line !== null && !isPerson) output.write(`${prompt}${line}\n`);
      return line;
    },
    close: () => lines?.close(),
  };
}
