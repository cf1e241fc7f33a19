import { join } from "node:path";
import { parseArgs } from "node:util";
import { makeBusUsers } from "../../shared/bus/bus-keys.ts";
import { VARIABLES } from "../../shared/process/variables.ts";

/**
 * `npm run nats:users`: makes the NATS users of the services, one key pair each, in a folder: `<service>.nk`, its secret; `users.conf`, which the NATS
 * server includes; and the public keys as JSON, for the services. What is there stays; remove a seed and run it again to replace it.
 */
const FOLDER = join(import.meta.dirname, "users");
const HELP = `npm run nats:users -- [--secrets FOLDER] [--namespace NAME]
  --secrets    folder for the key pairs and what the NATS server reads (default ${FOLDER})
  --namespace  the bus's namespace (default ${VARIABLES.NAMESPACE.default})`;

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

function run(): void {
  const { values } = parseArgs({
    options: {
      secrets: { type: "string", default: FOLDER },
      namespace: { type: "string", default: VARIABLES.NAMESPACE.default },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return say(HELP);
  if (!/^[^\s*>."]+$/.test(values.namespace)) throw new Error("A namespace has no spaces, quotes, dots, * or >.");
  const made = makeBusUsers(values.secrets, values.namespace);
  say(`${values.secrets}: ${made.length === 0 ? "every service has its key" : `new keys for ${made.join(", ")}`}`);
}

try {
  run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
