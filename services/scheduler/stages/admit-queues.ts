import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { Cache } from "../../../shared/cache.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { partyKey, partyOf, type AdmissionInputs, type QueueInputs } from "../admission-inputs.ts";
import { admitQueue, type Admission } from "../admission/admission.ts";
import type { LimitState, SlotAvailability } from "../admission/gates.ts";
import type { Deferred, StageResult } from "../dispositions.ts";
import { calleeZonesOf, type Queue } from "../memory/queue-schedule.ts";
import type { QueueWatch } from "../memory/queue-watch.ts";

/** A queue whose leads may be read: no gate defers all of them. */
export interface OpenQueue {
  inputs: QueueInputs;
  rate: LimitState | null;
  carrier: LimitState | null;
  /** Its rate limit is used up, so only callees on its whitelist may be called. */
  whitelisted_only: boolean;
}

/** What the stage needs. */
export interface AdmitQueuesDeps extends Pick<ServiceDeps, "clock" | "env" | "storeClock"> {
  inputs: Pick<AdmissionInputs, "ofQueues" | "limitsOf">;
  /** Parties that were refused a slot a moment ago, by partyKey. */
  slotRefusals: Pick<Cache<true>, "get">;
  watch: Pick<QueueWatch, "judged">;
}

/** The queues to judge. `full`: the pass made a full scan. */
export interface QueuesToAdmit {
  queues: readonly Queue[];
  full: boolean;
}

type Closed = Extract<Admission, { verdict: "deferred" }>;

/** What is said of a party that was refused a slot a moment ago; its numbers were not counted. */
const NO_SLOT: SlotAvailability = { numbers: 1, free_lines: 0, home: null };

/** The gates whose inputs are read only for queues that all others let pass. */
const LIMIT_GATES = ["rate_limit", "carrier_limit"] as const;

/**
 * The admission of a queue by the gates that need no limit. While a step of the database's clock is held off, either time may be the right one: nobody is
 * called outside the window by the one or the other, and when that ends is not known.
 */
function admissionAt(
  { queue: { queue }, plan, pauses, ceilings, spend }: QueueInputs,
  slots: SlotAvailability | null,
  now: Date,
  held: { ahead_ms: number } | null,
): Admission {
  const callee_zones = calleeZonesOf(queue) ?? [];
  const judge = (at: Date): Admission =>
    admitQueue({
      at,
      plan,
      pauses,
      callee_zones,
      ceilings: ceilings ?? null,
      ...(spend ? { spend } : {}),
      slots,
      rate: null,
      carrier: null,
    });
  const verdict = judge(now);
  if (held === null || verdict.verdict !== "admitted") return verdict;
  const other = judge(plusMs(now, held.ahead_ms));
  return other.verdict === "deferred" ? { ...other, until: null } : verdict;
}

/** When a closed queue is judged again: when its gate may open, if that is soon; else a later full scan finds it. */
function deferral({ queue: { queue }, plan }: QueueInputs, { gate, until }: Closed, soon: Date): Deferred {
  if (gate === "line" && plan?.configuration)
    return { kind: "slot", queue, provider: plan.configuration.calling_provider };
  return { kind: "queue", queue, at: until !== null && until <= soon ? until.getTime() : null };
}

/**
 * Judges queues by the gates that defer all their leads; of a closed queue no lead is read or written. A full scan also
 * looks for callees on the whitelist of a used up rate limit.
 */
export async function admitQueues(
  { queues, full }: QueuesToAdmit,
  { clock, env, inputs, slotRefusals, storeClock, watch }: AdmitQueuesDeps,
): Promise<StageResult<OpenQueue>> {
  const now = clock.now();
  const soon = plusMs(now, 2 * env.SCHEDULER_INTERVAL_MS);
  const ok: OpenQueue[] = [];
  const deferred: Deferred[] = [];
  const close = (queue: QueueInputs, verdict: Closed): void => {
    watch.judged(queue.queue.queue, verdict.gate);
    deferred.push(deferral(queue, verdict, soon));
  };

  const admitted: QueueInputs[] = [];
  for (const q of await inputs.ofQueues(queues)) {
    if (q.failed !== undefined) {
      deferred.push({ kind: "failed_queue", queue: q.queue.queue, error: q.failed });
      continue;
    }
    const refused = q.plan?.configuration && slotRefusals.get(partyKey(partyOf(q.queue, q.plan)));
    const slots = refused ? NO_SLOT : null;
    const verdict = admissionAt(q, slots, now, storeClock.held());
    if (verdict.verdict === "deferred") close(q, verdict);
    else admitted.push(q);
  }

  const limits = await inputs.limitsOf(admitted);
  admitted.forEach((q, i) => {
    const { rate, carrier } = limits[i] ?? { rate: null, carrier: null };
    const known = { at: now, plan: q.plan, pauses: q.pauses, slots: null };
    const verdict = admitQueue({ ...known, rate, carrier }, LIMIT_GATES);
    if (verdict.verdict !== "deferred") {
      watch.judged(q.queue.queue, "open");
      ok.push({ inputs: q, rate, carrier, whitelisted_only: false });
      return;
    }
    close(q, verdict);
    const whitelist = q.plan?.configuration?.rate_limit_whitelist ?? [];
    if (!full || verdict.gate !== "rate_limit" || whitelist.length === 0) return;
    if (admitQueue({ ...known, rate: null, carrier }, LIMIT_GATES).verdict === "admitted")
      ok.push({ inputs: q, rate, carrier, whitelisted_only: true });
  });
  return { ok, deferred, dropped: [] };
}
