import type { ServiceDeps } from "../../shared/bus.ts";
import { remembered, type Remembered } from "./memory/short-lived-cache.ts";
import { createAgenda, type Agenda } from "./memory/queue-schedule.ts";
import { createFacts, REMEMBERED_MS, type FactsOf } from "./admission-inputs.ts";
import { newTurns, type Supply, type Turns } from "./fairness/fair-shares.ts";
import { createPace, type Pace } from "./fairness/aimd-budget.ts";
import type { RateWindows } from "./limits/rate-windows.repository.ts";
import { createSpokenFor, type SpokenFor } from "./limits/in-flight-reservations.ts";

/** What the steps of a pass share. All of it may be lost: it is what this process happens to know. */
export interface Works {
  ground: ServiceDeps;
  rates: RateWindows;
  facts: FactsOf;
  agenda: Agenda;
  turns: Turns;
  pace: Pace;
  spoken: SpokenFor;
  /** Parties (facts.ts partyOf, as JSON) that were refused a line a moment ago. */
  lineless: Remembered<true>;
  /** How many due leads the last look at a queue found. */
  yields: Remembered<number>;
  inFlight: Remembered<Supply["in_flight"]>;
}

/** How soon a party without a free line asks again, should no event tell of one. */
export const LINELESS_MS = 1000;
/** How old the count of leads under way may be. */
const IN_FLIGHT_MS = 1000;
const MAX_PARTIES = 10_000;
const YIELD_MS = 2000;
const MAX_QUEUES = 50_000;

/** The works of one process. */
export const createWorks = (ground: ServiceDeps, rates: RateWindows): Works => ({
  ground,
  rates,
  facts: createFacts(ground, rates, REMEMBERED_MS),
  agenda: createAgenda(),
  turns: newTurns(),
  pace: createPace(ground.env.SCHEDULER_BATCH),
  spoken: createSpokenFor(),
  lineless: remembered<true>(ground.clock, LINELESS_MS, MAX_PARTIES),
  yields: remembered<number>(ground.clock, YIELD_MS, MAX_QUEUES),
  inFlight: remembered<Supply["in_flight"]>(ground.clock, IN_FLIGHT_MS, 1),
});
