import type { ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf } from "../../../shared/contracts/records/identity.ts";
import { smallestFitting } from "../../../shared/batching.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { readPage } from "../../../shared/page.ts";
import type { AuditDoc } from "./audit.model.ts";
import type { AuditRepository } from "./audit.repository.ts";

/** Most bytes of an entry's details as JSON. */
const DETAILS_BYTES = 32 * 1024;

type Entry = ParamsOf<"auth.record">;

/** The audit log as the rest of the service sees it. */
export interface AuditLog {
  /** Writes an entry; throws what the store throws. */
  record(entry: Entry): Promise<Record<string, never>>;
  /** Writes an entry of what a service did by itself, as a person had set it up. */
  recordRun(entry: ParamsOf<"auth.recordRun">): Promise<Record<string, never>>;
  /** Writes an entry of something that was done already: a failure is logged and undoes nothing. */
  note(entry: Entry): Promise<void>;
  list(asked: ParamsOf<"auth.listAudit">): Promise<ResultOf<"auth.listAudit">>;
}

const viewOf = ({ _id, created_at, ...entry }: AuditDoc): ResultOf<"auth.listAudit">["entries"][number] => ({
  id: _id,
  ...entry,
  at: created_at.toISOString(),
});

/** Details within their bound: the largest go, and are named. */
function boundedDetails(details: Record<string, unknown>): Record<string, unknown> {
  const { kept, left } = smallestFitting(details, DETAILS_BYTES);
  return left.length === 0 ? details : { ...kept, left_out: left };
}

/** The audit log over its repository. */
export function auditLog(deps: Pick<ServiceDeps, "clock" | "ids" | "log">, audit: AuditRepository): AuditLog {
  const write = async ({ details, ...entry }: Omit<AuditDoc, "_id" | "created_at">): Promise<Record<string, never>> => {
    await audit.add({
      _id: deps.ids.uuid(),
      ...entry,
      details: boundedDetails(details),
      created_at: deps.clock.now(),
    });
    return {};
  };
  const record = ({ by: { kind, id, role }, details = {}, ...entry }: Entry): Promise<Record<string, never>> =>
    write({ ...entry, actor: { kind, id, role }, details });
  return {
    record,
    recordRun: (entry) => write({ ...entry, merchant_id: null }),
    note: async (entry) => {
      await record(entry).catch((error: unknown) => {
        deps.log.error(
          {
            event: "auth.audit_lost",
            action: entry.action,
            subject: entry.subject,
            by_kind: entry.by.kind,
            by_id: entry.by.id,
            ...errorForLog(error),
          },
          "an entry of the audit log could not be written; the action itself took effect",
        );
      });
    },
    async list({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => audit.page(scopeOf(by), filter, after, size),
        viewOf,
      );
      return { count: items.length, entries: items, next_cursor };
    },
  };
}
