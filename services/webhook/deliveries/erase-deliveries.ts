import type { ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { ERASED, holdsNumber, withoutNumber } from "../../../shared/privacy/erased-text.ts";
import { isRecord } from "../../../shared/json.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

/** Fields of an event's data that say what a person said, or who they are; what stands in their place. All others are ids, words of the deployment, times and counts. */
const EMPTY = {
  phone_number: null,
  recording_url: null,
  transcription: [],
  variables: {},
  metaData: {},
} as const;

/** A client's own words, which may hold the number. */
const NAMED_BY_CLIENT = ["request_id", "order_id"] as const;

/** An event's data without the person. It keeps its fields, so that it still is what its type says. */
function erasedData(data: Record<string, unknown>, e164: string): Record<string, unknown> {
  const emptied = Object.entries(EMPTY).filter(([name]) => name in data);
  const named = NAMED_BY_CLIENT.flatMap((name): [string, string][] => {
    const text = data[name];
    return typeof text === "string" ? [[name, withoutNumber(text, e164)]] : [];
  });
  return { ...data, ...Object.fromEntries([...emptied, ...named]) };
}

/** The body of an event without the person. */
export function erasedBody(body: string, e164: string): string {
  const event: unknown = JSON.parse(body);
  if (!isRecord(event) || !isRecord(event["data"])) return JSON.stringify({ type: ERASED });
  return JSON.stringify({ ...event, data: erasedData(event["data"], e164) });
}

/** The address without its path and query, where they hold the number. */
const erasedUrl = (url: string, e164: string): string =>
  holdsNumber(url, e164) ? `${new URL(url).origin}/${ERASED}` : url;

/**
 * Erases what deliveries of these leads say of a person. What is on its way goes on so, under a signature of its own; only where its address holds the
 * number is it waited for.
 */
export async function eraseDeliveries(
  queues: readonly Pick<DeliveryQueue, "contentsOf" | "rewrite">[],
  { lead_ids, phone_number }: ParamsOf<"webhook.eraseNumber">,
): Promise<ResultOf<"webhook.eraseNumber">> {
  let deliveries = 0;
  const waiting = new Set<string>();
  for (const queue of queues) {
    const found = await queue.contentsOf(lead_ids);
    for (const { state, url, lead_id } of found)
      if (state === "pending" && holdsNumber(url, phone_number)) waiting.add(lead_id);
    const changed = found.flatMap((delivery) => {
      const [body, url] = [erasedBody(delivery.body, phone_number), erasedUrl(delivery.url, phone_number)];
      const isSame = body === delivery.body && url === delivery.url;
      return isSame || waiting.has(delivery.lead_id) ? [] : [{ ...delivery, body, url }];
    });
    await queue.rewrite(changed);
    deliveries += changed.length;
  }
  return { erased: { deliveries }, waiting: [...waiting], pending: false };
}
