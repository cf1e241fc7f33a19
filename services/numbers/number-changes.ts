import type { Bus, ParamsOf, ServiceDeps } from "../../shared/bus/bus.ts";
import { recordAudit } from "../../shared/audit.ts";
import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import { againstOthers } from "../../shared/database/write-batches.ts";
import { codeOf, fail, isOutOfReach, messageOf } from "../../shared/errors.ts";
import { maskPhone } from "../../shared/process/log.ts";
import type { NumberDoc } from "./numbers.model.ts";
import type { NumberRecords } from "./numbers.repository.ts";
import { changedOwner, checkOwner, mayAdd, mayChange, ownerFor, type Owner } from "./ownership.ts";

/** The same error for unknown numbers and for others' numbers. NUMBER_NOT_FOUND. */
export const notFound = (): never =>
  fail("NUMBER_NOT_FOUND", "There is no such outbound number, or it is not yours; list yours with GET /numbers.");
/** Says the same whoever has the number. */
const exists = (): never =>
  fail(
    "NUMBER_EXISTS",
    "This phone number is already registered in this deployment, under one provider or another; an admin can say under whose, and allot it.",
    { errors: [{ path: "phone_number", message: "already exists" }] },
  );

/** What changes of numbers stand on. */
type Deps = Pick<ServiceDeps, "clock" | "log" | "env">;

/** Checks that the owner of a number exists. RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
export async function requireOwner(bus: Bus, owner: Owner): Promise<void> {
  if (owner.reseller_id === null) return;
  checkOwner(
    owner,
    await bus.call("merchants.lookup", {
      reseller_id: owner.reseller_id,
      ...(owner.merchant_id === null ? {} : { merchant_id: owner.merchant_id }),
    }),
  );
}

/** Checks that the template may take calls to a number of this owner. TEMPLATE_NOT_FOUND. */
async function requireTemplate(bus: Bus, owner: Owner, template_id: string | null): Promise<void> {
  if (template_id === null || (await bus.call("config.mayTakeCalls", { ...owner, template_id })).may) return;
  fail(
    "TEMPLATE_NOT_FOUND",
    "inbound_template_id names no template that the number's owner may use; list the templates with GET /templates.",
    { errors: [{ path: "inbound_template_id", message: "is unknown, or not the number's owner's" }] },
  );
}

/** How long a client should wait where the carrier can't be asked. */
const ASK_AGAIN_SECONDS = 10;

/** Asks the carrier whether the provider's account holds the number; why it does not say, null: it does. PROVIDER_UNCONFIGURED. */
async function askCarrier(
  bus: Bus,
  asked: Pick<NumberDoc, "provider" | "phone_number">,
): Promise<{ held: boolean; silent: string | null; credentials: boolean }> {
  try {
    const { provider, phone_number } = asked;
    const { held, credentials_refused } = await bus.call("dialer.holdsNumber", { provider, phone_number });
    return { held, silent: credentials_refused ?? null, credentials: credentials_refused !== undefined };
  } catch (error) {
    if (!isOutOfReach(codeOf(error))) throw error;
    return { held: false, silent: messageOf(error), credentials: false };
  }
}

/**
 * Checks by the carrier's own word that the provider's account holds the number. NUMBER_NOT_HELD, PROVIDER_UNCONFIGURED; DEPENDENCY_DOWN: the carrier can't be
 * asked; that it refuses the deployment's credentials is told to admins alone.
 */
async function requireHeld(
  { log }: Pick<Deps, "log">,
  bus: Bus,
  by: By,
  { provider, phone_number }: Pick<NumberDoc, "provider" | "phone_number">,
): Promise<void> {
  const { held, silent, credentials } = await askCarrier(bus, { provider, phone_number });
  if (silent !== null) {
    log.warn(
      { event: "number.not_asked", provider, phone: maskPhone(phone_number), why: silent },
      "the carrier could not be asked whether its account holds a number",
    );
    const why =
      credentials && by.role === "admin"
        ? `Whether the account holds this number can't be asked: ${silent}. Nothing was changed.`
        : "The carrier can't be asked at the moment whether its account holds this number, so nothing was changed; try again in some seconds.";
    fail("DEPENDENCY_DOWN", why, { retry_after_seconds: ASK_AGAIN_SECONDS });
  }
  if (!held)
    fail(
      "NUMBER_NOT_HELD",
      `The carrier says that the account behind ${provider} does not hold this number; buy it there or bring it there first, or name the provider that has it.`,
      { errors: [{ path: "phone_number", message: `is not held by the account behind ${provider}` }] },
    );
}

/** An entry of the audit log about a number, for the reseller that has it. */
const audit = (
  deps: Deps,
  bus: Bus,
  by: By,
  done: "created" | "updated" | "allotted" | "withdrawn" | "deleted",
  {
    _id,
    phone_number,
    reseller_id,
    merchant_id,
  }: Pick<NumberDoc, "_id" | "phone_number" | "reseller_id" | "merchant_id">,
  details: Record<string, unknown>,
): Promise<void> =>
  recordAudit(deps, bus, {
    by,
    action: `number.${done}`,
    subject: _id,
    reseller_id,
    merchant_id,
    details: { phone_number: maskPhone(phone_number), ...details },
  });

/** The number that a change is for. FORBIDDEN by role; NUMBER_NOT_FOUND where there is none in the asker's scope. */
async function numberToChange(numbers: NumberRecords, by: By, id: string): Promise<NumberDoc> {
  mayChange(by);
  return (await numbers.find(scopeOf(by), id)) ?? notFound();
}

const busy = (deed: string, forced: string): never =>
  fail("RESOURCE_IN_USE", `The number is in a call, so it can't be ${deed} now. ${forced}`);

/**
 * Adds a number that nobody in the deployment has yet, and that the carrier says is the provider's account's. NUMBER_EXISTS, NUMBER_NOT_HELD,
 * PROVIDER_UNCONFIGURED, DEPENDENCY_DOWN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, TEMPLATE_NOT_FOUND.
 */
export async function addNumber(
  deps: Deps,
  numbers: NumberRecords,
  bus: Bus,
  by: By,
  number: NumberDoc,
): Promise<NumberDoc> {
  const { _id, phone_number, provider, reseller_id, merchant_id } = number;
  await requireOwner(bus, number);
  await requireTemplate(bus, { reseller_id, merchant_id }, number.inbound_template_id ?? null);
  await requireHeld(deps, bus, by, number);
  if (!(await numbers.insert(number))) exists();
  deps.log.info(
    { event: "number.created", number_id: _id, phone: maskPhone(phone_number), provider, by: by.id },
    "an outbound number was added",
  );
  await audit(deps, bus, by, "created", number, { provider });
  bus.broadcast("numbers.freed", { provider });
  return number;
}

const isOf = (a: Owner, b: Owner): boolean => a.reseller_id === b.reseller_id && a.merchant_id === b.merchant_id;

/** What is done to a number, for where others do it too. */
const CHANGED = "The number is being changed";

/** Why a guarded change of a number did not happen; where another one came first, which left its owner and provider, nothing: it is to be tried again. */
async function refuseChange(numbers: NumberRecords, by: By, seen: NumberDoc, moves: boolean): Promise<void> {
  const now = await numberToChange(numbers, by, seen._id); // deleted or given to another owner meanwhile
  if (!isOf(now, seen) || now.provider !== seen.provider)
    fail("RESOURCE_IN_USE", "Another request changed this number at the same time; look at it and try again.");
  if (now.event_seq !== seen.event_seq) return;
  return moves
    ? busy("given another provider", "Try again when the call has ended.")
    : busy(
        "disabled",
        "Try again when the call has ended, or with force=true: live calls finish and no new ones are taken.",
      );
}

/** Tells of a change: the audit log of whom the number was taken from, of whom it was allotted to, or of its owner. */
async function tellChange(
  deps: Deps,
  bus: Bus,
  { by, number: asked, force }: ParamsOf<"numbers.update">,
  seen: NumberDoc,
  changed: NumberDoc,
): Promise<void> {
  const fields = Object.keys(asked);
  deps.log.info(
    { event: "number.updated", number_id: changed._id, fields, forced: force === true, by: by.id },
    "an outbound number was changed",
  );
  const allotted = changed.reseller_id !== seen.reseller_id;
  if (allotted && seen.reseller_id !== null) await audit(deps, bus, by, "withdrawn", seen, {});
  await audit(deps, bus, by, allotted ? "allotted" : "updated", changed, { fields, forced: force === true });
}

/**
 * Changes a number. Live calls continue whatever is changed; only the provider stays until they have ended, and disabling waits for them unless forced.
 * A number that gets another reseller or provider must be held by the provider's account, as the carrier says.
 */
export const changeNumber = (
  deps: Deps,
  numbers: NumberRecords,
  bus: Bus,
  params: ParamsOf<"numbers.update">,
): Promise<NumberDoc> => againstOthers(CHANGED, () => changeSeen(deps, numbers, bus, params));

/** Changes a number as it is now; null: another change came first. */
async function changeSeen(
  deps: Deps,
  numbers: NumberRecords,
  bus: Bus,
  params: ParamsOf<"numbers.update">,
): Promise<NumberDoc | null> {
  const { by, number_id, number: asked, force } = params;
  const seen = await numberToChange(numbers, by, number_id);
  const moves = asked.provider !== undefined && asked.provider !== seen.provider;
  if (moves) mayAdd(by, deps.env.NUMBERS_ADDED_BY);
  const owner = changedOwner(seen, asked);
  ownerFor(by, owner);
  const given = !isOf(owner, seen);
  if (given) await requireOwner(bus, owner);
  const template_id =
    asked.inbound_template_id === undefined
      ? (seen.inbound_template_id ?? null)
      : (asked.inbound_template_id?.toLowerCase() ?? null);
  if (given || asked.inbound_template_id !== undefined) await requireTemplate(bus, owner, template_id);
  if (moves || owner.reseller_id !== seen.reseller_id)
    await requireHeld(deps, bus, by, { provider: asked.provider ?? seen.provider, phone_number: seen.phone_number });
  const disables = asked.status === "DISABLED" && seen.status !== "DISABLED";
  const changed = await numbers.change(
    scopeOf(by),
    seen,
    { ...asked, ...owner, inbound_template_id: template_id, updated_at: deps.clock.now() },
    moves || (disables && force !== true),
  );
  if (changed === null) {
    await refuseChange(numbers, by, seen, moves);
    return null;
  }
  await tellChange(deps, bus, params, seen, changed);
  if (changed.status === "AVAILABLE") bus.broadcast("numbers.freed", { provider: changed.provider });
  return changed;
}

/** Hides a number as it is now, with its event; the number as it was. */
const hideNumber = (
  { clock }: Pick<Deps, "clock">,
  numbers: NumberRecords,
  by: By,
  number_id: string,
  idle: boolean,
): Promise<NumberDoc> =>
  againstOthers(CHANGED, async () => {
    const seen = await numberToChange(numbers, by, number_id);
    if (await numbers.remove(scopeOf(by), seen, clock.now(), idle)) return seen;
    const now = await numberToChange(numbers, by, number_id);
    if (idle && now.event_seq === seen.event_seq)
      busy(
        "deleted",
        "Try again when the call has ended, or with force=true: live calls finish and no new ones are taken.",
      );
    return null;
  });

/** Deletes a number; with `force` also during calls, which finish. FORBIDDEN, NUMBER_NOT_FOUND, RESOURCE_IN_USE. */
export async function removeNumber(
  deps: Deps,
  numbers: NumberRecords,
  bus: Bus,
  { by, number_id, force }: ParamsOf<"numbers.remove">,
): Promise<void> {
  const number = await hideNumber(deps, numbers, by, number_id, force !== true);
  const { _id } = number;
  deps.log.info(
    { event: "number.deleted", number_id: _id, forced: force === true, by: by.id },
    "an outbound number was deleted",
  );
  await audit(deps, bus, by, "deleted", number, { provider: number.provider, forced: force === true });
}
