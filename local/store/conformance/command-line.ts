/** The command line of the conformance run. Pure. */
import { parseArgs } from "node:util";

/** What to run: a folder of test files, and the server's address if it is not the embedded store. */
export interface Request {
  folder: string;
  uri: string | undefined;
}

/** How the command is used, for a person. */
export const USAGE = `usage: npm run conformance -- <folder> [--uri mongodb://…]
Runs every *.json file of a folder (MongoDB's unified test format) with the official driver against the embedded store,
or against the server of --uri or MONGODB_URI. The collections that the files name are dropped and rewritten there.`;

/** Reads the arguments; a string is what is wrong with them. An empty MONGODB_URI counts as unset. */
export function readArguments(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Request | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      options: { uri: { type: "string" } },
      allowPositionals: true,
    });
    const [folder, ...others] = positionals;
    if (folder === undefined) return USAGE;
    if (others.length > 0) return `one folder at a time: ${others.join(" ")} is too much\n${USAGE}`;
    const uri = values.uri ?? environment["MONGODB_URI"];
    if (uri === undefined || uri === "") return { folder, uri: undefined };
    return /^mongodb(\+srv)?:\/\//.test(uri)
      ? { folder, uri }
      : `the server's address must begin with mongodb:// or mongodb+srv://, not "${uri}"`;
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n${USAGE}`;
  }
}
