import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { errorForLog } from "../../shared/process/log.ts";
import { startLoop, type Loop } from "../../shared/time/loop.ts";
import { recoverExpiredLeases } from "./attempts/lost-leases.ts";
import { tellOwedCallEnds } from "./attempts/owed-call-ends.ts";
import type { LeadDeps } from "./deps.ts";
import type { ErasurePart } from "./erasure/erasure-part.ts";
import type { EventPart } from "./events/event-part.ts";
import { PUBLISH_GAP_MS } from "./events/publisher.ts";
import { enqueueOwedEvents } from "./owed-events.ts";
import { wakeParked } from "./parked-leads.ts";
import { giveMissingQueues } from "./queues/due-queues.ts";
import type { QueuesRepository } from "./queues/queues.repository.ts";
import type { RetentionPart } from "./retention/retention-part.ts";
import { expireUnjoined } from "./sessions/join-session.ts";

/** The sweeps of the leads service, which run until they are stopped; those that are asked for in between by name. */
export interface Sweeps {
  webhookEvents: Loop;
  callEnds: Loop;
  events: Loop;
  forwarder: Loop | null;
  erasures: Loop;
  retention: Loop;
  stop(): Promise<void>;
}

/** Starts the sweeps. `over`: codes of faults that are over. */
export function startSweeps(
  deps: LeadDeps & Pick<ServiceDeps, "env" | "storeClock">,
  queues: QueuesRepository,
  over: Set<string>,
  { publisher, forwarder }: Pick<EventPart, "publisher" | "forwarder">,
  { erasures, retention }: { erasures: Pick<ErasurePart, "pass">; retention: Pick<RetentionPart, "pass"> },
): Sweeps {
  const { clock, env, log, storeClock } = deps;
  const loops: Loop[] = [];
  const start = (name: string, pass: () => Promise<boolean>, minGapMs = 0): Loop => {
    const loop = startLoop({
      name,
      clock,
      intervalMs: env.SWEEP_INTERVAL_MS,
      minGapMs,
      pass: () => (storeClock.known() ? pass() : Promise.resolve(false)),
      onError: (error) =>
        log.error(
          { event: "loop.failed", loop: name, ...errorForLog(error) },
          "a sweep failed; it goes on at the next interval",
        ),
    });
    loops.push(loop);
    return loop;
  };
  const named = {
    webhookEvents: start("reports", () => enqueueOwedEvents(deps)),
    callEnds: start("call ends", () => tellOwedCallEnds(deps)),
    events: start("events", () => publisher.pass(), PUBLISH_GAP_MS),
    erasures: start("erasures", () => erasures.pass(deps)),
    retention: start("retention", () => retention.pass(deps)),
    // no gap of its own: what it is woken by comes at those of the publisher
    forwarder: forwarder && start("jetstream", () => forwarder.pass()),
  };
  start("lost leases", () => recoverExpiredLeases(deps));
  start("sessions", () => expireUnjoined(deps));
  start("parked leads", () => wakeParked(deps, over));
  start("queues", () => giveMissingQueues(queues));
  return {
    ...named,
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
