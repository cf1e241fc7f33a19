import type { SpendCeiling } from "../../../shared/contracts/records/spend.ts";
import type { Carrier } from "../actors/carrier.ts";
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
