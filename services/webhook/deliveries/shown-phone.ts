import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { cached, recencyCache } from "../../../shared/cache.ts";
import type { WebhookPhoneNumber } from "../../../shared/contracts/merchants.ts";
import type { WebhookEvent } from "../../../shared/contracts/webhook.ts";

/** How long a process goes by a merchant's choice before it asks again. */
const CHOICE_MS = 30_000;
/** Merchants whose choice is kept. */
const MAX_CACHED = 5000;
/** An event does not wait for the choice any longer: its number stays masked then. */
const ASK_MS = 1000;

/** Shows the phone number of events as their merchants chose: masked, as they come, or in full. */
export interface ShownPhone {
  /** The events with the numbers that are to be shown. */
  apply(events: readonly WebhookEvent[]): Promise<WebhookEvent[]>;
}

/** By the merchants service; where it can't be asked at once the number stays masked. */
export function shownPhone({ bus, clock }: Pick<ServiceDeps, "bus" | "clock">): ShownPhone {
  const choices = recencyCache<WebhookPhoneNumber>({ max: MAX_CACHED, ttl: { ms: CHOICE_MS, clock } });
  const choiceOf = (reseller_id: string, merchant_id: string): Promise<WebhookPhoneNumber> =>
    cached<WebhookPhoneNumber, null>(choices, merchant_id, async () => {
      const known = await bus.call("merchants.lookup", { reseller_id, merchant_id }, { timeout_ms: ASK_MS });
      return known.webhook_phone_number ?? "masked";
    })
      .catch(() => null)
      .then((choice) => choice ?? "masked");
  return {
    async apply(events) {
      const numbered = events.filter((event) => event.merchant_id !== null && typeof event.phone_number === "string");
      const owners = new Map(numbered.map(({ reseller_id, merchant_id }) => [merchant_id ?? "", reseller_id]));
      const full = new Set<string>();
      await Promise.all(
        [...owners].map(async ([merchant_id, reseller_id]) => {
          if ((await choiceOf(reseller_id, merchant_id)) === "full") full.add(merchant_id);
        }),
      );
      return events.map((event) =>
        typeof event.phone_number === "string" && full.has(event.merchant_id ?? "")
          ? { ...event, data: { ...event.data, phone_number: event.phone_number } }
          : event,
      );
    },
  };
}
