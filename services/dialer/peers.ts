import { batched, chunks } from "../../shared/batching.ts";
import type { Bus, ParamsOf, ResultOf } from "../../shared/bus/bus.ts";
import type { Preparation, Prepared } from "../../shared/contracts/conversation.ts";
import { codeOf, fail } from "../../shared/errors.ts";
import { jsonBytes } from "../../shared/json.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { within } from "../../shared/time/deadline.ts";

type SlotLease = ParamsOf<"numbers.keepMany">["lines"][number];
type ListedPair = ParamsOf<"blacklist.check">["pairs"][number];

/** Single-item requests to other services. Those of one moment share a message on the bus. */
export interface Peers {
  /** Whether the number is on the blacklist. Throws DEPENDENCY_DOWN where the answer is neither yes nor no: that decides nothing about a lead. */
  isBlacklisted(pair: ListedPair): Promise<boolean>;
  /** The address at which the conversation waits for its call. Throws the conversation's refusal. */
  prepareConversation(call: Preparation): Promise<Prepared>;
  /** Renews the lease of an attempt's lead; not done: the lead went on without us, where it ended with this outcome. Not batched. */
  renewLease(attempt: { lead_id: string; claim_no: number }): Promise<ResultOf<"leads.extend">>;
  /** Renews the lease of a number slot; false: it ran out, and the slot may be another's. */
  renewSlotLease(lease: SlotLease): Promise<boolean>;
  /** Releases the number slot of this attempt. Idempotent. Throws when the numbers service can't be reached: for callers that retry. */
  releaseSlot(call_ref: string): Promise<void>;
  /** The same for callers that don't retry: what can't be released now is released by `retryReleases`. */
  releaseSlotEventually(call_ref: string): Promise<void>;
  /** Releases the slots that could not be released before. Throws when the numbers service still can't be reached. */
  retryReleases(): Promise<void>;
  /** Before this process goes: tries until nothing waits any more, or for `limitMs`; what is left then, its lease ends. Never rejects. */
  giveBackSlots(limitMs: number): Promise<void>;
}

/** Items of one request. */
const MAX_ITEMS = 200;
/** Releases that are waiting to be retried, at most; the leases of further slots run out by themselves. */
const MAX_WAITING = 10_000;
/** A process that goes tries this often. */
const LAST_TRIES_EVERY_MS = 250;

/** Releases of slots, and those that could not be made yet. */
function slotReleases(
  bus: Pick<Bus, "call">,
  clock: Clock,
): Pick<Peers, "releaseSlot" | "releaseSlotEventually" | "retryReleases" | "giveBackSlots"> {
  const release = batched(
    async (holders: string[]) => {
      await bus.call("numbers.releaseMany", { holders });
      return holders;
    },
    { maxItems: MAX_ITEMS },
  );
  const waiting = new Set<string>();
  const retryReleases = async (): Promise<void> => {
    for (const holders of chunks([...waiting], { maxItems: MAX_ITEMS })) {
      await bus.call("numbers.releaseMany", { holders });
      for (const holder of holders) waiting.delete(holder);
    }
  };
  return {
    async releaseSlot(call_ref) {
      await release(call_ref);
    },
    async releaseSlotEventually(call_ref) {
      try {
        await release(call_ref);
      } catch {
        if (waiting.size < MAX_WAITING) waiting.add(call_ref);
      }
    },
    retryReleases,
    async giveBackSlots(limitMs) {
      for (const from = clock.monotonicMs(); waiting.size > 0 && clock.monotonicMs() - from < limitMs;) {
        await within(clock, limitMs, retryReleases()).catch(() => undefined);
        if (waiting.size > 0) await clock.wait(LAST_TRIES_EVERY_MS);
      }
    },
  };
}

/** The other services, through the bus of this process. `lease_seconds`: life of a lead's lease. */
export function createPeers(bus: Bus, lease_seconds: number, clock: Clock): Peers {
  const prepare = batched(
    async (calls: Preparation[]) => (await bus.call("conversation.prepareMany", { calls })).results,
    { maxItems: MAX_ITEMS, bytesOf: jsonBytes },
  );
  return {
    ...slotReleases(bus, clock),
    isBlacklisted: batched(
      async (pairs: ListedPair[]) => {
        const { listed } = await bus.call("blacklist.check", { pairs });
        const clear = listed.length === pairs.length && listed.every((answer) => typeof answer === "boolean");
        return clear ? listed : fail("DEPENDENCY_DOWN", "The blacklist's answer does not fit what was asked.");
      },
      { maxItems: MAX_ITEMS },
    ),
    async prepareConversation(call) {
      const { prepared, refusal } = await prepare(call);
      return (
        prepared ??
        fail(
          codeOf({ type: refusal?.code }),
          refusal?.message ?? "The conversation service gave no address for the call.",
        )
      );
    },
    renewLease: ({ lead_id, claim_no }) => bus.call("leads.extend", { lead_id, claim_no, lease_seconds }),
    renewSlotLease: batched(async (lines: SlotLease[]) => (await bus.call("numbers.keepMany", { lines })).kept, {
      maxItems: MAX_ITEMS,
    }),
  };
}
