import type { Log } from "../process/log.ts";
import type { RefusalListener, RefusedCommand } from "./refused-commands.ts";

const WHAT_TO_DO =
  "The database refuses this command as such, and waiting does not help: what needs it stands still. Look at code and message: give the " +
  "database's user its rights, or use a MongoDB that knows the command (docs/operations.md).";

/** What of a refused command every process may know: nothing of its data. */
type Announced = Omit<RefusedCommand, "message" | "times" | "since"> & { since: string; taken: boolean };

/** The alarm for commands that the database refuses: a line of the log, repeated while it lasts, and a notice to the gateway for /health/ready. */
export const refusalAlarm =
  (log: Log, announce: (refused: Announced) => void): RefusalListener =>
  ({ message, times, ...refused }, taken) => {
    const since = refused.since.toISOString();
    announce({ ...refused, since, taken });
    if (taken) log.info({ event: "database.command_taken", ...refused, times }, "the database takes the command again");
    else log.error({ event: "database.command_refused", ...refused, message, times }, WHAT_TO_DO);
  };
