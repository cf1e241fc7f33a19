import { chunks } from "../../shared/batching.ts";
import type { ParamsOf, ServiceDeps } from "../../shared/bus/bus.ts";
import type { DueLead } from "../../shared/contracts/records/lead.ts";
import { inParts } from "./memory/in-parts.ts";
import type { ReadValues } from "./memory/plan-cache.ts";

/** How far a queue is to be read. */
export type QueueRead = ParamsOf<"leads.dueOf">["queues"][number];

const QUEUES_AT_ONCE = 500;

/** The first due leads of queues, by queue; in as many messages as that takes. */
export async function readDueLeads(
  { bus }: Pick<ServiceDeps, "bus">,
  queues: readonly QueueRead[],
  until: string,
): Promise<ReadValues<readonly DueLead[]>> {
  const of = new Map<string, readonly DueLead[]>();
  const read = async (some: readonly QueueRead[]): Promise<void> => {
    for (let rest = some; rest.length > 0;) {
      const answer = await bus.call("leads.dueOf", { queues: [...rest], until, by_reference: true });
      const found = Map.groupBy(answer.leads, (l) => l.queue ?? l.template_id);
      // an older leads service answers for all of them at once
      const done = Math.max(1, answer.read ?? rest.length);
      for (const { queue } of rest.slice(0, done)) of.set(queue, found.get(queue) ?? []);
      rest = rest.slice(done);
    }
  };
  const failed = new Map<string, unknown>();
  for (const some of chunks(queues, { maxItems: QUEUES_AT_ONCE }))
    for (const [{ queue }, error] of await inParts(some, read)) failed.set(queue, error);
  return { of, failed };
}
