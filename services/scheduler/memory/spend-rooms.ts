import { chunks } from "../../../shared/batching.ts";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { SpendCeilings, SpendRoom } from "../../../shared/contracts/records/spend.ts";

/** What is known of a queue under spend ceilings. */
export interface SpendingQueue {
  queue: { reseller_id: string; merchant_id: string | null };
  plan: { max_call_seconds: number } | null;
  /** The spend ceilings of the merchant and the reseller; absent: none. */
  ceilings?: SpendCeilings;
  /** How many more calls fit under them at least; absent: it is not known, or there is none. */
  spend?: SpendRoom;
}

/** Queues asked for in one request. */
const QUEUES_AT_ONCE = 200;

/**
 * Adds to queues under a spend ceiling how many more of their calls fit, afresh; of all others nothing is asked. Where no dialer answers it is not known:
 * the dialer judges each call before it dials in any case.
 */
export const createSpendRooms =
  ({ bus }: Pick<ServiceDeps, "bus">) =>
  async <Q extends SpendingQueue>(queues: readonly Q[]): Promise<Q[]> => {
    const rooms = new Map<Q, SpendRoom>();
    const asked = queues.flatMap((inputs) => {
      const { ceilings: spend_ceilings, plan, queue } = inputs;
      if (spend_ceilings === undefined || !plan) return [];
      const { reseller_id, merchant_id } = queue;
      return [
        {
          inputs,
          call: { reseller_id, merchant_id, spend_ceilings, max_call_seconds: plan.max_call_seconds, to: null },
        },
      ];
    });
    for (const some of chunks(asked, { maxItems: QUEUES_AT_ONCE })) {
      const answer = await bus.call("dialer.spendRoom", { calls: some.map(({ call }) => call) }).catch(() => null);
      some.forEach(({ inputs }, i) => {
        const room = answer?.calls[i];
        if (room) rooms.set(inputs, room);
      });
    }
    return queues.map((inputs) => {
      const spend = rooms.get(inputs);
      return spend ? { ...inputs, spend } : inputs;
    });
  };

/** The ledgers that calls of a queue count in, and how many more each has room for; as pools that queues share. */
export function spendPools({ queue, spend }: Pick<SpendingQueue, "queue" | "spend">): [string, number][] {
  const { merchant, reseller } = spend?.room ?? {};
  const pool = (id: string | null, room: number | undefined): [string, number][] =>
    id === null || room === undefined ? [] : [[`spend:${id}`, room]];
  return [...pool(queue.merchant_id, merchant), ...pool(queue.reseller_id, reseller)];
}
