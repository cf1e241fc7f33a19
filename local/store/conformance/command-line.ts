/** The command line of the conformance run. Pure. */
import { command, UsageError, type Asked } from "../../../shared/process/command-line.ts";

/** `npm run conformance`. */
export const CONFORMANCE = command({
  name: "conformance",
  about:
    "Runs every *.json file of a folder (MongoDB's unified test format) with the official driver against the embedded store, or another server. The collections that the files name are dropped and rewritten there.",
  operands: [{ name: "folder", needed: true }],
  options: { uri: { kind: "text", value: "mongodb://…", about: "another server; or MONGODB_URI in the environment" } },
});

/** What to run: a folder of test files, and the server's address if it is not the embedded store. */
export interface Request {
  folder: string;
  uri: string | undefined;
}

/** What was asked for. An empty MONGODB_URI counts as unset. UsageError. */
export function requestOf(
  { operands: [folder = ""], values }: Asked<typeof CONFORMANCE>,
  environment: Readonly<Record<string, string | undefined>>,
): Request {
  const uri = values.uri ?? environment["MONGODB_URI"];
  if (uri === undefined || uri === "") return { folder, uri: undefined };
  if (!/^mongodb(\+srv)?:\/\//.test(uri))
    throw new UsageError(`The server's address must begin with mongodb:// or mongodb+srv://, not "${uri}".`);
  return { folder, uri };
}
