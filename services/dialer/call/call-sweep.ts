import { plusMs } from "../../../shared/clock.ts";
import { startLoop, type Loop } from "../../../shared/loop.ts";
import { errorForLog } from "../../../shared/log.ts";
import type { CallDoc } from "./calls.model.ts";
import { endCall } from "./call-control.ts";
import { look } from "./poll-carrier.ts";
import { applyEvent } from "./apply-callback.ts";
import { RELOOK_MS } from "./call-deadlines.ts";
import type { Works } from "../deps.ts";

/** A callback that its receiver did not apply within this long is applied by the sweep. */
const UNAPPLIED_AFTER_MS = 5000;
/** Callbacks applied in one pass. */
const EVENT_BATCH = 200;
/** Calls looked at in one pass, and at once: each look may ask the carrier. */
const LOOK_BATCH = 100;
const LOOKS_AT_ONCE = 10;
/** Leases prolonged at once, and calls read at a time. */
const EXTENDS_AT_ONCE = 20;
const TEND_PAGE = 200;
/** Leases are prolonged this many times before they would run out. */
const EXTENDS_PER_LEASE = 3;

/** Runs `work` on the items, so many at once; failures are the work's own business. */
async function inParallel<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

/** Applies callbacks that were stored and not applied: their receiver died, or something was out of reach. True when there may be more. */
async function reapply(w: Works): Promise<boolean> {
  let done = 0;
  const events = await w.events.unapplied(plusMs(w.clock.now(), -UNAPPLIED_AFTER_MS), EVENT_BATCH);
  for (const event of events) {
    try {
      await applyEvent(w, event);
      done += 1;
    } catch (error) {
      w.log.warn({ call_ref: event.ref, error: errorForLog(error) }, "a stored callback still can't be applied");
    }
  }
  return done === EVENT_BATCH;
}

/** Looks at calls whose time has come. A look that fails comes back when the hold on the call ends. */
async function lookAtDue(w: Works): Promise<number> {
  const calls: CallDoc[] = [];
  while (calls.length < LOOK_BATCH) {
    const now = w.clock.now();
    const call = await w.calls.takeDue(now, plusMs(now, RELOOK_MS));
    if (!call) break;
    calls.push(call);
  }
  await inParallel(calls, LOOKS_AT_ONCE, async (call) => {
    try {
      await look(w, call);
    } catch (error) {
      w.log.warn(
        { call_ref: call._id, error: errorForLog(error) },
        "a call could not be looked at; it is looked at again",
      );
    }
  });
  return calls.length;
}

/** Keeps one lead's lease alive; a lead that went on without us takes its phone call with it. */
async function keep(w: Works, call: CallDoc): Promise<void> {
  try {
    const { done } = await w.bus.call("leads.extend", {
      lead_id: call.lead_id,
      claim_no: call.claim_no,
      lease_seconds: w.env.LEASE_SECONDS,
    });
    if (!done) await endCall(w, call._id, "baton_lost");
  } catch (error) {
    w.log.warn({ call_ref: call._id, error: errorForLog(error) }, "a lead's lease could not be prolonged");
  }
}

/** Keeps the leases of all leads whose calls this node tends: those not yet joined by a conversation. */
async function tendAll(w: Works): Promise<void> {
  let after: string | null = null;
  for (;;) {
    const page: CallDoc[] = await w.calls.tendedBy(w.nodeId, after, TEND_PAGE);
    await inParallel(page, EXTENDS_AT_ONCE, (call) => keep(w, call));
    after = page.at(-1)?._id ?? null;
    if (page.length < TEND_PAGE) return;
  }
}

/** The dialer's background loops. */
export interface Loops {
  /** Callbacks left over, and calls whose time has come. */
  sweep: Loop;
  /** Recordings on their way. */
  recordings: Loop;
  /** Leases. */
  tend: Loop;
}

/** Starts the loops. */
export function startLoops(w: Works): Loops {
  const onError =
    (name: string) =>
    (error: unknown): void => {
      w.log.error({ error: errorForLog(error) }, `a pass of the dialer's ${name} loop failed`);
    };
  return {
    sweep: startLoop({
      name: "dialer.sweep",
      clock: w.clock,
      intervalMs: w.env.SWEEP_INTERVAL_MS,
      onError: onError("sweep"),
      pass: async () => {
        await w.together.payLines().catch((error: unknown) => {
          w.log.warn({ error: errorForLog(error) }, "lines could not be given back; they are again at the next pass");
        });
        const more = await reapply(w);
        return (await lookAtDue(w)) === LOOK_BATCH || more;
      },
    }),
    recordings: startLoop({
      name: "dialer.recordings",
      clock: w.clock,
      intervalMs: w.env.SWEEP_INTERVAL_MS,
      onError: onError("recordings"),
      pass: async () => {
        await w.recorder.pass();
        return false;
      },
    }),
    tend: startLoop({
      name: "dialer.tend",
      clock: w.clock,
      intervalMs: (w.env.LEASE_SECONDS * 1000) / EXTENDS_PER_LEASE,
      onError: onError("lease"),
      pass: async () => {
        await tendAll(w);
        return false;
      },
    }),
  };
}
