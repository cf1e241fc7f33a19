import { recordAudit } from "../../../shared/audit.ts";
import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { inScope, scopeOf } from "../../../shared/contracts/records/identity.ts";
import { fail } from "../../../shared/errors.ts";
import type { Owner, Secrets } from "./secrets.repository.ts";

/** RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
export async function requireOwner(bus: Bus, { reseller_id, merchant_id }: Owner): Promise<void> {
  const known = await bus.call("merchants.lookup", { reseller_id, ...(merchant_id ? { merchant_id } : {}) });
  if (!known.reseller) fail("RESELLER_NOT_FOUND", "reseller_id is unknown");
  if (merchant_id && !known.merchant) fail("MERCHANT_NOT_FOUND", "merchant_id is unknown under this reseller");
}

/** Whose secret it is, once it is sure that it exists and that the asker is its merchant, its reseller or an admin. FORBIDDEN, RESELLER_NOT_FOUND, MERCHANT_NOT_FOUND. */
async function ownerFor(bus: Bus, { by, reseller_id, merchant_id }: ParamsOf<"webhook.secret">): Promise<Owner> {
  const owner = { reseller_id, merchant_id: merchant_id ?? null };
  if (by.role === "user" || !inScope(scopeOf(by), owner))
    fail("FORBIDDEN", "the signing secret is for the merchant itself, its reseller and admins");
  await requireOwner(bus, owner);
  return owner;
}

/** The newest signing secret of a merchant or reseller. Who read it is in the audit log. */
export async function readSecret(
  deps: Pick<ServiceDeps, "log">,
  bus: Bus,
  secrets: Secrets,
  params: ParamsOf<"webhook.secret">,
): Promise<ResultOf<"webhook.secret">> {
  const owner = await ownerFor(bus, params);
  const [secret] = await secrets.validFor(owner);
  const subject = owner.merchant_id ?? owner.reseller_id;
  await recordAudit(deps, bus, { by: params.by, action: "webhook_secret.read", subject, ...owner, details: {} });
  return { secret: secret ?? fail("INTERNAL", "no signing secret could be made") };
}

/** A new signing secret for a merchant or reseller, in the audit log too. */
export async function rotateSecret(
  deps: ServiceDeps,
  bus: Bus,
  secrets: Secrets,
  params: ParamsOf<"webhook.rotateSecret">,
): Promise<ResultOf<"webhook.rotateSecret">> {
  const owner = await ownerFor(bus, params);
  const { secret, previous_valid_until } = await secrets.rotate(owner);
  const until = previous_valid_until?.toISOString() ?? null;
  await recordAudit(deps, bus, {
    by: params.by,
    action: "webhook_secret.rotated",
    subject: owner.merchant_id ?? owner.reseller_id,
    ...owner,
    details: { previous_valid_until: until },
  });
  return { secret, previous_valid_until: until };
}
