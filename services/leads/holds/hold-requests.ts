import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, Handlers, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By, type Scope } from "../../../shared/contracts/records/identity.ts";
import type { LegalHoldRecord } from "../../../shared/contracts/requests/legal-holds.ts";
import { fail } from "../../../shared/errors.ts";
import { readPage } from "../../../shared/page.ts";
import { givenNumber } from "../../../shared/phone.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import { checkReseller } from "../named-reseller.ts";
import { toLegalHold, type LegalHoldDoc } from "./legal-holds.model.ts";
import type { LegalHolds } from "./legal-holds.repository.ts";

/** What putting and lifting holds needs. */
export interface HoldRequestDeps extends Pick<ServiceDeps, "clock" | "ids" | "log"> {
  holds: LegalHolds;
}

const fromAdmin = (by: By): void => {
  if (by.role !== "admin") fail("FORBIDDEN", "A legal hold is put and lifted by a token of role admin.");
};

/** Those whose holds an asker may see. FORBIDDEN. */
const readable = (by: By): Scope =>
  by.role === "admin" || by.role === "reseller"
    ? scopeOf(by)
    : fail("FORBIDDEN", "Legal holds are shown to the roles admin and reseller.");

/** In the audit log, number masked. */
const tell = (
  { log }: HoldRequestDeps,
  bus: Bus,
  by: By,
  action: "legal_hold.put" | "legal_hold.lifted",
  { _id, reseller_id, covers, phone_number, ...hold }: LegalHoldDoc,
) =>
  recordAudit({ log }, bus, {
    by,
    action,
    subject: _id,
    reseller_id,
    merchant_id: null,
    details: {
      covers,
      reason: hold.lift_reason ?? hold.reason,
      ...(phone_number === null ? {} : { phone_number: maskPhone(phone_number) }),
    },
  });

/** POST /legal-holds: from the answer on no batch of a run of retention, and none of an erasure, takes what it covers. FORBIDDEN, INVALID_PHONE_NUMBER, RESELLER_NOT_FOUND. */
async function putLegalHold(
  deps: HoldRequestDeps,
  bus: Bus,
  { by, reseller_id, phone_number: text, reason }: ParamsOf<"leads.putLegalHold">,
): Promise<ResultOf<"leads.putLegalHold">> {
  fromAdmin(by);
  const phone_number = text === undefined ? null : givenNumber(text, "phone_number");
  await checkReseller(bus, reseller_id);
  const { kind, id, role } = by;
  const hold: LegalHoldDoc = {
    _id: deps.ids.uuid(),
    reseller_id,
    covers: phone_number === null ? "reseller" : "number",
    phone_number,
    active: true,
    reason,
    put_by: { kind, id, role },
    created_at: deps.clock.now(),
    lifted_by: null,
    lift_reason: null,
    lifted_at: null,
  };
  await deps.holds.put(hold);
  deps.log.info({ event: "legal_hold.put", legal_hold_id: hold._id, reseller_id, by: id }, "a legal hold was put");
  await tell(deps, bus, by, "legal_hold.put", hold);
  return toLegalHold(hold);
}

const unknown = (): never => fail("LEGAL_HOLD_NOT_FOUND", "No legal hold with this id is among those you may see.");

/** POST /legal-holds/{id}/lift: one that is lifted already stays as it is. FORBIDDEN, LEGAL_HOLD_NOT_FOUND. */
async function liftLegalHold(
  deps: HoldRequestDeps,
  bus: Bus,
  { by, id: asked, reason }: ParamsOf<"leads.liftLegalHold">,
): Promise<ResultOf<"leads.liftLegalHold">> {
  fromAdmin(by);
  const hold_id = asked.toLowerCase();
  const { kind, id, role } = by;
  const lifted = await deps.holds.lift(hold_id, { kind, id, role }, reason, deps.clock.now());
  if (lifted === null) return toLegalHold((await deps.holds.find(scopeOf(by), hold_id)) ?? unknown());
  const { reseller_id } = lifted;
  deps.log.info({ event: "legal_hold.lifted", legal_hold_id: hold_id, reseller_id, by: id }, "a legal hold was lifted");
  await tell(deps, bus, by, "legal_hold.lifted", lifted);
  return toLegalHold(lifted);
}

/** GET /legal-holds/{id}. FORBIDDEN, LEGAL_HOLD_NOT_FOUND. */
async function getLegalHold(
  { holds }: Pick<HoldRequestDeps, "holds">,
  { by, id }: ParamsOf<"leads.getLegalHold">,
): Promise<LegalHoldRecord> {
  return toLegalHold((await holds.find(readable(by), id.toLowerCase())) ?? unknown());
}

/** GET /legal-holds. FORBIDDEN. */
async function listLegalHolds(
  { holds }: Pick<HoldRequestDeps, "holds">,
  { by, limit, cursor, ...filter }: ParamsOf<"leads.listLegalHolds">,
): Promise<ResultOf<"leads.listLegalHolds">> {
  const scope = readable(by);
  const { items, next_cursor } = await readPage(
    { limit, cursor },
    (after, size) => holds.page(scope, filter, after, size),
    toLegalHold,
  );
  return { count: items.length, legal_holds: items, next_cursor };
}

/** The actions of legal holds. */
export const holdActions = (
  deps: HoldRequestDeps,
): Handlers<"leads", "putLegalHold" | "liftLegalHold" | "getLegalHold" | "listLegalHolds"> => ({
  putLegalHold: (p, { bus }) => putLegalHold(deps, bus, p),
  liftLegalHold: (p, { bus }) => liftLegalHold(deps, bus, p),
  getLegalHold: (p) => getLegalHold(deps, p),
  listLegalHolds: (p) => listLegalHolds(deps, p),
});
