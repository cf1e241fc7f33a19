import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { isRecord, textOf } from "../../../shared/json.ts";
import { StartError } from "./data-folder.ts";
import { ROOT } from "./project-root.ts";

const LIMIT_MS = 120_000;

/** Prepares a database as `npm run migrate` does, by that very program; StartError with what it says where that fails. */
export async function migrateDatabase(uri: string): Promise<void> {
  const env = { ...process.env, MONGODB_URI: uri };
  const program = join(ROOT, "deploy", "migrate", "main.ts");
  await promisify(execFile)(process.execPath, [program], { env, timeout: LIMIT_MS }).catch((error: unknown) => {
    throw new StartError(
      (isRecord(error) && textOf(error["stderr"]).trim()) || `The migration failed: ${String(error)}`,
    );
  });
}
