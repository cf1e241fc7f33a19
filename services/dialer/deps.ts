import type { ServiceDeps } from "../../shared/bus/bus.ts";
import type { Cache } from "../../shared/cache.ts";
import type { RecordingStores } from "../../shared/storage/recordings.ts";
import type { TrustWindow } from "../../shared/process/trust-window.ts";
import type { Background } from "./background.ts";
import type { Calls } from "./call/calls.repository.ts";
import type { Unwritten } from "./call/unwritten.ts";
import type { CarrierEvents } from "./callbacks/carrier-events.repository.ts";
import type { AnswerDocument } from "./carriers/carrier-port.ts";
import type { Carriers } from "./carriers/carrier-registry.ts";
import type { InboundCalls } from "./inbound/inbound-calls.repository.ts";
import type { CarrierBreakers } from "./outbound/carrier-circuit-breaker.ts";
import type { PermitPace } from "./outbound/permit-pace.ts";
import type { PreCheckClient } from "./outbound/pre-checks/pre-check-client.ts";
import type { Peers } from "./peers.ts";
import type { SpendLedgers } from "./spend/spend-ledgers.repository.ts";
import type { Recordings } from "./recordings/recordings.repository.ts";

/** Everything that the parts of the dialer are made of, put together once per process (composition.ts). */
export interface DialerParts extends Pick<
  ServiceDeps,
  "bus" | "clock" | "env" | "log" | "metrics" | "nodeId" | "storeClock" | "traces"
> {
  /** Aborted from SIGTERM on: no phone may ring any more. */
  draining: AbortSignal;
  /** Aborted when the calls are over and this process ends: recordings under way are left to others. */
  leaving: AbortSignal;
  background: Background;
  calls: Calls;
  /** What is known about calls and waits for the database. */
  unwritten: Unwritten;
  /** Whether this process may take another's silence for its death. */
  trust: TrustWindow;
  /** Callbacks of the carriers, as received. */
  callbacks: CarrierEvents;
  inboundCalls: InboundCalls;
  /** What this node answered to inbound calls lately, by the call's id. */
  inboundAnswers: Cache<Promise<AnswerDocument>>;
  spendLedgers: SpendLedgers;
  /** Spend ceilings that this process has told to be reached, by owner, period and what they limit. */
  toldCeilings: Cache<true>;
  recordings: Recordings;
  /** Makes the worker check for due recordings soon. */
  wakeRecordings(): void;
  /** Where the files of recordings are kept. */
  stores: RecordingStores;
  carriers: Carriers;
  breakers: CarrierBreakers;
  /** The other services, as many attempts ask them at the same time. */
  peers: Peers;
  permitPace: PermitPace;
  preCheckClient: PreCheckClient;
}
