import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import type { ArchiveEntry, ArchiveOrder } from "../../../shared/contracts/requests/archive.ts";
import { isRecord } from "../../../shared/json.ts";
import { placeIn, sendToArchive } from "../../../shared/privacy/archive-entries.ts";
import { toListed, type DeliveryDoc } from "./deliveries.model.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

/** Fields of metaData that say what was said. */
const SAID: readonly string[] = ["transcription", "variables", "summary"];

const without = (of: Record<string, unknown>, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(of).filter(([name]) => !names.includes(name)));

/** The body of an event without what was said. It keeps its fields, so that it still is what its type says. */
export function bodyWithoutWords(body: string): string {
  const event: unknown = JSON.parse(body);
  if (!isRecord(event) || !isRecord(event["data"])) return body;
  const { data } = event;
  const meta = data["metaData"];
  const emptied = {
    ...data,
    ...("transcription" in data ? { transcription: [] } : {}),
    ...("variables" in data ? { variables: {} } : {}),
    ...(isRecord(meta) ? { metaData: without(meta, SAID) } : {}),
  };
  return JSON.stringify({ ...event, data: emptied });
}

type Queue = Pick<DeliveryQueue, "contentsOf" | "over" | "rewrite" | "removeOver" | "underWay">;

/** Takes what was said out of the deliveries of leads; how many had something. */
async function endWords(queue: Queue, lead_ids: readonly string[]): Promise<number> {
  const found = await queue.contentsOf(lead_ids);
  const changed = found
    .map((delivery) => ({ ...delivery, body: bodyWithoutWords(delivery.body) }))
    .filter(({ body }, i) => body !== found[i]?.body);
  await queue.rewrite(changed);
  return changed.length;
}

/** What the archive says of a delivery: what its list does, and what it said. */
const entryOf = (delivery: DeliveryDoc, order: ArchiveOrder): ArchiveEntry => ({
  place: placeIn(order, delivery.lead_id),
  file: "deliveries",
  record: {
    record: "delivery",
    ...toListed(delivery, null),
    ...(delivery.endpoint === undefined ? {} : { endpoint_id: delivery.endpoint.id }),
    event: JSON.parse(delivery.body) as unknown,
  },
});

/** Ends the deliveries of these leads, or what they say of a conversation, of which the lead has more. Where they are archived, that is done before. Leads with a delivery that is on its way are waited for. */
export async function endDeliveries(
  queues: readonly Queue[],
  bus: Bus,
  { kind, lead_ids, archive }: ParamsOf<"webhook.endRecords">,
): Promise<ResultOf<"webhook.endRecords">> {
  if (kind === "recordings") return { ended: {}, waiting: [] };
  const waiting = new Set((await Promise.all(queues.map((queue) => queue.underWay(lead_ids)))).flat());
  const over = lead_ids.filter((lead_id) => !waiting.has(lead_id));
  let [deliveries, archived] = [0, 0];
  for (const queue of queues) {
    if (archive !== undefined && kind !== "transcripts") {
      const entries = (await queue.over(over)).map((delivery) => entryOf(delivery, archive));
      archived += await sendToArchive(bus, archive.until, entries);
    }
    if (kind !== "transcripts") deliveries += await queue.removeOver(over);
    else deliveries += await endWords(queue, over);
  }
  return { ended: { deliveries, archived }, waiting: [...waiting] };
}
