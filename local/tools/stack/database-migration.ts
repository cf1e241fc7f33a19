import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { join } from "node:path";
import { isRecord, textOf } from "../../../shared/json.ts";
import { StartError } from "./data-folder.ts";
import { ROOT } from "./project-root.ts";

const LIMIT_MS = 120_000;

/** Runs a program of deploy/migrate on a database; what it says. StartError with that where it fails. */
async function runOn(uri: string, name: string, purpose: string): Promise<string> {
  const env = { ...process.env, MONGODB_URI: uri };
  const program = join(ROOT, "deploy", "migrate", name);
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: LIMIT_MS }).catch(
    (error: unknown) => {
      throw new StartError(
        (isRecord(error) && textOf(error["stderr"]).trim()) || `${purpose} failed: ${String(error)}`,
      );
    },
  );
  return stdout.trim();
}

/** Prepares a database as `npm run migrate` does, by that very program. StartError. */
export const migrateDatabase = async (uri: string): Promise<void> =>
  void (await runOn(uri, "main.ts", "The migration"));

/** Parks what may have been called since the copy that a database was restored from, as `npm run restore:park` does, by that very program; what it says. StartError. */
export const parkRestored = (uri: string): Promise<string> => runOn(uri, "park-restored.ts", "Parking the leads");
