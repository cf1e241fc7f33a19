import { recordAudit } from "../../shared/audit.ts";
import type { Bus, Handlers, ParamsOf, ServiceDeps } from "../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import type { OutboxHandOver } from "../../shared/database/outbox-hand-over.ts";
import { fail, failEmptyChange } from "../../shared/errors.ts";
import { shortNumberIssue } from "../../shared/numbering/short-number.ts";
import { numberIssue, toE164 } from "../../shared/phone.ts";
import { readPage } from "../../shared/page.ts";
import { dropOwned, ownedResources } from "./tenant-usage.ts";
import { merchantForChange, merchantView, merchantNotFound } from "./merchant-access.ts";
import type { MerchantDoc } from "./merchants.model.ts";
import type { MerchantsRepository } from "./merchants.repository.ts";
import { nameKey } from "./rules/name-key.ts";
import { refuseMerchant } from "./rules/permissions.ts";
import type { ResellersRepository } from "./resellers.repository.ts";

/** The numbers in the one spelling that every comparison uses, each once. INVALID_PHONE_NUMBER. */
function normalizedNumbers(numbers: readonly string[]): string[] {
  const read = numbers.map((n) => toE164(n));
  const errors = numbers.flatMap((n, i) => {
    const message = shortNumberIssue(n) ?? numberIssue(n);
    return message === null ? [] : [{ path: `test_numbers.${i}`, message }];
  });
  if (errors.length > 0)
    fail("INVALID_PHONE_NUMBER", "test_numbers holds what is no phone number to call; see errors.", { errors });
  return [...new Set(read.filter((n) => n !== null))];
}

/** It was paused or resumed in this very moment. */
const stillTelling = (): never =>
  fail("BUSY", "That the merchant was paused or resumed is still being told; try again in a few seconds.");

/** A change as the audit log keeps it: of the test numbers, how many they are. */
const audited = ({ test_numbers, ...rest }: { test_numbers?: readonly string[] }): object => ({
  ...rest,
  ...(test_numbers === undefined ? {} : { test_numbers: test_numbers.length }),
});

/** The fields that follow from what is wanted. INVALID_PHONE_NUMBER. */
const derived = ({ name, test_numbers }: { name?: string; test_numbers?: readonly string[] }) => ({
  ...(name === undefined ? {} : { name_key: nameKey(name) }),
  ...(test_numbers === undefined ? {} : { test_numbers: normalizedNumbers(test_numbers) }),
});

const newMerchant = (
  _id: string,
  now: Date,
  {
    name,
    reseller_id,
    contact_email,
    test_numbers,
    max_calls_per_callee,
    spend_ceiling,
    webhook_phone_number,
  }: Omit<ParamsOf<"merchants.create">, "by">,
): MerchantDoc => ({
  _id,
  name,
  name_key: nameKey(name),
  reseller_id,
  contact_email,
  is_active: true,
  paused: null,
  ...(test_numbers === undefined ? {} : { test_numbers: normalizedNumbers(test_numbers) }),
  ...(max_calls_per_callee ? { max_calls_per_callee } : {}),
  ...(spend_ceiling ? { spend_ceiling } : {}),
  ...(webhook_phone_number ? { webhook_phone_number } : {}),
  created_at: now,
  updated_at: now,
});

const stillOwns = (owned: string): never =>
  fail(
    "RESOURCE_IN_USE",
    `The merchant has ${owned}; delete or finish them first, or switch the merchant off with is_active false.`,
  );

const permit = (by: By, reseller_id: string): void => {
  const refusal = refuseMerchant(by, reseller_id);
  if (refusal) fail("FORBIDDEN", refusal);
};

/** Merchants, managed over their repository. */
export function merchantActions(
  deps: Pick<ServiceDeps, "clock" | "ids" | "log">,
  merchants: MerchantsRepository,
  resellers: ResellersRepository,
  pauseEvents: Pick<OutboxHandOver, "now">,
): Handlers<"merchants", "create" | "list" | "get" | "update" | "remove"> {
  const forChange = (by: By, id: string): Promise<MerchantDoc> =>
    merchantForChange(merchants, by, id, (reseller_id) => refuseMerchant(by, reseller_id));
  const record = (
    bus: Bus,
    by: By,
    action: string,
    { _id, reseller_id }: MerchantDoc,
    details: object,
  ): Promise<void> =>
    recordAudit(deps, bus, { by, action, subject: _id, reseller_id, merchant_id: _id, details: { ...details } });
  return {
    async create({ by, ...wanted }, { bus }) {
      permit(by, wanted.reseller_id);
      if (!(await resellers.one(wanted.reseller_id)))
        fail("RESELLER_NOT_FOUND", "No reseller has this reseller_id; create the reseller first.");
      const merchant = newMerchant(deps.ids.uuid(), deps.clock.now(), wanted);
      await merchants.add(merchant);
      const { name, spend_ceiling } = merchant;
      await record(bus, by, "merchant.created", merchant, { name, ...(spend_ceiling ? { spend_ceiling } : {}) });
      return merchantView(merchant);
    },
    async list({ by, limit, cursor, ...filter }) {
      const { items, next_cursor } = await readPage(
        { limit, cursor },
        (after, size) => merchants.page(scopeOf(by), filter, after, size),
        merchantView,
      );
      return { count: items.length, merchants: items, next_cursor };
    },
    get: async ({ by, id }) => merchantView((await merchants.find(scopeOf(by), id)) ?? merchantNotFound()),
    async update({ by, id, ...wanted }, { bus }) {
      if (Object.keys(wanted).length === 0) failEmptyChange();
      await forChange(by, id);
      const change = { ...wanted, ...derived(wanted), updated_at: deps.clock.now() };
      const changed = (await merchants.change(scopeOf(by), id, change)) ?? merchantNotFound();
      if (wanted.max_calls_per_callee !== undefined || wanted.spend_ceiling !== undefined)
        bus.broadcast("calling.switched", { merchant_id: id });
      await record(bus, by, "merchant.updated", changed, audited(wanted));
      return merchantView(changed);
    },
    async remove({ by, id }, { bus }) {
      const merchant = await forChange(by, id);
      const { reseller_id, name } = merchant;
      const owned = await ownedResources(bus, { reseller_id, merchant_id: id });
      if (owned !== null) stillOwns(owned);
      await pauseEvents.now([id]);
      await dropOwned(bus, { reseller_id, merchant_id: id });
      if (!(await merchants.remove(scopeOf(by), id)) && (await merchants.find(scopeOf(by), id)) !== null)
        stillTelling();
      await record(bus, by, "merchant.deleted", merchant, { name });
      return {};
    },
  };
}
