import { within } from "../../shared/time/deadline.ts";
import { service } from "../../shared/bus/bus.ts";
import { missedVerdict } from "./callbacks/missed-verdict.ts";
import { callCommands, endAfterMedia, endCall } from "./call/call-control.ts";
import { callHistory } from "./call/call-history.ts";
import { startLoops, type Loops } from "./call/call-sweep.ts";
import { receiveCallback } from "./callbacks/receive-callback.ts";
import { reconcile } from "./call/reconcile.ts";
import { DIAL_TIMEOUT_MS } from "./carriers/carrier-port.ts";
import { numberHeld } from "./carriers/number-holding.ts";
import { compose } from "./composition.ts";
import { keepInArchive } from "./erasure/archive.ts";
import { endRecords } from "./erasure/end-records.ts";
import { eraseNumber } from "./erasure/erase-number.ts";
import { listInbound } from "./inbound/inbound-list.ts";
import { farewells } from "./media/farewells.ts";
import { mediaJoined } from "./media/media-joined.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import { calleeCalls } from "./outbound/callee-cap.ts";
import { createAttemptPool } from "./outbound/attempt-pool.ts";
import { openSession, rejoinSession, speak } from "./sessions/open-session.ts";
import { spendRoom } from "./spend/spend-admission.ts";
import { ownRecorded, recordingOf } from "./recordings/recording-actions.ts";

/** After SIGTERM, requests under way get this long: a dial's time-out and a little. */
const STOP_GRACE_MS = DIAL_TIMEOUT_MS + 3000;

/** Dialling: one document per attempt, carriers behind one port. */
export default service("dialer", (deps) => {
  const leaving = new AbortController();
  const { parts, recordingWorker } = compose(deps, leaving.signal);
  const attempts = createAttemptPool(parts);
  const graceMs = Math.min(STOP_GRACE_MS, deps.env.SHUTDOWN_GRACE_SECONDS * MS_PER_SECOND);
  let loops: Loops | null = null;

  return {
    actions: {
      dialMany: ({ orders }) => ({ taken: orders.map((order) => attempts.take(order)) }),
      carrierEvent: (raw) => receiveCallback(parts, raw),
      farewells: () => ({ documents: farewells(parts.carriers) }),
      holdsNumber: (asked) => numberHeld(parts, asked),
      verifyUpgrade: ({ provider, path, headers }) => ({
        valid: parts.carriers.of(provider).verifyUpgrade({ path, headers }),
      }),
      joined: ({ call_ref, node_id, tells_placed = false }) => mediaJoined(parts, call_ref, node_id, tells_placed),
      async hangUp({ call_ref, reason = "asked", media, verdict }) {
        if (media === undefined) await endCall(parts, call_ref, reason);
        const known = media === undefined ? undefined : await endAfterMedia(parts, call_ref, reason, media);
        const machine = verdict === true ? await missedVerdict(parts, call_ref) : null;
        return { ...(known && { known }), ...(machine !== null && { machine }) };
      },
      ...callCommands(parts),
      inboundCalls: (params) => listInbound(parts.inboundCalls, params),
      recorded: (params) => ownRecorded(parts, params, "stored"),
      recordedInCloud: (params) => ownRecorded(parts, params, "uploaded"),
      recordingOf: ({ call_id }) => recordingOf(parts, call_id),
      eraseNumber: (params) => eraseNumber(parts, params),
      endRecords: (params) => endRecords(parts, params),
      archive: (params) => keepInArchive(parts, params),
      history: ({ lead_id }) => callHistory(parts, lead_id),
      calleeCalls: (params) => calleeCalls(parts, params),
      openSession: (order) => openSession(parts, order),
      rejoinSession: (asked) => rejoinSession(parts, asked),
      speak: (request) => speak(parts, request),
      spendRoom: (params) => spendRoom(parts, params),
      reconcile: ({ lead_id, claim_no }) => reconcile(parts, lead_id, claim_no),
    },
    async started() {
      await Promise.all(parts.carriers.all().map((carrier) => carrier.warm()));
      loops = startLoops(parts, recordingWorker);
    },
    // callbacks, polls and the ends of calls go on until the process leaves the bus
    async drain() {
      await attempts.drain(graceMs);
      await parts.peers.giveBackSlots(graceMs);
    },
    async stopped() {
      leaving.abort();
      await loops?.stop();
      await parts.background.drain(graceMs);
      await within(deps.clock, graceMs, parts.unwritten.retry());
      await parts.peers.giveBackSlots(graceMs);
      await parts.preCheckClient.close();
    },
  };
});
