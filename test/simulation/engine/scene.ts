import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { Carrier, Person } from "../actors/carrier.ts";
import type { MediaServerOptions } from "../../../services/conversation/transport/media-server.ts";
import type { Database, Operation } from "./database.ts";
import type { Process, SimLife, Stage } from "./process.ts";
import type { Receiver } from "../actors/receiver.ts";
import type { SimBus } from "./bus.ts";

/** A media port that a conversation process holds open. */
export interface MediaPort {
  life: SimLife;
  options: MediaServerOptions<never>;
}

/** A steady load on one limit, with a database that takes so long to acknowledge a write. */
export interface Load {
  write_ms: number;
  /** The answer to a reading of the database's clock takes so much longer. */
  far_ms?: number;
  limit: { max_calls: number; window_seconds: number };
  /** Calls a second of the account; 0: no limit. */
  calls_per_second: number;
  /** Windows that are watched. */
  windows: number;
  /** Probability that a process dies at a step. */
  crash: number;
}

/** The road of one lead in calm weather, or none; all that goes to the database and over the bus meanwhile is noted. */
export interface CostRun {
  /** Who is called; null: nobody, the deployment idles. */
  person: Person["what"] | null;
  /** How often a person who answers speaks. */
  turns: number;
  /** The lead has a URL for webhook events. */
  reports: boolean;
}

/** Everything the replaced modules (ports/) stand on: the one simulation that runs in this thread. */
export interface Scene {
  stage: Stage;
  database: Database;
  bus: SimBus;
  carrier: Carrier;
  receiver: Receiver;
  processes: Process[];
  mediaPorts: MediaPort[];
  /** Calls a second of the carrier's account; 0: no limit. */
  callsPerSecond: number;
  /** How long a carrier is asked for a call whose request was never answered, ms. */
  placementGraceMs: number;
  /** The mutation that runs. */
  mutation: string | undefined;
  /** The spend ceiling of every merchant and reseller. */
  ceiling: SpendCeiling | undefined;
  /** A steady load in place of a storm. */
  load: Load | undefined;
  /** What is counted of the road of one lead, in place of a storm. */
  costs: CostRun | undefined;
  /** Hears of each statement for the database, and of what it answered; null: nobody does. */
  onStatement: ((what: string, asked: object, answer: unknown) => void) | null;
  /** Whether the language model decides now, or goes on talking. */
  modelDecides(): boolean;
  /** Resellers and admins quarrel over phone numbers. */
  owners: boolean;
  /** Sees every write right before it is applied. */
  onWrite(operation: Operation): void;
  /** What a mutation makes of an operation at the database; null: it is left out. */
  change(operation: Operation): Operation | null;
}

let scene: Scene | null = null;

/** The running simulation. */
export function theScene(): Scene {
  if (!scene) throw new Error("no simulation runs in this thread");
  return scene;
}
export const setScene = (to: Scene | null): void => {
  scene = to;
};

/** The life whose code runs at the moment. */
export function currentLife(): SimLife {
  const life = theScene().stage.world.current;
  if (!life) throw new Error("a process's part was made outside of a process");
  return life as SimLife; // every life of the stage is one of these
}
