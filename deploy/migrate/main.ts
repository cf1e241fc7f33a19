import { ambiguousZones } from "../../services/config/configurations/configuration-zones.ts";
import {
  configurationSchema,
  type ConfigurationDoc,
} from "../../services/config/configurations/configurations.model.ts";
import { deleteDouble, numberDoubles } from "../../services/numbers/number-doubles.ts";
import { numberSchema, type NumberDoc } from "../../services/numbers/numbers.model.ts";
import { dropIndex, makeCollection, missingIndexes } from "../../shared/database/migration.ts";
import { openStore, type Store } from "../../shared/database/mongo.ts";
import { randomIds } from "../../shared/ids.ts";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { readEnv } from "../../shared/process/env.ts";
import { secretSeal } from "../../shared/process/secret-seal.ts";
import { systemClock } from "../../shared/time/clock.ts";
import { MIGRATE } from "../commands.ts";
import { collections, type OwnedCollection } from "./collections.ts";

/**
 * `npm run migrate`: makes the collections and indexes that this version of the services stands on, in the database of MONGODB_URI, and drops indexes
 * that no version beside it reads by. Where SECRETS_KEY is set, secrets that lie in clear or under another key are encrypted under it. What only a person
 * can settle is listed: numbers with several owners, time zones that may mean several places. It may run while services of this version and of the one
 * before are at work, and again at any time.
 * `--delete-number <id>`: deletes one of several numbers that have the same phone number first.
 * Exit status 1 with a line saying why where it fails; what is done by then stays, and the next run goes on.
 */
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Makes one collection as it ought to be; how many of its indexes were changed. */
async function migrateOne(store: Store, { name, schema, retired_indexes = [] }: OwnedCollection): Promise<number> {
  const model = store.model(name, schema);
  const missing = await missingIndexes(model);
  if (missing.length > 0) say(`${name}: making ${missing.join(", ")} …`);
  await makeCollection(model);
  const retired: string[] = [];
  for (const index of retired_indexes) if (await dropIndex(model, index)) retired.push(index);
  if (retired.length > 0) say(`${name}: dropped ${retired.join(", ")}`);
  return missing.length + retired.length;
}

async function deleteNumbers(store: Store, ids: readonly string[]): Promise<void> {
  const numbers = store.model<NumberDoc>("numbers", numberSchema);
  for (const id of ids) {
    if (!(await deleteDouble(numbers, id, systemClock.now())))
      throw new Error(`${id} is no number whose phone number another one has; it was not deleted.`);
    say(`numbers: deleted ${id}`);
  }
}

async function migrate(deleted: readonly string[]): Promise<void> {
  const env = readEnv();
  const seal = secretSeal(env, randomIds);
  const store = openStore(env.MONGODB_URI, { migrate: false, patient: true });
  try {
    await store.open();
    await deleteNumbers(store, deleted);
    let [changed, encrypted] = [0, 0];
    const doubles = await numberDoubles(store.model<NumberDoc>("numbers", numberSchema));
    for (const owned of collections) {
      if (doubles.length === 0 || owned.name !== "numbers") changed += await migrateOne(store, owned);
      if (seal.seals && owned.reseal) encrypted += await owned.reseal(store, seal);
    }
    for (const line of await ambiguousZones(store.model<ConfigurationDoc>("configurations", configurationSchema)))
      say(line);
    if (encrypted > 0) say(`Secrets of ${encrypted} documents are now encrypted under SECRETS_KEY.`);
    if (doubles.length > 0) throw new Error(`numbers: ${doubles.join("\n")}`);
    say(changed === 0 ? "The database is as this version needs it." : `Done: ${changed} indexes changed.`);
  } finally {
    await store.close();
  }
}

await runCommand(MIGRATE, ({ values }) =>
  migrate(values["delete-number"]).catch((error: unknown) => {
    throw new UserError(`The migration failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }),
);
