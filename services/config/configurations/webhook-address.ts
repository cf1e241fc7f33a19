import type { Bus } from "../../../shared/bus.ts";
import { fail } from "../../../shared/errors.ts";

/** Whether the webhook of inbound leads may be called, by the checks of reporting_webhook_url. WEBHOOK_ADDRESS_REFUSED. */
export async function requireAddress(
  bus: Bus,
  { inbound_webhook_url: url }: { inbound_webhook_url?: string | null },
): Promise<void> {
  if (url === undefined || url === null) return;
  const [refusal] = (await bus.call("webhook.checkAddresses", { urls: [url] })).refusals;
  if (refusal)
    fail("WEBHOOK_ADDRESS_REFUSED", `inbound_webhook_url can't be used: ${refusal}`, {
      errors: [{ path: "inbound_webhook_url", message: refusal }],
    });
}
