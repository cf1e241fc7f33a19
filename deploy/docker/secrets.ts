import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { makeBusUsers } from "../../shared/bus/bus-keys.ts";
import { runCommand, UserError } from "../../shared/process/command-line.ts";
import { VARIABLES } from "../../shared/process/variables.ts";
import { COMPOSE_SECRETS } from "../commands.ts";
import { makeSecretFiles } from "./secret-files.ts";

/** `npm run compose:secrets`: makes what docker-compose.yml gives to containers as files, and says what was made, what was taken, and what is to be filled in. */
await runCommand(COMPOSE_SECRETS, ({ values: { env: file } }) => {
  if (!existsSync(file)) throw new UserError(`There is no ${file}. Copy deploy/env.example to it and fill it in.`);
  const env = parseEnv(readFileSync(file, "utf8"));
  const folder = env["SECRETS_FOLDER"] || join("deploy", "secrets");
  const users = env["NATS_USERS"] || join("deploy", "nats", "users");
  const { taken, made, empty } = makeSecretFiles(folder, env);
  const keys = makeBusUsers(users, env["NAMESPACE"] || VARIABLES.NAMESPACE.default);
  const say = (what: string, names: readonly string[]): void => {
    if (names.length > 0) process.stdout.write(`${what}: ${names.join(", ")}\n`);
  };
  process.stdout.write(`${folder} has a file for each secret of docker-compose.yml, ${users} the keys of the bus.\n`);
  say(`Taken from ${file}, where they can go now`, taken);
  say("Made", [...made, ...keys.map((name) => `the bus key of ${name}`)]);
  say("Empty, to be filled in where you use them", empty);
});
