import { plusSeconds } from "../../../../shared/time/clock.ts";
import { noFacts } from "../../../../shared/contracts/records/attempt.ts";
import type { DialJob } from "../../../../shared/contracts/dialer.ts";
import { startDeadline } from "../../../../shared/time/deadline.ts";
import type { DialerParts } from "../../deps.ts";
import type { LeadLease } from "../lead-lease.ts";
import { releaseForShutdown, type EarlyStop } from "../early-stop.ts";
import {
  judge,
  readsJson,
  whatNext,
  withinBounds,
  type Answer,
  type Judgement,
  type PreCheckResult,
} from "./pre-check-verdict.ts";
import { secretNames, type SecretValues } from "../../../../shared/placeholders.ts";
import { outgoingOf } from "./pre-check-request.ts";
import { preCheckOf, type PreCheck } from "./pre-check.ts";

/** How the pre-checks let the attempt go on: with this payload. `waited`: time has passed, so what was checked before must be checked again. */
export interface Checked {
  payload: DialJob["payload"];
  waited: boolean;
}

/** All pre-checks of an attempt together take at most this long; what is not done by then counts as not answered. */
const ALL_CHECKS_MS = 120_000;
const MAX_REASON_CHARS = 200;

/** The time that an attempt's pre-checks have: while its lead's lease is its own, within their limit, and until this process shuts down. */
interface CheckTime {
  /** Aborted when there is no more point in waiting. */
  signal: AbortSignal;
  /** How the attempt ends because the checks were interrupted; null: they were not. */
  interrupted(): EarlyStop | null;
  end(): void;
}

function startCheckTime({ clock, draining }: DialerParts, lease: LeadLease): CheckTime {
  const deadline = startDeadline(clock, ALL_CHECKS_MS, lease.lost, draining);
  return {
    signal: deadline.signal,
    interrupted() {
      if (lease.lost.aborted) return { kind: "lost" };
      return draining.aborted ? releaseForShutdown(clock.now()) : null;
    },
    end: () => deadline.clear(),
  };
}

/** The secrets that a check uses, asked for now and kept by nobody. Throws where they can't be read: that says nothing about the lead. */
async function secretsFor({ bus }: DialerParts, { template_id }: DialJob, check: PreCheck): Promise<SecretValues> {
  const names = secretNames(check.headers, check.body);
  if (names.length === 0) return new Map();
  const { values } = await bus.call("config.secretValues", { template_id, names });
  return new Map(values.map(({ name, value }) => [name, value]));
}

/** Asks one check's server and judges what came back. */
async function run(
  deps: DialerParts,
  order: DialJob,
  check: PreCheck,
  exported: Record<string, unknown>,
  signal: AbortSignal,
): Promise<PreCheckResult & Judgement> {
  const [at, startedMs] = [deps.clock.now(), deps.clock.monotonicMs()];
  const sources = [exported, order.payload, { lead_id: order.lead_id }];
  const outgoing = outgoingOf(check, sources, await secretsFor(deps, order, check));
  const answer: Answer =
    typeof outgoing === "string"
      ? { http_status: null, fault: outgoing }
      : await deps.preCheckClient.ask(
          outgoing,
          { timeout_ms: check.timeout_ms, retries: check.retries, json: readsJson(check) },
          signal,
        );
  const duration_ms = Math.round(deps.clock.monotonicMs() - startedMs);
  return { name: check.name, ...judge(check, answer), duration_ms, at: at.toISOString(), attempt: order.claim_no };
}

const skipped = (deps: Pick<DialerParts, "clock">, order: DialJob, { name }: PreCheck): PreCheckResult => ({
  name,
  status: "skipped",
  http_status: null,
  duration_ms: 0,
  exported: {},
  detail: "it is switched off",
  at: deps.clock.now().toISOString(),
  attempt: order.claim_no,
});

/** How often this check has deferred the lead; its name is the client's choice, `constructor` too. */
const defersOf = ({ pre_check_defers }: DialJob, { name }: PreCheck): number =>
  Object.hasOwn(pre_check_defers, name) ? (pre_check_defers[name] ?? 0) : 0;

const failed = (results: PreCheckResult[], last: PreCheckResult): EarlyStop => ({
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

const deferred = (
  deps: Pick<DialerParts, "clock">,
  check: PreCheck,
  results: PreCheckResult[],
  last: PreCheckResult,
): EarlyStop => ({
  kind: "release",
  due_at: plusSeconds(deps.clock.now(), check.defer_seconds),
  pre_check: { name: check.name, results },
  reason: `the pre-check "${check.name}" put it off: ${last.detail ?? last.status}`.slice(0, MAX_REASON_CHARS),
});

/**
 * The configuration's pre-checks in order: requests to servers that the client named, whose answers decide whether the phone rings and may add to the payload.
 * They may be asked again for the same lead (after a crash, or in a later attempt), so they should be read-only.
 */
export async function runPreChecks(deps: DialerParts, order: DialJob, lease: LeadLease): Promise<Checked | EarlyStop> {
  const checks = order.pre_checks.map(preCheckOf);
  if (!checks.some((check) => check.enabled)) return { payload: order.payload, waited: false };
  const { lead_id, claim_no } = order;
  const results: PreCheckResult[] = [];
  let exported: Record<string, unknown> = {};
  const time = startCheckTime(deps, lease);
  try {
    for (const check of checks) {
      if (!check.enabled) {
        results.push(skipped(deps, order, check));
        continue;
      }
      const result = withinBounds(await run(deps, order, check, exported, time.signal), exported);
      const interrupted = time.interrupted();
      if (interrupted !== null) return interrupted;
      const { name: pre_check, status, http_status, duration_ms } = result;
      deps.log.info({ lead_id, claim_no, pre_check, status, http_status, duration_ms }, "a pre-check has a result");
      results.push(result);
      exported = { ...exported, ...result.exported };
      const next = whatNext(check, result.status, defersOf(order, check));
      if (next === "abort") return failed(results, result);
      if (next === "defer") return deferred(deps, check, results, result);
    }
    await deps.bus.call("leads.annotate", { lead_id, claim_no, pre_check_results: results, exported });
    return { payload: { ...order.payload, ...exported }, waited: true };
  } finally {
    time.end();
  }
}
