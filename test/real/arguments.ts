import { parseArgs } from "node:util";
import type { Part } from "../../local/real/part.ts";

/** What was asked for. */
export interface Asked {
  parts: readonly Part[];
  short: boolean;
  /** Parts that miss something on this machine are left out, and named. */
  able: boolean;
  dir: string | undefined;
  does: "test" | "serve" | "needs";
}

/** What the command says of itself. */
export const usage = (parts: readonly Part[]): string => `npm run test:real [-- [--short] [part …]]
Installs servers that nobody here wrote, runs the product against them, and stops them. Parts (default: all):
${parts.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join("\n")}

  --short     the demo and the HTTP tests alone: under ten minutes once installed
  --able      leaves out the parts that miss something on this machine, and says what
  --dir PATH  installs there (default: CALLAGENT_REAL_DIR, or callagent-real in the user's cache folder)
  --serve     starts the parts, prints the variables that use them, and runs until Ctrl-C
  --needs     says what the parts miss on this machine; exit status 3 where they miss something
  --help      this text`;

const OPTIONS = {
  short: { type: "boolean", default: false },
  able: { type: "boolean", default: false },
  dir: { type: "string" },
  serve: { type: "boolean", default: false },
  needs: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    return (
      String(error)
        .replace(/^\w+ \[\w+\]: /, "")
        .split(". ")[0] ?? ""
    );
  }
}

/** Reads the arguments; a string is what to say instead: the usage, or what is wrong with them. */
export function readArguments(argv: readonly string[], parts: readonly Part[]): Asked | { error: string | null } {
  const read = parsed(argv);
  if (typeof read === "string") return { error: `${read}.` };
  const { values, positionals } = read;
  if (values.help) return { error: null };
  const strange = positionals.find((name) => !parts.some((p) => p.name === name));
  if (strange !== undefined) return { error: `There is no part ${strange}.` };
  return {
    parts: positionals.length === 0 ? parts : parts.filter((p) => positionals.includes(p.name)),
    short: values.short,
    able: values.able,
    dir: values.dir,
    does: values.needs ? "needs" : values.serve ? "serve" : "test",
  };
}
