import { parseArgs } from "node:util";
import { startStore } from "./server.ts";
import type { RunningStore } from "./server.ts";
import { StoreDamaged } from "./storage/commit-record.ts";

const MAX_PORT = 65_535;
const BEAT_MS = 1000;

function clear(error: unknown, dir: string, port: number): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreDamaged) return `store: ${message}`;
  if (message.includes("EADDRINUSE"))
    return `store: port ${port} is taken: choose another with --port, or 0 for a free one`;
  if (message.includes("database is locked"))
    return `store: ${dir} is in use by another store: stop that one, or choose another folder with --dir`;
  if (/EACCES|EPERM|EROFS|ENOTDIR|EEXIST|readonly|unable to open/u.test(message))
    return `store: the folder ${dir} cannot be written (${message}): choose another with --dir`;
  return `store: could not start: ${message}`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      dir: { type: "string", default: ".callagent/store" },
      "accept-loss": { type: "boolean", default: false },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    console.error(`store: --port must be a whole number from 0 to ${MAX_PORT}, not '${values.port}'`);
    process.exit(1);
  }
  let store: RunningStore;
  try {
    store = await startStore({ dir: values.dir, port, acceptLoss: values["accept-loss"] });
  } catch (error) {
    console.error(clear(error, values.dir, port));
    process.exit(1);
  }
  let closing = false;
  const stop = (): void => {
    if (closing) return;
    closing = true;
    store.close().then(
      () => process.exit(0),
      (error) => {
        console.error(clear(error, values.dir, port));
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  // Started by another program: end with it.
  if (process.connected) {
    process.on("disconnect", stop);
    // Its supervisor restarts a store whose event loop stands still.
    setInterval(() => process.send?.("beat"), BEAT_MS).unref();
  }
  console.log(JSON.stringify({ event: "ready", url: store.url }));
}

await main();
