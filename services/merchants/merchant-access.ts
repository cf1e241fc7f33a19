import { scopeOf, type By } from "../../shared/contracts/records/identity.ts";
import type { MerchantRecord } from "../../shared/contracts/merchants.ts";
import { fail } from "../../shared/errors.ts";
import type { MerchantDoc } from "./merchants.model.ts";
import type { MerchantsRepository } from "./merchants.repository.ts";
import { pauseView } from "./pauses/pause.model.ts";

/** A merchant as it is shown. */
export const merchantView = (doc: MerchantDoc): MerchantRecord => ({
  id: doc._id,
  name: doc.name,
  reseller_id: doc.reseller_id,
  contact_email: doc.contact_email,
  is_active: doc.is_active,
  paused: pauseView(doc.paused),
  test_numbers: doc.test_numbers ?? [],
  max_calls_per_callee: doc.max_calls_per_callee ?? null,
  spend_ceiling: doc.spend_ceiling ?? null,
  webhook_phone_number: doc.webhook_phone_number ?? "masked",
  created_at: doc.created_at.toISOString(),
  updated_at: doc.updated_at.toISOString(),
});

/** The same answer for unknown merchants and for foreign ones. */
export const merchantNotFound = (): never =>
  fail("MERCHANT_NOT_FOUND", "No merchant has this id; GET /merchants lists those of your scope.");

/** The merchant that an asker is about to change; `refusal` says why the asker may not. FORBIDDEN, MERCHANT_NOT_FOUND. */
export async function merchantForChange(
  merchants: MerchantsRepository,
  by: By,
  id: string,
  refusal: (reseller_id: string) => string | null,
): Promise<MerchantDoc> {
  const found = (await merchants.find(scopeOf(by), id)) ?? merchantNotFound();
  const refused = refusal(found.reseller_id);
  return refused === null ? found : fail("FORBIDDEN", refused);
}
