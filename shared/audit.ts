import type { Bus, ParamsOf, ServiceDeps } from "./bus/bus.ts";
import { errorForLog } from "./process/log.ts";

/** Writes an entry of the audit log after the action took effect. A failure is logged and undoes nothing; it never throws. */
export async function recordAudit(
  deps: Pick<ServiceDeps, "log">,
  bus: Bus,
  entry: ParamsOf<"auth.record">,
): Promise<void> {
  await bus.call("auth.record", entry).catch((error: unknown) => {
    deps.log.error(
      {
        event: "audit.lost",
        action: entry.action,
        subject: entry.subject,
        by_kind: entry.by.kind,
        by_id: entry.by.id,
        ...errorForLog(error),
      },
      "an entry of the audit log could not be written; the action itself took effect",
    );
  });
}
