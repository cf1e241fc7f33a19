import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Keyboard } from "./keyboard-conversation.ts";

/** A keyboard and screen on two streams; lines that come before they are asked for wait. Prompts are shown to people only. */
export function terminal(input: Readable & { isTTY?: boolean }, output: Writable): Keyboard & { close(): void } {
  const isPerson = input.isTTY === true;
  let lines: ReturnType<typeof createInterface> | null = null;
  const typed: string[] = [];
  /** Who waits for a line, and whether there will be none any more. */
  const wait = { over: false, wake: (): void => undefined };

  /** Opened at the first question: a command that asks nothing must not wait for its input to end. */
  const open = (): void => {
    if (lines) return;
    lines = createInterface({ input, ...(isPerson ? { output, terminal: true } : {}) });
    lines.on("line", (line) => {
      typed.push(line);
      wait.wake();
    });
    lines.on("close", () => {
      wait.over = true;
      wait.wake();
    });
  };

  return {
    print: (line) => {
      output.write(`${line}\n`);
    },
    async line(prompt) {
      open();
      if (isPerson) {
        lines?.setPrompt(prompt);
        lines?.prompt();
      }
      while (typed.length === 0 && !wait.over)
        await new Promise<void>((resolve) => {
          wait.wake = resolve;
        });
      const line = typed.shift() ?? null;
      // what was typed is not on the screen where it was piped in
      if (line !== null && !isPerson) output.write(`${prompt}${line}\n`);
      return line;
    },
    close: () => lines?.close(),
  };
}
