import { recencyCache } from "../../shared/cache.ts";
import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { PROVIDERS } from "../../shared/contracts/records/configuration.ts";
import { createTrustWindow } from "../../shared/process/trust-window.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import { recordingStores } from "../../shared/storage/recordings.ts";
import { createBackground } from "./background.ts";
import { callSchema } from "./call/calls.model.ts";
import { createCalls } from "./call/calls.repository.ts";
import { createUnwritten } from "./call/unwritten.ts";
import { carrierEventSchema } from "./callbacks/carrier-events.model.ts";
import { createCarrierEvents } from "./callbacks/carrier-events.repository.ts";
import { createCarriers } from "./carriers/carrier-registry.ts";
import type { DialerParts } from "./deps.ts";
import { inboundCallSchema } from "./inbound/inbound-calls.model.ts";
import { createInboundCalls } from "./inbound/inbound-calls.repository.ts";
import { createCarrierBreakers } from "./outbound/carrier-circuit-breaker.ts";
import { createPermitPace } from "./outbound/permit-pace.ts";
import { createPreCheckClient } from "./outbound/pre-checks/pre-check-client.ts";
import { createPeers } from "./peers.ts";
import { createRecordingWorker, type RecordingWorker } from "./recordings/recording-worker.ts";
import { createToldCeilings } from "./spend/spend-admission.ts";
import { spendLedgerSchema } from "./spend/spend-ledgers.model.ts";
import { createSpendLedgers } from "./spend/spend-ledgers.repository.ts";
import { createRecordings } from "./recordings/recordings.repository.ts";

/** No call has this id: it is read to see whether the database answers. */
const NO_CALL = "-";
/** Bytes of randomness in the mark of a write. */
const MARK_BYTES = 9;
/** Answers to inbound calls in the cache, so that a webhook that comes twice to one node has the same answer. */
const MAX_INBOUND_ANSWERS = 1000;

/** Puts the dialer together. `leaving` aborts when this process ends. */
export function compose(
  service: ServiceDeps,
  leaving: AbortSignal,
): { parts: DialerParts; recordingWorker: RecordingWorker } {
  const { env, clock, log, bus, nodeId, ids, random, draining, metrics } = service;
  const store = service.store();
  const callModel = store.model("calls", callSchema);
  const calls = createCalls(callModel, () => ids.base64url(MARK_BYTES));
  const carriers = createCarriers(env, clock);
  const background = createBackground(log, clock);
  const parts: DialerParts = {
    env,
    clock,
    log,
    metrics,
    traces: service.traces,
    bus,
    nodeId,
    draining,
    leaving,
    background,
    calls,
    unwritten: createUnwritten({ clock, log }),
    trust: createTrustWindow(clock, env.LEASE_SECONDS * MS_PER_SECOND, () =>
      Promise.all([calls.find(NO_CALL), bus.call("leads.reachable", {})]),
    ),
    callbacks: createCarrierEvents(store.model("carrier_events", carrierEventSchema)),
    inboundCalls: createInboundCalls(store.model("inbound_calls", inboundCallSchema)),
    inboundAnswers: recencyCache({ max: MAX_INBOUND_ANSWERS }),
    spendLedgers: createSpendLedgers(store.model("spend_ledgers", spendLedgerSchema)),
    toldCeilings: createToldCeilings(),
    recordings: createRecordings(callModel, calls.apply),
    stores: recordingStores(service),
    wakeRecordings: () => recordingWorker.wake(),
    carriers,
    peers: createPeers(bus, env.LEASE_SECONDS, clock),
    permitPace: createPermitPace(random),
    storeClock: service.storeClock,
    preCheckClient: createPreCheckClient(
      { allow_http: env.WEBHOOK_ALLOW_HTTP, allow_private: env.WEBHOOK_ALLOW_PRIVATE },
      clock,
    ),
    breakers: createCarrierBreakers({
      clock,
      log,
      random,
      variables: (provider) => carriers.variables(provider),
      announce: (provider, until, why) =>
        background.run("announcing an open circuit breaker", async () => {
          await bus.call("scheduler.slow", { provider, until: until.toISOString(), why });
        }),
    }),
  };
  metrics.gauge("callagent_carrier_closed", () =>
    PROVIDERS.map((provider) => ({ labels: { provider }, value: parts.breakers.openUntil(provider) ? 1 : 0 })),
  );
  const recordingWorker = createRecordingWorker(parts);
  return { parts, recordingWorker };
}
