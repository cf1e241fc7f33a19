import { service } from "../../shared/bus.ts";
import { createAttempts } from "./outbound/attempt-pool.ts";
import { callSchema } from "./call/calls.model.ts";
import { createCalls } from "./call/calls.repository.ts";
import { carrierEventSchema, createCarrierEvents } from "./call/carrier-events.model.ts";
import { DIAL_TIMEOUT_MS } from "./carriers/carrier-port.ts";
import { createCarriers } from "./carriers/carrier-registry.ts";
import { createGrantPace } from "./outbound/permit-pace.ts";
import { callHistory } from "./call/call-history.ts";
import { endCall, sendDigits, transferCall } from "./call/call-control.ts";
import { inboundCallSchema } from "./inbound/inbound-calls.model.ts";
import { createInboundCalls } from "./inbound/inbound-calls.repository.ts";
import { listInbound } from "./inbound/inbound-list.ts";
import { joinCall } from "./media/media-joined.ts";
import { preCheckCaller } from "./outbound/pre-checks/pre-check-client.ts";
import { receive } from "./call/receive-callback.ts";
import { recordingOf } from "./recordings/recording-location.ts";
import { ownRecorded } from "./recordings/own-recording.ts";
import { createRecorder } from "./recordings/recording-worker.ts";
import { createRecordings } from "./recordings/recordings.repository.ts";
import { storesOf } from "./recordings/recording-stores.ts";
import { reconcile } from "./call/reconcile.ts";
import { startLoops, type Loops } from "./call/call-sweep.ts";
import { createTogether } from "./outbound/batched-peers.ts";
import { createBackground, type Works } from "./deps.ts";

/** Bytes of randomness in the mark of a write. */
const MARK_BYTES = 9;
/** After SIGTERM, requests under way get this long: a dial's time-out and a little. */
const STOP_GRACE_MS = DIAL_TIMEOUT_MS + 3000;

/** Dialling: one document per attempt, carriers behind one port. */
export default service("dialer", (ground) => {
  const leaving = new AbortController();
  let loops: Loops | null = null;
  const store = ground.store();
  const calls = store.model("calls", callSchema);
  const events = store.model("carrier_events", carrierEventSchema);
  const checker = preCheckCaller(
    { allow_http: ground.env.WEBHOOK_ALLOW_HTTP, allow_private: ground.env.WEBHOOK_ALLOW_PRIVATE },
    ground.clock,
  );
  const repository = createCalls(calls, () => ground.ids.base64url(MARK_BYTES));
  const works: Works = {
    env: ground.env,
    clock: ground.clock,
    log: ground.log,
    bus: ground.bus,
    nodeId: ground.nodeId,
    random: ground.random,
    calls: repository,
    events: createCarrierEvents(events),
    inbound: createInboundCalls(store.model("inbound_calls", inboundCallSchema)),
    inboundAnswers: new Map(),
    recordings: createRecordings(calls, repository.run),
    stores: storesOf(ground),
    recorder: createRecorder(() => works),
    carriers: createCarriers(ground.env),
    pauses: new Map(),
    grantPace: createGrantPace(),
    together: createTogether(ground.bus),
    ask: checker.ask,
    background: createBackground(ground.log, ground.clock),
    leaving: leaving.signal,
    stopping: () => leaving.signal.aborted,
  };
  const attempts = createAttempts(works);

  return {
    actions: {
      dialMany: ({ orders }) => ({ taken: orders.map((order) => attempts.take(order)) }),
      carrierEvent: (raw) => receive(works, raw),
      verifyUpgrade: ({ provider, path, headers }) => ({
        valid: works.carriers.of(provider).verifyUpgrade({ path, headers }),
      }),
      joined: ({ call_ref, node_id }) => joinCall(works, call_ref, node_id),
      async hangUp({ call_ref }) {
        await endCall(works, call_ref, "asked");
        return {};
      },
      async transfer({ call_ref, to }) {
        await transferCall(works, call_ref, to);
        return {};
      },
      async sendDtmf({ call_ref, digits }) {
        await sendDigits(works, call_ref, digits);
        return {};
      },
      inboundCalls: (asked) => listInbound(works.inbound, asked),
      recorded: (told) => ownRecorded(works, told),
      recordingOf: ({ call_id }) => recordingOf(works, call_id),
      history: ({ lead_id }) => callHistory(calls, events, lead_id),
      reconcile: ({ lead_id, claim_no }) => reconcile(works, lead_id, claim_no),
    },
    async started() {
      await Promise.all(works.carriers.all().map((carrier) => carrier.warm()));
      loops = startLoops(works);
    },
    async stopped() {
      leaving.abort();
      const graceMs = Math.min(STOP_GRACE_MS, ground.env.SHUTDOWN_GRACE_SECONDS * 1000);
      await attempts.settled(graceMs);
      await loops?.tend.stop();
      await loops?.sweep.stop();
      await loops?.recordings.stop();
      await works.background.settled(graceMs);
      await checker.close();
    },
  };
});
