import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { converse } from "../../../../local/tools/converse/converse.ts";

/** What a run of the command gave. */
export interface Ran {
  readonly code: number;
  readonly out: string;
}

/** Runs the command in this process; `typed` are the lines of somebody at the keyboard. */
export async function run(
  argv: readonly string[],
  { typed = [], env = {} }: { typed?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Ran> {
  const printed: string[] = [];
  const lines = [...typed];
  const code = await converse({
    argv,
    env,
    keyboard: {
      print: (line) => {
        printed.push(line);
      },
      line: (prompt) => {
        const line = lines.shift() ?? null;
        printed.push(prompt);
        return Promise.resolve(line);
      },
    },
  });
  return { code, out: printed.join("\n") };
}

/** A folder of files for one test file. */
export function folder(): {
  path: (name: string) => string;
  write: (name: string, text: string) => string;
  remove: () => void;
} {
  const root = mkdtempSync(join(tmpdir(), "converse-"));
  const path = (name: string): string => join(root, name);
  return {
    path,
    write: (name, text) => {
      writeFileSync(path(name), text);
      return path(name);
    },
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

/** A payload that the sample order-confirmation takes, as a line of a script. */
export const PAYLOAD = 'payload: { customer_name: Ada, order_id: A-1, amount: "10", delivery_date: "Monday, June 9" }';
