import type { ProcessDeps } from "../process/process-deps.ts";
import { sparseLog } from "../process/sparse-log.ts";

const MAX_NAMED = 20;

/** Counts the fields of messages that no contract names, and logs them once a minute for each action and sender. */
export interface UnknownFields {
  count(action: string, sender: string, fields: readonly string[]): void;
}

/** A counter with this log. */
export function unknownFields({ log: root, clock }: Pick<ProcessDeps, "log" | "clock">): UnknownFields {
  const log = root.child({ service: "bus" });
  const places = sparseLog(clock);
  return {
    count(action, sender, fields) {
      places.note(`${action} ${sender}`, (messages) =>
        log.warn(
          { event: "bus.unknown_fields", action, sender, fields: fields.slice(0, MAX_NAMED), messages },
          "fields that this version does not know were left out of a message: its sender is of another version",
        ),
      );
    },
  };
}
