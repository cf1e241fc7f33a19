import { dropIndex, makeCollection, missingIndexes } from "../../shared/database/migration.ts";
import { openStore } from "../../shared/database/mongo.ts";
import { readEnv } from "../../shared/process/env.ts";
import { collections } from "./collections.ts";

/**
 * `npm run migrate`: makes the collections and indexes that this version of the services stands on, in the database of MONGODB_URI, and drops indexes
 * that no version beside it reads by. It may run while services of this version and of the one before are at work, and again at any time.
 * Exit status 1 with a line saying why where it fails; what is done by then stays, and the next run goes on.
 */
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

async function migrate(): Promise<void> {
  const store = openStore(readEnv().MONGODB_URI, { migrate: false, patient: true });
  try {
    await store.open();
    let changed = 0;
    for (const { name, schema, retired_indexes = [] } of collections) {
      const model = store.model(name, schema);
      const missing = await missingIndexes(model);
      if (missing.length > 0) say(`${name}: making ${missing.join(", ")} …`);
      await makeCollection(model);
      const retired: string[] = [];
      for (const index of retired_indexes) if (await dropIndex(model, index)) retired.push(index);
      if (retired.length > 0) say(`${name}: dropped ${retired.join(", ")}`);
      changed += missing.length + retired.length;
    }
    say(changed === 0 ? "The database is as this version needs it." : `Done: ${changed} indexes changed.`);
  } finally {
    await store.close();
  }
}

await migrate().catch((error: unknown) => {
  process.stderr.write(`The migration failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
