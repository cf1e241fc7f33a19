import pLimit from "p-limit";
import { plusMs } from "../../../shared/time/clock.ts";
import { RENEWALS_PER_LEASE } from "../../../shared/time/lease-keeper.ts";
import { startLoop, type Loop } from "../../../shared/time/loop.ts";
import { PROBE_EVERY_MS } from "../../../shared/process/trust-window.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { CallDoc } from "./calls.model.ts";
import { endCall } from "./call-control.ts";
import { pollCall } from "./poll-carrier.ts";
import { applyCallback } from "../callbacks/apply-callback.ts";
import { sweepSpend } from "../spend/spend-settlement.ts";
import { REPOLL_MS } from "./call-deadlines.ts";
import type { DialerParts } from "../deps.ts";
import type { RecordingWorker } from "../recordings/recording-worker.ts";

/** A callback that its receiver did not apply within this long is applied by the sweep. */
const UNAPPLIED_AFTER_MS = 5000;
/** Callbacks applied in one pass. */
const CALLBACK_BATCH = 200;
/** Calls polled in one pass, and at once: each poll may ask the carrier. */
const POLL_BATCH = 100;
const POLLS_AT_ONCE = 10;
/** Reservations of spend are due after minutes: they are looked into with every n-th sweep only. */
const SWEEPS_PER_SPEND = 6;
/** Leases renewed at once, and calls read at a time. */
const RENEWALS_AT_ONCE = 20;
const RENEWAL_PAGE = 200;

/** Applies callbacks that were stored and not applied: their receiver died, or something was out of reach. True when there may be more. */
async function reapply(deps: DialerParts): Promise<boolean> {
  let done = 0;
  const events = await deps.callbacks.unapplied(plusMs(deps.clock.now(), -UNAPPLIED_AFTER_MS), CALLBACK_BATCH);
  for (const event of events) {
    try {
      await applyCallback(deps, event);
      done += 1;
    } catch (error) {
      deps.log.warn({ call_ref: event.ref, error: errorForLog(error) }, "a stored callback still can't be applied");
    }
  }
  return done === CALLBACK_BATCH;
}

/** Polls the calls that are due; how many they were. A poll that fails is retried when the claim on the call ends. */
async function pollDue(deps: DialerParts): Promise<number> {
  const calls: CallDoc[] = [];
  while (calls.length < POLL_BATCH) {
    const now = deps.clock.now();
    const call = await deps.calls.takeDue(now, plusMs(now, REPOLL_MS));
    if (!call) break;
    calls.push(call);
  }
  await pLimit(POLLS_AT_ONCE).map(calls, async (call) => {
    try {
      await pollCall(deps, call);
    } catch (error) {
      deps.log.warn(
        { call_ref: call._id, error: errorForLog(error) },
        "a call could not be polled; it is polled again",
      );
    }
  });
  return calls.length;
}

/** Renews one lead's lease. A call whose lead went on without us is ended. */
async function renew(deps: DialerParts, call: CallDoc): Promise<void> {
  try {
    const { done, outcome } = await deps.peers.renewLease(call);
    if (!done) await endCall(deps, call._id, outcome === "ABORTED" ? "aborted" : "baton_lost");
  } catch (error) {
    deps.log.warn({ call_ref: call._id, error: errorForLog(error) }, "a lead's lease could not be renewed");
  }
}

/** Renews the leases of all leads whose calls this node owns: those that no conversation has joined yet. */
async function renewAll(deps: DialerParts): Promise<void> {
  const limit = pLimit(RENEWALS_AT_ONCE);
  let after: string | null = null;
  for (;;) {
    const page: CallDoc[] = await deps.calls.ownedBy(deps.nodeId, after, RENEWAL_PAGE);
    await limit.map(page, (call) => renew(deps, call));
    after = page.at(-1)?._id ?? null;
    if (page.length < RENEWAL_PAGE) return;
  }
}

/** The dialer's background loops. */
export interface Loops {
  /** Ends every loop after its pass under way. */
  stop(): Promise<void>;
}

/** Starts the loops: leases; callbacks not yet applied and calls that are due; reservations of spend; recordings. */
export function startLoops(deps: DialerParts, recordings: RecordingWorker): Loops {
  const { clock, env, log } = deps;
  const start = (name: string, intervalMs: number, pass: () => Promise<boolean>): Loop =>
    startLoop({
      name: `dialer.${name}`,
      clock,
      intervalMs,
      pass,
      onError: (error) => {
        log.error({ error: errorForLog(error) }, `a pass of the dialer's ${name} loop failed`);
      },
    });
  const loops = [
    start("trust", PROBE_EVERY_MS, async () => {
      await deps.trust.probe();
      return false;
    }),
    start("leases", (env.LEASE_SECONDS * 1000) / RENEWALS_PER_LEASE, async () => {
      await renewAll(deps);
      return false;
    }),
    start("sweep", env.SWEEP_INTERVAL_MS, async () => {
      await deps.peers.retryReleases().catch((error: unknown) => {
        log.warn({ error: errorForLog(error) }, "number slots could not be released; the next pass tries again");
      });
      await deps.unwritten.retry();
      const more = await reapply(deps);
      return (await pollDue(deps)) === POLL_BATCH || more;
    }),
    start("spend", env.SWEEP_INTERVAL_MS * SWEEPS_PER_SPEND, async () => {
      await sweepSpend(deps);
      return false;
    }),
    start("recordings", env.SWEEP_INTERVAL_MS, async () => {
      await recordings.pass();
      return false;
    }),
  ];
  return {
    async stop() {
      for (const loop of loops) await loop.stop();
    },
  };
}
