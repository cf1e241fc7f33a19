import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { CalleeCap } from "../../../shared/contracts/merchants.ts";
import { calm, drawFaults, type Faults, type Tally } from "../checks/faults.ts";
import { Carrier } from "../actors/carrier.ts";
import { planClockSteps } from "./clock-steps.ts";
import { connectCarrier, deploy } from "./deployment.ts";
import { InvariantChecker, type Violation } from "../checks/invariant-checker.ts";
import { Database } from "./database.ts";
import { unfinishedWork } from "../checks/unfinished-work.ts";
import {
  CAP_MUTATIONS,
  LOAD_MUTATIONS,
  MUTATIONS,
  NUMBER_OF_MANY,
  OWNER_MUTATIONS,
  SPEND_MUTATIONS,
  WEATHER,
  WISH_FORGOTTEN,
  WISH_MUTATIONS,
} from "../checks/mutations.ts";
import { Operators } from "../actors/operators.ts";
import { planNumberOwners, settleNumberOwners } from "../actors/number-owners.ts";
import { Platform } from "../actors/platform.ts";
import { seeded, steady } from "./random.ts";
import { Stage } from "./process.ts";
import { Receiver } from "../actors/receiver.ts";
import { playLoad, type LoadFigures } from "./steady-load.ts";
import { playRoad, ROAD_LIMITS, type RoadNotes } from "./costed-road.ts";
import { setScene, type CostRun, type Load, type Scene } from "./scene.ts";
import { SimBus } from "./bus.ts";
import { Runaway, World } from "./world.ts";

/** The outcome of one run. */
export interface Outcome {
  seed: number;
  violations: Violation[];
  tally: Tally;
  hash: number;
  steps: number;
  virtualSeconds: number;
  trace: string[];
  /** Of a steady load. */
  figures: LoadFigures | null;
  /** Of a road whose costs are counted. */
  notes: RoadNotes | null;
}

/** How a run is made. `mutation`: one of mutations.ts. */
export interface RunHow {
  traced?: boolean;
  mutation?: string | undefined;
  load?: Load | undefined;
  /** The costs of one lead's road are counted. */
  costs?: CostRun | undefined;
  /** The cap on calls per callee of every merchant; absent: none. */
  cap?: CalleeCap | undefined;
  /** The spend ceiling of every merchant and reseller; absent: none. */
  ceiling?: SpendCeiling | undefined;
  /** Every callee who talks to us asks not to be called again. */
  wishes?: boolean;
  /** Two resellers and admins quarrel over phone numbers, through two numbers services. */
  owners?: boolean;
}

/** Days to begin on: plain ones, and the hours of daylight saving's beginning and end in several zones. */
const DAYS = [
  "2026-11-21T10:00:00Z",
  "2026-07-01T21:30:00Z",
  "2026-03-29T00:57:00Z",
  "2026-10-25T00:57:00Z",
  "2026-11-01T05:57:00Z",
  "2026-03-08T06:57:00Z",
  "2026-10-03T15:27:00Z",
];
const STORM_MIN_MS = 30_000;
const STORM_MAX_MS = 120_000;
/** After the storm all must be quiet within this virtual time; leaps over idle hours not counted. */
const QUIET_WITHIN_MS = 45 * 60_000;
const LOOK_EVERY_MS = 4000;
/** Idle spans longer than this are leapt over. */
const LEAP_FROM_MS = 20_000;
const LEAP_SHORT_OF_MS = 3000;
/** Leases of slots that were not released end within this time. */
const LEASES_END_MS = 700_000;
/** Chance of outages is drawn apart from all other. */
const OUTAGES = 0x5eed_0075;
const OUTAGE = 0.3;
const OUTAGE_MIN_MS = 3000;
const OUTAGE_MAX_MS = 60_000;
const MAX_STEPS = 600_000;

function sceneFor(seed: number, how: RunHow): Scene {
  const random = how.costs ? steady(seed) : seeded(seed);
  const world = new World(random, new Date("2026-01-01T00:00:00Z"), how.traced ?? false);
  world.now = Date.parse(world.random.pick(DAYS));
  world.begin();
  const stage = new Stage(world);
  stage.writeMs = how.load?.write_ms ?? 0;
  stage.farMs = how.load?.far_ms ?? 0;
  const all = {
    ...MUTATIONS,
    ...LOAD_MUTATIONS,
    ...CAP_MUTATIONS,
    ...SPEND_MUTATIONS,
    ...WISH_MUTATIONS,
    ...OWNER_MUTATIONS,
  };
  const change = how.mutation === undefined ? undefined : all[how.mutation];
  if (how.mutation !== undefined && !change)
    throw new Error(`no mutation is called ${how.mutation}; there are ${Object.keys(all).join(", ")}`);
  return {
    stage,
    database: new Database(
      () => new Date(world.now + stage.storeAheadMs),
      how.mutation === NUMBER_OF_MANY ? ["one_owner"] : [],
    ),
    bus: new SimBus(stage),
    carrier: new Carrier(stage),
    receiver: new Receiver(stage),
    processes: [],
    mediaPorts: [],
    callsPerSecond: 0,
    placementGraceMs: 0,
    mutation: how.mutation,
    ceiling: how.ceiling,
    load: how.load,
    costs: how.costs,
    onStatement: null,
    modelDecides: () => random.chance(0.4),
    owners: how.owners ?? false,
    onWrite: () => undefined,
    change: change ?? ((o) => o),
  };
}

/** A lead that was due for so long, while nothing was in work, waits for a spend ceiling. */
const CEILING_AFTER_MS = 60_000;
const DAY_MS = 86_400_000;

/** When a lead is due that waits; for its spend ceiling: when the day ends. */
function dueOf({ ceiling, stage: { world } }: Scene, due_at: unknown): unknown {
  if (ceiling === undefined || !(due_at instanceof Date) || due_at.getTime() > world.now - CEILING_AFTER_MS)
    return due_at;
  return new Date((Math.floor(world.now / DAY_MS) + 1) * DAY_MS);
}

/** The next instant at which anything is due, when no lead, call or slot is in work; null: one is. */
function idleUntil(scene: Scene): number | null {
  const { database, carrier } = scene;
  if (carrier.live().length > 0 || database.docs("calls").some((c) => c["state"] !== "VOID" && !c["closed_at"]))
    return null;
  const leads = database.docs("leads");
  if (leads.some((l) => l["status"] === "PROCESSING" || l["report_due_at"])) return null;
  const due = [
    ...leads.map((l) => dueOf(scene, l["due_at"])),
    ...database.docs("deliveries").map((d) => d["next_try_at"]),
  ]
    .filter((d) => d instanceof Date)
    .map(Number);
  return due.length === 0 ? null : Math.min(...due);
}

/** Ends the storm: no fault any more, every process runs, everything is switched on. */
function calmDown(scene: Scene, operators: Operators): void {
  const { stage, processes } = scene;
  stage.faults = calm();
  Object.assign(stage.awayUntil, { store: 0, bus: 0 });
  stage.world.tell("run", "faults off");
  for (const process of processes) {
    process.pausedUntil = Math.min(process.pausedUntil, stage.world.now + 1);
    stage.revive(process);
  }
  operators.allOn();
  settleNumberOwners(scene);
}

/** In some runs database or bus is away for everybody, for longer than any lease now and then. */
function planOutages({ stage }: Scene, seed: number, stormMs: number): void {
  const random = seeded(seed ^ OUTAGES);
  for (const what of ["store", "bus"] as const) {
    if (!random.chance(OUTAGE)) continue;
    const ms = random.between(OUTAGE_MIN_MS, OUTAGE_MAX_MS);
    stage.world.after(random.between(OUTAGE_MIN_MS, stormMs * 0.8), null, () => {
      stage.count(`${what} away`);
      stage.world.tell("run", `${what} away for ${Math.round(ms / 1000)} s`);
      stage.awayUntil[what] = stage.world.now + ms;
    });
  }
}

async function play(
  scene: Scene,
  platform: Platform,
  operators: Operators,
  checker: InvariantChecker,
  { seed, weather }: { seed: number; weather: Partial<Faults> | undefined },
): Promise<void> {
  const { world } = scene.stage;
  const storm = world.random.between(STORM_MIN_MS, STORM_MAX_MS);
  const stormEnds = world.now + storm;
  operators.plan(storm * 0.9);
  if (scene.owners) planNumberOwners(scene, platform, storm * 0.9);
  planOutages(scene, seed, storm);
  planClockSteps(scene, seed, storm);
  world.after(1000, null, () => {
    scene.stage.faults = { ...drawFaults(world.random), ...weather };
  });
  await world.run(() => world.now >= stormEnds, MAX_STEPS);

  calmDown(scene, operators);
  let patienceEnds = world.now + QUIET_WITHIN_MS;
  let over = false;
  const look = (): void => {
    over = unfinishedWork(scene, operators.deeds) === null || world.now > patienceEnds;
    const next = idleUntil(scene);
    if (!over && next !== null && next > world.now + LEAP_FROM_MS) {
      patienceEnds += next - LEAP_SHORT_OF_MS - world.now;
      world.leap(next - LEAP_SHORT_OF_MS);
    }
    world.after(LOOK_EVERY_MS, null, look);
  };
  look();
  await world.run(() => over, MAX_STEPS);
  const left = unfinishedWork(scene, operators.deeds);
  if (left !== null) {
    checker.broken("liveness", `not quiet ${QUIET_WITHIN_MS / 60_000} min after the last fault: ${left}`);
    return;
  }
  world.leap(world.now + LEASES_END_MS);
  checker.final(operators.deeds);
}

/** One run: a storm of faults, then calm, then the checks. The same seed gives the same run, to the last step. */
export async function simulate(seed: number, how: RunHow = {}): Promise<Outcome> {
  const scene = sceneFor(seed, how);
  const { stage } = scene;
  const { world } = stage;
  setScene(scene);
  const platform = new Platform(stage, scene.bus, {
    cap: how.cap,
    ceiling: how.ceiling,
    wishes: how.wishes ? (how.mutation === WISH_FORGOTTEN ? "forgotten" : "kept") : undefined,
    two: scene.owners,
    limits: how.costs ? ROAD_LIMITS : undefined,
  });
  const operators = new Operators(scene, platform);
  const checker = new InvariantChecker(scene, platform);
  deploy(scene);
  connectCarrier(scene, platform.gateway);
  let figures: LoadFigures | null = null;
  let notes: RoadNotes | null = null;
  try {
    if (how.costs) {
      notes = await playRoad(scene, platform, how.costs);
      const left = unfinishedWork(scene, operators.deeds);
      if (left !== null) checker.broken("liveness", left);
    } else if (how.load) figures = await playLoad(scene, platform, how.load);
    else await play(scene, platform, operators, checker, { seed, weather: WEATHER[how.mutation ?? ""] });
    if (how.load) checker.dials(operators.deeds);
  } catch (error) {
    checker.broken(
      error instanceof Runaway ? "liveness" : "simulator",
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    );
  } finally {
    for (const what of new Set(stage.wrong)) checker.broken("simulator", what);
    setScene(null);
  }
  return {
    seed,
    violations: checker.violations,
    tally: stage.tally,
    hash: world.hash >>> 0,
    steps: world.steps,
    virtualSeconds: Math.round(world.elapsed / 1000),
    trace: world.trace ?? [],
    figures,
    notes,
  };
}
