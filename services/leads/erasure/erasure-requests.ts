import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By, type Scope } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import { givenNumber } from "../../../shared/phone.ts";
import type { LegalHolds } from "../holds/legal-holds.repository.ts";
import { checkReseller } from "../named-reseller.ts";
import { toErasure, type ErasureDoc } from "./erasures.model.ts";
import type { Erasures } from "./erasures.repository.ts";

/** What asking for an erasure needs. */
export interface ErasureRequestDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  erasures: Erasures;
  holds: Pick<LegalHolds, "covering">;
  /** Runs when an erasure is due. */
  onDue(): void;
}

/** Whose records are erased: the asker's own, an admin's choice of a reseller, or every tenant's. FORBIDDEN, RESELLER_NOT_FOUND. */
async function scopeFor(bus: Bus, by: By, named: string | undefined): Promise<Scope> {
  if (by.role === "user") fail("FORBIDDEN", "The role user can't erase; use a token of role merchant or reseller.");
  const own = scopeOf(by);
  if (named === undefined || named === own.reseller_id) return own;
  if (by.role !== "admin") fail("FORBIDDEN", "reseller_id is not your own; leave it out to erase your own records.");
  await checkReseller(bus, named);
  return { reseller_id: named, merchant_id: null };
}

/** LEGAL_HOLD where the number is held. It says which hold, and what to do. */
async function checkHolds({ holds }: ErasureRequestDeps, { reseller_id }: Scope, phone_number: string): Promise<void> {
  const held = await holds.covering(reseller_id, phone_number);
  if (held)
    fail(
      "LEGAL_HOLD",
      `The legal hold ${held._id} covers this number; nothing was erased. GET /legal-holds/{id} tells the reseller and an admin who put it and why; an admin lifts it with POST /legal-holds/{id}/lift. POST /blacklist keeps the number from being called until then.`,
    );
}

/** POST /erasures: from the answer on the number is refused; what is known of it is erased by and by. */
export async function createErasure(
  deps: ErasureRequestDeps,
  bus: Bus,
  { by, phone_number: text, reseller_id: named }: ParamsOf<"leads.createErasure">,
): Promise<ResultOf<"leads.createErasure">> {
  const { clock, erasures, ids, log, onDue } = deps;
  const scope = await scopeFor(bus, by, named);
  const phone_number = givenNumber(text, "phone_number");
  await checkHolds(deps, scope, phone_number);
  const _id = ids.uuid();
  const { erased } = await bus.call("blacklist.eraseNumber", { erasure_id: _id, ...scope, phone_number, lead_ids: [] });
  const now = clock.now();
  const { kind, id, role } = by;
  const opened: ErasureDoc = await erasures.open({
    _id,
    ...scope,
    phone_number,
    state: "running",
    waiting: 0,
    held_by: null,
    erased,
    requested_by: { kind, id, role },
    due_at: now,
    turn: 0,
    created_at: now,
    finished_at: null,
  });
  if (opened._id === _id) {
    log.info({ event: "erasure.requested", erasure_id: _id, ...scope, by: id }, "a number is to be erased");
    await recordAudit({ log }, bus, { by, action: "erasure.requested", subject: _id, ...scope, details: {} });
    onDue();
  }
  return toErasure(opened);
}

/** GET /erasures/{id}: how far it is, and what was erased. ERASURE_NOT_FOUND. */
export async function getErasure(
  { erasures }: Pick<ErasureRequestDeps, "erasures">,
  { by, id }: ParamsOf<"leads.getErasure">,
): Promise<ResultOf<"leads.getErasure">> {
  const found = await erasures.find(scopeOf(by), id.toLowerCase());
  return found ? toErasure(found) : fail("ERASURE_NOT_FOUND", "No erasure with this id is among those you may see.");
}

/** GET /erasures. */
export async function listErasures(
  { erasures }: Pick<ErasureRequestDeps, "erasures">,
  { by, limit, cursor, ...filter }: ParamsOf<"leads.listErasures">,
): Promise<ResultOf<"leads.listErasures">> {
  const { items, next_cursor } = await readPage(
    { limit, cursor },
    (after, size) => erasures.page(scopeOf(by), filter, after, size),
    toErasure,
  );
  return { count: items.length, erasures: items, next_cursor };
}
