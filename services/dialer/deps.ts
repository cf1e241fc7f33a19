import type { Bus } from "../../shared/bus.ts";
import type { Cache } from "../../shared/cache.ts";
import type { Clock } from "../../shared/time/clock.ts";
import type { Env } from "../../shared/process/env.ts";
import type { Log } from "../../shared/process/log.ts";
import type { RecordingStores } from "../../shared/storage/recordings.ts";
import type { Background } from "./background.ts";
import type { Calls } from "./call/calls.repository.ts";
import type { CarrierEvents } from "./callbacks/carrier-events.repository.ts";
import type { AnswerDocument } from "./carriers/carrier-port.ts";
import type { Carriers } from "./carriers/carrier-registry.ts";
import type { InboundCalls } from "./inbound/inbound-calls.repository.ts";
import type { CarrierBreakers } from "./outbound/carrier-circuit-breaker.ts";
import type { PermitPace } from "./outbound/permit-pace.ts";
import type { PreCheckClient } from "./outbound/pre-checks/pre-check-client.ts";
import type { Peers } from "./peers.ts";
import type { Recordings } from "./recordings/recordings.repository.ts";

/** Time, and a place to say what happened. */
export interface Clocked {
  clock: Clock;
  log: Log;
}

/** The deployment's settings, and the name of this node. */
export interface Configured {
  env: Env;
  nodeId: string;
}

/** Aborted from SIGTERM on: no phone may ring any more. */
export interface Draining {
  draining: AbortSignal;
}

/** Work that goes on after its action has answered. */
export interface InBackground {
  background: Background;
}

/** The calls of this dialer. */
export interface CallStore {
  calls: Calls;
}

/** Callbacks of the carriers, as received. */
export interface CallbackStore {
  callbacks: CarrierEvents;
}

/** Recordings of calls, and the worker that fetches and uploads them. */
export interface RecordingStore {
  recordings: Recordings;
  /** Makes the worker check for due recordings soon. */
  wakeRecordings(): void;
}

/** Where the files of recordings are kept. */
export interface RecordingFiles {
  stores: RecordingStores;
}

/** Inbound calls, and what this node answered lately, by the call's id. */
export interface InboundStore {
  inboundCalls: InboundCalls;
  inboundAnswers: Cache<Promise<AnswerDocument>>;
}

/** The carrier accounts. */
export interface WithCarriers {
  carriers: Carriers;
}

/** Circuit breakers of the carrier accounts. */
export interface WithBreakers {
  breakers: CarrierBreakers;
}

/** The other services: the bus, and what many attempts ask at the same time. */
export interface WithPeers {
  bus: Bus;
  peers: Peers;
}

/** What the way to a dial needs besides. */
export interface Dialling {
  permitPace: PermitPace;
  preCheckClient: PreCheckClient;
}

/** What follows a call from the dial to its settlement. */
export type CallDeps = Clocked &
  Configured &
  Draining &
  InBackground &
  CallStore &
  RecordingStore &
  WithCarriers &
  WithPeers;
