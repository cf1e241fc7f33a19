import type { Bus, ParamsOf, ServiceDeps } from "../../shared/bus/bus.ts";
import { scopeOf, type By, type Scope } from "../../shared/contracts/records/identity.ts";
import { fail } from "../../shared/errors.ts";
import { maskPhone } from "../../shared/process/log.ts";
import type { NumberDoc } from "./numbers.model.ts";
import type { NumberRecords } from "./numbers.repository.ts";
import { changedOwner, checkOwner, mayChange, ownerFor, type Owner } from "./ownership.ts";

const EVERYTHING: Scope = { reseller_id: null, merchant_id: null };

/** The same error for unknown numbers and for others' numbers. NUMBER_NOT_FOUND. */
export const notFound = (): never =>
  fail("NUMBER_NOT_FOUND", "There is no such outbound number, or it is not yours; list yours with GET /numbers.");
const exists = (): never =>
  fail("NUMBER_EXISTS", "This phone number is already registered under this owner; change the existing one instead.", {
    errors: [{ path: "phone_number", message: "already exists" }],
  });

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

/** The number that a change is for. FORBIDDEN where it has another owner, NUMBER_NOT_FOUND where there is none. */
async function numberToChange(numbers: NumberRecords, by: By, id: string): Promise<NumberDoc> {
  mayChange(by);
  const mine = await numbers.find(scopeOf(by), id);
  if (mine) return mine;
  if (await numbers.find(EVERYTHING, id)) fail("FORBIDDEN", "This outbound number is not yours to change.");
  return notFound();
}

const busy = (deed: string, forced: string): never =>
  fail("RESOURCE_IN_USE", `The number is in a call, so it can't be ${deed} now. ${forced}`);

/** Adds a number that its owner does not have yet. NUMBER_EXISTS, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND, TEMPLATE_NOT_FOUND. */
export async function addNumber(
  { log }: Pick<ServiceDeps, "log">,
  numbers: NumberRecords,
  bus: Bus,
  by: By,
  number: NumberDoc,
): Promise<NumberDoc> {
  await requireOwner(bus, number);
  await requireTemplate(
    bus,
    { reseller_id: number.reseller_id, merchant_id: number.merchant_id },
    number.inbound_template_id ?? null,
  );
  if (!(await numbers.insert(number))) exists();
  log.info(
    {
      event: "number.created",
      number_id: number._id,
      phone: maskPhone(number.phone_number),
      provider: number.provider,
      by: by.id,
    },
    "an outbound number was added",
  );
  bus.broadcast("numbers.freed", { provider: number.provider });
  return number;
}

/** Changes a number. Live calls continue whatever is changed; only the provider stays until they have ended, and disabling waits for them unless forced. */
export async function changeNumber(
  { clock, log }: Pick<ServiceDeps, "clock" | "log">,
  numbers: NumberRecords,
  bus: Bus,
  { by, number_id, number: asked, force }: ParamsOf<"numbers.update">,
): Promise<NumberDoc> {
  const seen = await numberToChange(numbers, by, number_id);
  const owner = changedOwner(seen, asked);
  ownerFor(by, owner);
  const given = owner.reseller_id !== seen.reseller_id || owner.merchant_id !== seen.merchant_id;
  if (given) await requireOwner(bus, owner);
  const template_id =
    asked.inbound_template_id === undefined
      ? (seen.inbound_template_id ?? null)
      : (asked.inbound_template_id?.toLowerCase() ?? null);
  if (given || asked.inbound_template_id !== undefined) await requireTemplate(bus, owner, template_id);
  const disables = asked.status === "DISABLED" && seen.status !== "DISABLED";
  const moves = asked.provider !== undefined && asked.provider !== seen.provider;
  const changed = await numbers.change(
    scopeOf(by),
    seen,
    { ...asked, ...owner, inbound_template_id: template_id, updated_at: clock.now() },
    moves || (disables && force !== true),
  );
  if (changed === "taken") return exists();
  if (changed === null) {
    await numberToChange(numbers, by, number_id); // deleted or given to another owner meanwhile
    return moves
      ? busy("given another provider", "Try again when the call has ended.")
      : busy(
          "disabled",
          "Try again when the call has ended, or with force=true: live calls finish and no new ones are taken.",
        );
  }
  log.info(
    { event: "number.updated", number_id: changed._id, fields: Object.keys(asked), forced: force === true, by: by.id },
    "an outbound number was changed",
  );
  if (changed.status === "AVAILABLE") bus.broadcast("numbers.freed", { provider: changed.provider });
  return changed;
}

/** Deletes a number; with `force` also during calls, which finish. FORBIDDEN, NUMBER_NOT_FOUND, RESOURCE_IN_USE. */
export async function removeNumber(
  { clock, log }: Pick<ServiceDeps, "clock" | "log">,
  numbers: NumberRecords,
  { by, number_id, force }: ParamsOf<"numbers.remove">,
): Promise<void> {
  const { _id } = await numberToChange(numbers, by, number_id);
  const gone =
    (await numbers.removeIdle(scopeOf(by), _id)) ||
    (force === true && (await numbers.removeDraining(scopeOf(by), _id, clock.now())));
  if (!gone) {
    await numberToChange(numbers, by, _id);
    busy(
      "deleted",
      "Try again when the call has ended, or with force=true: live calls finish and no new ones are taken.",
    );
  }
  log.info(
    { event: "number.deleted", number_id: _id, forced: force === true, by: by.id },
    "an outbound number was deleted",
  );
}
