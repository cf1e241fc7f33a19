import { join } from "node:path";
import { configFolderOf, keptToken } from "../../../deploy/client/cli/shell.ts";
import { ROOT } from "../stack/project-root.ts";
import { rehearse } from "./rehearse.ts";

// a reader that goes away early, such as head, is no fault
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

const code = await rehearse({
  argv: process.argv.slice(2),
  folder: process.env["CALLAGENT_DATA"] ?? join(ROOT, ".callagent"),
  tokenFor: (url) => process.env["CALLAGENT_TOKEN"] || keptToken(configFolderOf(process.env), url),
  now: new Date(),
  print: (line) => {
    process.stdout.write(`${line}\n`);
  },
});
process.exitCode = code;
