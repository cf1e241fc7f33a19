import { choose } from "./stages/pick-fairly.ts";
import { createExpiry } from "./stages/expire-leads.ts";
import { gateLeads } from "./stages/admit-leads.ts";
import { createScan, knownQueues } from "./stages/scan.ts";
import { judgeQueues } from "./stages/admit-queues.ts";
import { launch } from "./stages/hand-over.ts";
import type { Works } from "./deps.ts";

/** The passes of one scheduler. */
export interface Ticker {
  /** One pass: heads -> queues judged -> fair shares -> leads judged -> lines -> claims -> dialler. The milliseconds after which the next one is wanted. */
  pass(): Promise<number>;
  /** The next pass scans all queues, whatever is known of them. */
  scanSoon(): void;
}

/** Full scans that edits ask for are at least this far apart. */
const SCAN_GAP_MS = 200;

/** The passes over these works. Between full scans, each SCHEDULER_INTERVAL_MS, only the queues whose time has come are looked at. */
export function createTicker(w: Works): Ticker {
  const { ground, agenda, pace } = w;
  const scan = createScan(w);
  const expiry = createExpiry(w);
  let scanned = Number.NEGATIVE_INFINITY;
  let wanted = true;

  const scanAt = (): number =>
    scanned + (wanted ? Math.min(SCAN_GAP_MS, ground.env.SCHEDULER_INTERVAL_MS) : ground.env.SCHEDULER_INTERVAL_MS);

  async function serve(budget: number, thorough: boolean): Promise<void> {
    const queues = await knownQueues(w, agenda.take(ground.clock.now().getTime()));
    if (queues.length === 0) return;
    const { open, held } = await judgeQueues(w, queues, thorough);
    const chosen = open.length === 0 ? [] : await choose(w, open, budget);
    const { admitted, expired } = chosen.length === 0 ? { admitted: [], expired: [] } : await gateLeads(w, chosen);
    await launch(w, admitted);
    await expiry.run(
      held,
      expired.map((c) => c.open.facts),
    );
  }

  return {
    scanSoon() {
      wanted = true;
    },
    async pass() {
      const began = ground.clock.monotonicMs();
      const thorough = began >= scanAt();
      if (thorough) {
        scanned = began;
        wanted = false;
        await scan();
      }
      const budget = pace.budget(began);
      if (budget > 0) await serve(budget, thorough);
      const nowMs = ground.clock.monotonicMs();
      const next = agenda.next();
      const work = next === null ? Number.POSITIVE_INFINITY : Math.max(0, next - ground.clock.now().getTime());
      const rest = pace.restsUntil(nowMs);
      return Math.max(0, Math.min(scanAt() - nowMs, rest === null ? work : Math.max(work, rest - nowMs)));
    },
  };
}
