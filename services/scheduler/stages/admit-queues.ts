import { plusMs } from "../../../shared/clock.ts";
import type { Plan } from "../../../shared/contracts/config.ts";
import type { ConfigurationRecord } from "../../../shared/contracts/configuration.ts";
import { errorForLog } from "../../../shared/log.ts";
import { admitQueue, type Admission } from "../admission/admission.ts";
import type { Queue } from "../memory/queue-schedule.ts";
import { partyOf, type QueueFacts } from "../admission-inputs.ts";
import type { LineFacts, RingFacts } from "../admission/gates.ts";
import { LINELESS_MS, type Works } from "../deps.ts";

/** A queue whose leads may be read: no gate holds all of them. */
export interface Open {
  facts: QueueFacts;
  queue: Queue;
  rate: RingFacts | null;
  carrier: RingFacts | null;
  /** Its rate limit is used up, so only callees on its whitelist may be called. */
  whitelisted_only: boolean;
}

/** An open queue with all that a call needs. */
export interface Dialable {
  plan: Plan;
  configuration: ConfigurationRecord;
}

/** A queue that breaks something is left alone for so long. */
export const ASIDE_MS = 5000;

type Held = Extract<Admission, { verdict: "hold" }>;

/** Said of a party that was refused a line a moment ago; its numbers were not counted. */
const NO_LINE: LineFacts = { numbers: 1, free_lines: 0, home: null };

/** What a thrown thing means for a queue: it is put aside, so that it neither spins nor stands in the way of others. */
export function putAside({ ground, agenda }: Works, queue: string, error: unknown): void {
  agenda.putAside(queue, plusMs(ground.clock.now(), ASIDE_MS).getTime());
  ground.log.warn(
    { event: "queue.aside", queue, ...errorForLog(error) },
    "a queue could not be served; it is left alone for some seconds",
  );
}

const lineFacts = ({ lineless }: Works, { queue, plan }: QueueFacts): LineFacts | null =>
  plan?.configuration && lineless.get(JSON.stringify(partyOf(queue, plan))) ? NO_LINE : null;

/** The next look at a queue that is held: when its gate may open, if that is soon; else the next full scan comes by anyway. */
function sleep({ ground, agenda }: Works, { queue, plan }: QueueFacts, { gate, until }: Held, now: Date): void {
  const soon = plusMs(now, 2 * ground.env.SCHEDULER_INTERVAL_MS);
  if (gate === "line" && plan?.configuration)
    agenda.awaitLine(queue.queue, plan.configuration.calling_provider, plusMs(now, LINELESS_MS).getTime());
  else agenda.learn(queue.queue, until !== null && until <= soon ? until.getTime() : null);
}

/** The gates whose facts are read only for queues that all others let pass. */
const RING_GATES = ["rate_limit", "carrier_limit"] as const;

/**
 * Judges queues by the gates that hold all their leads. Those that are held cost nothing more: they get their next instant, no lead is read or written. `thorough`: a full
 * scan, which also looks for callees on the whitelist of a used up rate limit.
 */
export async function judgeQueues(
  w: Works,
  queues: readonly Queue[],
  thorough: boolean,
): Promise<{ open: Open[]; held: QueueFacts[] }> {
  const now = w.ground.clock.now();
  const held: QueueFacts[] = [];
  const passed: QueueFacts[] = [];
  for (const facts of await w.facts.queues(queues)) {
    if (facts.failed !== undefined) {
      putAside(w, facts.queue.queue, facts.failed);
      continue;
    }
    const verdict = admitQueue({
      at: now,
      plan: facts.plan,
      pauses: facts.pauses,
      lines: lineFacts(w, facts),
      rate: null,
      carrier: null,
    });
    if (verdict.verdict === "hold") {
      held.push(facts);
      sleep(w, facts, verdict, now);
    } else passed.push(facts);
  }
  const rings = await w.facts.rings(passed);
  const open = passed.flatMap((facts, i): Open[] => {
    const { rate, carrier } = rings[i] ?? { rate: null, carrier: null };
    const verdict = admitQueue(
      { at: now, plan: facts.plan, pauses: facts.pauses, lines: null, rate, carrier },
      RING_GATES,
    );
    const made = { facts, queue: facts.queue, rate, carrier, whitelisted_only: false };
    if (verdict.verdict !== "hold") return [made];
    held.push(facts);
    sleep(w, facts, verdict, now);
    const listed = verdict.gate === "rate_limit" && (facts.plan?.configuration?.rate_limit_whitelist.length ?? 0) > 0;
    return thorough &&
      listed &&
      admitQueue({ at: now, plan: facts.plan, pauses: facts.pauses, lines: null, rate: null, carrier }, RING_GATES)
        .verdict === "admit"
      ? [{ ...made, whitelisted_only: true }]
      : [];
  });
  return { open, held };
}
