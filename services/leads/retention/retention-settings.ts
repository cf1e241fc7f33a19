import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { MAX_COUNTED_AGED, RETENTION_KINDS, type RetentionDays } from "../../../shared/contracts/requests/retention.ts";
import { fail } from "../../../shared/errors.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import { checkReseller } from "../named-reseller.ts";
import type { AgedLeads } from "./aged-leads.ts";
import { beforeWhen, BEGINNING } from "./retention-run.ts";
import { daysOf, NO_DAYS, toRetention } from "./retentions.model.ts";
import type { Retentions } from "./retentions.repository.ts";

/** What setting and reading periods needs. */
export interface RetentionSettingDeps extends Pick<ServiceDeps, "clock" | "log"> {
  retentions: Retentions;
  aged: Pick<AgedLeads, "count">;
  holds: Pick<LegalHolds, "numbersOf">;
  /** Runs when a run is due. */
  onDue(): void;
}

/** Held numbers that a dry run leaves out, at most. */
const MAX_HELD = 1000;

type Asked = ParamsOf<"leads.getRetention">;
type Wanted = ParamsOf<"leads.setRetention">;

/** Whose periods: the asker's own, or an admin's choice. FORBIDDEN, VALIDATION_FAILED, RESELLER_NOT_FOUND. */
async function resellerOf(bus: Bus, by: By, named: string | undefined): Promise<string> {
  if (by.role === "reseller" && by.reseller_id !== null && (named ?? by.reseller_id) === by.reseller_id)
    return by.reseller_id;
  if (by.role !== "admin")
    fail("FORBIDDEN", "How long records are kept is set by a token of role admin, or of role reseller for its own.");
  if (named === undefined)
    return fail("VALIDATION_FAILED", "reseller_id is missing: an admin names the reseller whose records are meant.", {
      errors: [{ path: "reseller_id", message: "is required of an admin" }],
    });
  await checkReseller(bus, named);
  return named;
}

/** The periods that are asked for, those that are not named being none. VALIDATION_FAILED where something would outlive its lead. */
function daysFrom(asked: Omit<Wanted, "by" | "reseller_id" | "archive">): RetentionDays {
  const days = { ...NO_DAYS, ...asked };
  const { leads_days } = days;
  const longer = RETENTION_KINDS.filter((kind) => (daysOf(days, kind) ?? 0) > (leads_days ?? Infinity));
  if (longer.length > 0)
    fail("VALIDATION_FAILED", `Nothing outlives its lead, and leads end after ${leads_days} days.`, {
      errors: longer.map((kind) => ({ path: `${kind}_days`, message: `must be at most leads_days (${leads_days})` })),
    });
  return days;
}

/** Makes sure that what ends could be archived. NOT_AVAILABLE without a bucket, or without the key by which an erasure would find it there. */
async function checkArchive(bus: Bus, clock: Pick<ServiceDeps["clock"], "now">): Promise<void> {
  await bus.call("dialer.archive", { until: clock.now().toISOString(), entries: [] });
  await bus.call("blacklist.archiveFolders", { phone_numbers: [] });
}

/** GET /retention. */
export async function getRetention(
  { retentions }: Pick<RetentionSettingDeps, "retentions">,
  bus: Bus,
  { by, reseller_id }: Asked,
): Promise<ResultOf<"leads.getRetention">> {
  const reseller = await resellerOf(bus, by, reseller_id);
  return toRetention(reseller, await retentions.find(reseller));
}

/** PUT /retention: the periods as a whole. The first run begins at once. */
export async function setRetention(
  { clock, log, retentions, onDue }: RetentionSettingDeps,
  bus: Bus,
  { by, reseller_id: named, archive = false, ...wanted }: Wanted,
): Promise<ResultOf<"leads.setRetention">> {
  const reseller_id = await resellerOf(bus, by, named);
  const days = daysFrom(wanted);
  if (archive) await checkArchive(bus, clock);
  const now = clock.now();
  const { kind, id, role } = by;
  const isSet = Object.values(days).some((of) => of !== null);
  const stored = await retentions.set({
    _id: reseller_id,
    days,
    archive,
    set_by: { kind, id, role },
    updated_at: now,
    ...(isSet ? { due_at: now } : {}),
  });
  log.info({ event: "retention.set", reseller_id, ...days, archive, by: id }, "how long records are kept was set");
  await recordAudit({ log }, bus, {
    by,
    action: "retention.set",
    subject: reseller_id,
    reseller_id,
    merchant_id: null,
    details: { ...days, archive },
  });
  if (isSet) onDue();
  return toRetention(reseller_id, stored);
}

/** POST /retention/dry-run: what would end now with these periods, or, where none is named, with those that are set; and whether it would be archived. Changes nothing. */
export async function dryRunRetention(
  { clock, retentions, aged, holds }: RetentionSettingDeps,
  bus: Bus,
  { by, reseller_id: named, archive: asked, ...wanted }: Wanted,
): Promise<ResultOf<"leads.dryRunRetention">> {
  const reseller_id = await resellerOf(bus, by, named);
  const stored = await retentions.find(reseller_id);
  const days = Object.keys(wanted).length > 0 ? daysFrom(wanted) : (stored?.days ?? NO_DAYS);
  const archive = asked ?? stored?.archive ?? false;
  if (archive) await checkArchive(bus, clock);
  const now = clock.now();
  const held = await holds.numbersOf(reseller_id, MAX_HELD);
  const kinds = RETENTION_KINDS.map(async (kind) => {
    const of = daysOf(days, kind);
    if (of === null) return [];
    const before = beforeWhen(now, of);
    const from = stored?.done_to[kind] ?? BEGINNING;
    const counted = held === "all" ? 0 : await aged.count(reseller_id, kind, { from, before }, held);
    return [
      {
        kind,
        days: of,
        before: before.toISOString(),
        leads: Math.min(counted, MAX_COUNTED_AGED),
        more: counted > MAX_COUNTED_AGED,
      },
    ];
  });
  return { reseller_id, archive, kinds: (await Promise.all(kinds)).flat() };
}
