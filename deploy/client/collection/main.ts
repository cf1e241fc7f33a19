import { writeFileSync } from "node:fs";
import { API_VERSION } from "../../../services/gateway/http/server.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { runCommand } from "../../../shared/process/command-line.ts";
import { CLIENT_COLLECTION } from "../../commands.ts";
import { collectionOf } from "./collection.ts";

await runCommand(CLIENT_COLLECTION, ({ values: { out } }) => {
  writeFileSync(out, `${JSON.stringify(collectionOf(ROUTES, API_VERSION), null, 2)}\n`);
  process.stdout.write(`${out}\n`);
});
