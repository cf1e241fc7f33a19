import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { startLoop, type Loop } from "../../../shared/time/loop.ts";
import type { AuditRepository } from "./audit.repository.ts";

/** From one look to the next. */
const EVERY_MS = 3_600_000;
/** Entries deleted by one write. */
const ENTRIES_PER_WRITE = 500;
const SECONDS_PER_DAY = 86_400;

/** Deletes entries of the audit log that are older than AUDIT_RETENTION_DAYS; null where that is not set: none ends. */
export function startAuditRetention(
  { clock, env, log, storeClock }: Pick<ServiceDeps, "clock" | "env" | "log" | "storeClock">,
  audit: Pick<AuditRepository, "endOldest">,
): Loop | null {
  const days = env.AUDIT_RETENTION_DAYS;
  if (days === undefined) return null;
  return startLoop({
    name: "audit",
    clock,
    intervalMs: EVERY_MS,
    async pass() {
      if (!storeClock.known()) return false;
      const ended = await audit.endOldest(plusSeconds(clock.now(), -days * SECONDS_PER_DAY), ENTRIES_PER_WRITE);
      if (ended > 0) log.info({ event: "audit.ended", entries: ended, days }, "entries of the audit log have ended");
      return ended === ENTRIES_PER_WRITE;
    },
    onError: (error) =>
      log.error(
        { event: "loop.failed", loop: "audit", ...errorForLog(error) },
        "a sweep failed; it goes on at the next interval",
      ),
  });
}
