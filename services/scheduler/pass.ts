import pLimit from "p-limit";
import { chunksApart } from "../../shared/batching.ts";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { jsonBytes } from "../../shared/json.ts";
import { crashPoint } from "../../shared/process/crash.ts";
import { createDispositions, type ApplyDispositions, type DispositionDeps, type StageResult } from "./dispositions.ts";
import type { PassBudget } from "./fairness/aimd-budget.ts";
import type { InFlightReservations } from "./limits/in-flight-reservations.ts";
import type { QueueSchedule } from "./memory/queue-schedule.ts";
import { admitLeads, type AdmitLeadsDeps } from "./stages/admit-leads.ts";
import { admitQueues, type AdmitQueuesDeps } from "./stages/admit-queues.ts";
import { claim, claimBytes, type WonLead } from "./stages/claim.ts";
import type { Expiry } from "./stages/expire-leads.ts";
import { handOver, orderOf } from "./stages/hand-over.ts";
import { pickFairly, poolsOf, type PickFairlyDeps } from "./stages/pick-fairly.ts";
import { reserveSlots, slotRequests, type ReservedLead, type ReserveSlotsDeps } from "./stages/reserve-slots.ts";
import { createScan, dueQueues, type ScanDeps } from "./stages/scan.ts";

/** What the stages of a pass need, taken together; each stage names its own part. */
export type PassDeps = Pick<ServiceDeps, "random"> &
  ScanDeps &
  AdmitQueuesDeps &
  PickFairlyDeps &
  AdmitLeadsDeps &
  ReserveSlotsDeps &
  DispositionDeps & {
    schedule: QueueSchedule;
    reservations: Pick<InFlightReservations, "add" | "passTook">;
    budget: PassBudget;
    expiry: Pick<Expiry, "ofDropped">;
  };

/** Full scans that edits ask for are at least this far apart. */
const SCAN_GAP_MS = 200;
/** Slot requests, claims and offers made side by side. Several dialers share a pass. */
const REQUESTS_AT_ONCE = 10;
const CLAIMS_AT_ONCE = 2;
const OFFERS_AT_ONCE = 4;
/** Orders offered to one dialer in one request. */
const ORDERS_PER_OFFER = 50;

/** The stages of one pass, from due queues to orders at the dialer. `budget`: most leads it may hand over. */
function pipeline(deps: PassDeps, apply: ApplyDispositions): (budget: number, full: boolean) => Promise<void> {
  const { clock, env, schedule, reservations, expiry } = deps;

  /** The leads of a stage that go on; what it deferred and dropped is applied. */
  const goOn = async <T>(result: StageResult<T>): Promise<T[]> => {
    await apply(result);
    return result.ok;
  };

  const offer = async (won: readonly WonLead[], beganMs: number): Promise<void> => {
    reservations.passTook(clock.monotonicMs() - beganMs);
    const handed = await handOver(won, deps);
    const nowMs = clock.monotonicMs();
    for (const { offered, taken } of handed.offers) deps.budget.record(offered, taken, nowMs);
    for (const { admitted } of handed.ok) for (const pool of poolsOf(admitted.open)) reservations.add(pool, nowMs);
    await apply(handed);
  };

  /** Offers claimed leads as soon as their own claim is answered, the small ones first: a tenant's large payloads keep no other's lead waiting. Throws the first claim's error, after the others were offered. */
  const claimAndOffer = async (reserved: readonly ReservedLead[], beganMs: number): Promise<void> => {
    const [claiming, offering] = [pLimit(CLAIMS_AT_ONCE), pLimit(OFFERS_AT_ONCE)];
    const claims = chunksApart(reserved, { maxItems: Number.POSITIVE_INFINITY, bytesOf: claimBytes });
    const made = claims.map(async (some) => {
      const claimed = await claiming(() => claim(some, deps));
      crashPoint(env, "K1");
      const now = clock.now();
      const bytesOf = (won: WonLead): number => jsonBytes(orderOf(won, now));
      const offers = chunksApart(claimed.ok, { maxItems: ORDERS_PER_OFFER, bytesOf });
      await Promise.all([offering.map(offers, (won) => offer(won, beganMs)), apply(claimed)]);
    });
    const failed = (await Promise.allSettled(made)).find((one) => one.status === "rejected");
    if (failed) throw failed.reason;
  };

  return async (budget, full) => {
    const beganMs = clock.monotonicMs();
    const due = await dueQueues(schedule.takeDue(clock.now().getTime()), deps);
    await apply({ deferred: due.failed, dropped: [] });
    if (due.queues.length === 0) return;

    const queues = await admitQueues({ queues: due.queues, full }, deps);
    const picked = await pickFairly({ queues: await goOn(queues), budget }, deps);
    const leads = await admitLeads(await goOn(picked), deps);
    const admitted = await goOn(leads);

    const requests = slotRequests(admitted, deps);
    const reserve = (request: (typeof requests)[number]): Promise<ReservedLead[]> =>
      reserveSlots(request, deps).then(goOn);
    const reserved = (await pLimit(REQUESTS_AT_ONCE).map(requests, reserve)).flat();

    if (reserved.length > 0) {
      crashPoint(env, "K2");
      await claimAndOffer(reserved, beganMs);
    }

    const expired = leads.dropped.flatMap((d) => (d.outcome === "EXPIRED" ? [d.inputs] : []));
    await apply(await expiry.ofDropped(expired));
  };
}

/** The passes over these parts. Between full scans, each SCHEDULER_INTERVAL_MS, a pass serves only the queues that are due. */
export function createPasses(deps: PassDeps) {
  const { clock, env, schedule, budget } = deps;
  const scan = createScan(deps);
  const serve = pipeline(deps, createDispositions(deps));
  let scannedAt = Number.NEGATIVE_INFINITY;
  let scanWanted = true;

  const nextScanAt = (): number =>
    scannedAt + (scanWanted ? Math.min(SCAN_GAP_MS, env.SCHEDULER_INTERVAL_MS) : env.SCHEDULER_INTERVAL_MS);

  return {
    /** The next pass makes a full scan, whatever is scheduled. */
    scanSoon(): void {
      scanWanted = true;
    },
    unread: scan.unread,
    /** Makes one pass; the milliseconds after which the next one is wanted. */
    async run(): Promise<number> {
      const began = clock.monotonicMs();
      const full = began >= nextScanAt();
      if (full) {
        scannedAt = began;
        scanWanted = false;
        await scan.run();
      }
      const available = budget.available(began);
      if (available > 0) await serve(available, full);
      const nowMs = clock.monotonicMs();
      const dueAt = schedule.nextDueAt();
      const untilDue = dueAt === null ? Number.POSITIVE_INFINITY : Math.max(0, dueAt - clock.now().getTime());
      const backsOffUntil = budget.backsOffUntil(nowMs);
      const untilWork = backsOffUntil === null ? untilDue : Math.max(untilDue, backsOffUntil - nowMs);
      return Math.max(0, Math.min(nextScanAt() - nowMs, untilWork));
    },
  };
}
