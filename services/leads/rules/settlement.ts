import type { AttemptFacts, RetryPolicy } from "../../../shared/contracts/records/attempt.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import { isRetried, outcomeOf } from "./outcomes.ts";

/** What becomes of a lead after an attempt. */
export type Settlement = { kind: "retry"; due_at: Date; outcome: string } | { kind: "finish"; outcome: string };

/** Decides once, from facts and the policy as it stood at the claim: `attempt_count` counts the attempt that just ended. */
export function settle(facts: AttemptFacts, policy: RetryPolicy, attempt_count: number, now: Date): Settlement {
  const outcome = outcomeOf(facts);
  const triesLeft = attempt_count <= policy.max_retry;
  if (triesLeft && isRetried(facts, policy.retry_on))
    return { kind: "retry", due_at: plusSeconds(now, policy.retry_offset), outcome };
  return { kind: "finish", outcome };
}
