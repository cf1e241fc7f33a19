import { makeBusUsers } from "../../shared/bus/bus-keys.ts";
import { isReaderName } from "../../shared/contracts/events/event-subjects.ts";
import { runCommand, UsageError } from "../../shared/process/command-line.ts";
import { NATS_USERS } from "../commands.ts";

/**
 * `npm run nats:users`: makes the NATS users of the services, one key pair each, in a folder: `<service>.nk`, its secret; `users.conf`, which the NATS
 * server includes; and the public keys as JSON, for the services. What is there stays; remove a seed and run it again to replace it.
 */
await runCommand(NATS_USERS, ({ values: { secrets, namespace, reader } }) => {
  if (!/^[^\s*>."]+$/.test(namespace)) throw new UsageError("A namespace has no spaces, quotes, dots, * or >.");
  const wrong = reader.find((name) => !isReaderName(name));
  if (wrong !== undefined)
    throw new UsageError(
      `A reader's name has up to 32 letters, digits and hyphens, and does not begin with one, unlike "${wrong}".`,
    );
  const made = makeBusUsers(secrets, namespace, reader);
  process.stdout.write(
    `${secrets}: ${made.length === 0 ? "every user has its key" : `new keys for ${made.join(", ")}`}\n`,
  );
});
