import type { ProcessDeps } from "../process/process-deps.ts";
import { timedCache } from "../cache.ts";
import { MS_PER_SECOND } from "../time/clock.ts";

/** How often one sender's unknown fields of one action are logged, in seconds; what is counted meanwhile stands in the next line. */
const LOG_SECONDS = 60;
/** Actions with their senders that are counted at once. */
const MAX_PLACES = 1000;
const MAX_NAMED = 20;

/** Counts the fields of messages that no contract names, and logs them once a minute for each action and sender. */
export interface UnknownFields {
  count(action: string, sender: string, fields: readonly string[]): void;
}

/** A counter with this log. */
export function unknownFields({ log, clock }: Pick<ProcessDeps, "log" | "clock">): UnknownFields {
  const places = timedCache<{ messages: number; logged_ms: number }>({ ttlSeconds: 10 * LOG_SECONDS, max: MAX_PLACES });
  return {
    count(action, sender, fields) {
      const key = `${action} ${sender}`;
      const now = clock.monotonicMs();
      const place = places.get(key) ?? { messages: 0, logged_ms: Number.NEGATIVE_INFINITY };
      const messages = place.messages + 1;
      const due = now - place.logged_ms >= LOG_SECONDS * MS_PER_SECOND;
      places.set(key, due ? { messages: 0, logged_ms: now } : { ...place, messages });
      if (!due) return;
      log.warn(
        { event: "bus.unknown_fields", action, sender, fields: fields.slice(0, MAX_NAMED), messages },
        "fields that this version does not know were left out of a message: its sender is of another version",
      );
    },
  };
}
