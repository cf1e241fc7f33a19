import { plusSeconds } from "../../../../shared/clock.ts";
import { noFacts } from "../../../../shared/contracts/attempt.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { errorForLog } from "../../../../shared/log.ts";
import { leaving, type Stop } from "../early-stop.ts";
import type { Works } from "../../deps.ts";
import { judge, readsJson, whatNext, type Answer, type Judgement, type PreCheckResult } from "./pre-check-verdict.ts";
import { outgoingOf } from "./pre-check-request.ts";
import { preCheckOf, type PreCheck } from "./pre-check.ts";

/** How the pre-checks let the attempt go on: with this payload. `asked`: time has passed, what was checked before must be checked again. */
export interface Checked {
  payload: DialJob["payload"];
  asked: boolean;
}

/** All pre-checks of an attempt together take at most this long; what is not done by then counts as not answered. */
const ALL_CHECKS_MS = 120_000;
/** A lease is prolonged this many times before it would run out. */
const EXTENDS_PER_LEASE = 3;
const MAX_REASON_CHARS = 200;

/** Why the checks were broken off; null: they were not. */
type BrokenOff = "lost" | "leaving" | null;

/** Keeps the lead's lease alive while strangers are waited for. `signal` aborts when there is no more point in waiting. */
function keepLease(
  w: Works,
  { lead_id, claim_no }: DialJob,
): { signal: AbortSignal; brokenOff(): BrokenOff; stop(): void } {
  const [done, lost, late] = [new AbortController(), new AbortController(), new AbortController()];
  const keep = async (): Promise<void> => {
    for (;;) {
      await w.clock.wait((w.env.LEASE_SECONDS * 1000) / EXTENDS_PER_LEASE, done.signal);
      if (done.signal.aborted) return;
      try {
        const { done: ours } = await w.bus.call("leads.extend", {
          lead_id,
          claim_no,
          lease_seconds: w.env.LEASE_SECONDS,
        });
        if (!ours) {
          lost.abort();
          return;
        }
      } catch (error) {
        w.log.warn(
          { lead_id, claim_no, error: errorForLog(error) },
          "a lead's lease could not be prolonged while its pre-checks run",
        );
      }
    }
  };
  const watch = async (): Promise<void> => {
    await w.clock.wait(ALL_CHECKS_MS, done.signal);
    if (!done.signal.aborted) late.abort();
  };
  void keep();
  void watch();
  return {
    signal: AbortSignal.any([lost.signal, late.signal, w.leaving]),
    brokenOff: () => (lost.signal.aborted ? "lost" : w.stopping() ? "leaving" : null),
    stop: () => done.abort(),
  };
}

/** Asks one check's server and judges what came back. */
async function run(
  w: Works,
  order: DialJob,
  check: PreCheck,
  exported: Record<string, unknown>,
  signal: AbortSignal,
): Promise<PreCheckResult & Judgement> {
  const [at, startedMs] = [w.clock.now(), w.clock.monotonicMs()];
  const outgoing = outgoingOf(check, [exported, order.payload, { lead_id: order.lead_id }]);
  const answer: Answer =
    typeof outgoing === "string"
      ? { http_status: null, fault: outgoing }
      : await w.ask(outgoing, { timeout_ms: check.timeout_ms, retries: check.retries, json: readsJson(check) }, signal);
  const duration_ms = Math.round(w.clock.monotonicMs() - startedMs);
  return { name: check.name, ...judge(check, answer), duration_ms, at: at.toISOString(), attempt: order.claim_no };
}

const skipped = (w: Works, order: DialJob, { name }: PreCheck): PreCheckResult => ({
  name,
  status: "skipped",
  http_status: null,
  duration_ms: 0,
  exported: {},
  detail: "it is switched off",
  at: w.clock.now().toISOString(),
  attempt: order.claim_no,
});

/** How often this check has put the lead off; its name is anybody's word, `constructor` too. */
const defersOf = ({ pre_check_defers }: DialJob, { name }: PreCheck): number =>
  Object.hasOwn(pre_check_defers, name) ? (pre_check_defers[name] ?? 0) : 0;

const failed = (results: PreCheckResult[], last: PreCheckResult): Stop => ({
  kind: "settle",
  facts: {
    ...noFacts("not_dialled"),
    dropped_as: "PRECHECK_FAILED",
    pre_check_results: results,
    error: {
      code: "PRECHECK_FAILED",
      pre_check: last.name,
      message: `The pre-check "${last.name}" did not let the call through: ${last.detail ?? last.status}.`,
    },
  },
});

const putOff = (w: Works, check: PreCheck, results: PreCheckResult[], last: PreCheckResult): Stop => ({
  kind: "release",
  due_at: plusSeconds(w.clock.now(), check.defer_seconds),
  pre_check: { name: check.name, results },
  reason: `the pre-check "${check.name}" put it off: ${last.detail ?? last.status}`.slice(0, MAX_REASON_CHARS),
});

/**
 * The configuration's pre-checks in order: requests to servers that the client named, whose answers decide whether the phone rings and may add to the payload.
 * They may be asked again for the same lead (after a crash, or in a later attempt), so they should only look things up.
 */
export async function preChecks(w: Works, order: DialJob): Promise<Checked | Stop> {
  const checks = order.pre_checks.map(preCheckOf);
  if (!checks.some((check) => check.enabled)) return { payload: order.payload, asked: false };
  const results: PreCheckResult[] = [];
  let exported: Record<string, unknown> = {};
  const lease = keepLease(w, order);
  try {
    for (const check of checks) {
      if (!check.enabled) {
        results.push(skipped(w, order, check));
        continue;
      }
      const result = await run(w, order, check, exported, lease.signal);
      const brokenOff = lease.brokenOff();
      if (brokenOff !== null) return brokenOff === "lost" ? { kind: "lost" } : leaving(w.clock.now());
      w.log.info(
        {
          lead_id: order.lead_id,
          claim_no: order.claim_no,
          pre_check: result.name,
          status: result.status,
          http_status: result.http_status,
          duration_ms: result.duration_ms,
        },
        "a pre-check was answered, or not",
      );
      results.push(result);
      exported = { ...exported, ...result.exported };
      const next = whatNext(check, result.status, defersOf(order, check));
      if (next === "abort") return failed(results, result);
      if (next === "defer") return putOff(w, check, results, result);
    }
    await w.bus.call("leads.annotate", {
      lead_id: order.lead_id,
      claim_no: order.claim_no,
      pre_check_results: results,
      exported,
    });
    return { payload: { ...order.payload, ...exported }, asked: true };
  } finally {
    lease.stop();
  }
}
