import type { ServiceDeps } from "../../shared/bus/bus.ts";
import { LONGEST_CALL_SECONDS } from "../../shared/contracts/records/template.ts";
import { deprecationsIn } from "./providers/model-deprecations.ts";
import type { PlannedSession } from "./session/sessions.model.ts";

/** Parts of the shutdown grace reserved for goodbyes and for settling after them, seconds. */
export const GOODBYE_SECONDS = 4;
const SETTLING_SECONDS = 1;

/** How long calls may go on after SIGTERM before they are ended, seconds. */
export const talkSeconds = ({ SHUTDOWN_GRACE_SECONDS }: Pick<ServiceDeps["env"], "SHUTDOWN_GRACE_SECONDS">): number =>
  Math.max(0, SHUTDOWN_GRACE_SECONDS - GOODBYE_SECONDS - SETTLING_SECONDS);

/** Says when calls may last longer than a shutdown waits for them. */
export function sayShortGrace({ env, log }: Pick<ServiceDeps, "env" | "log">): void {
  const grace_seconds = env.SHUTDOWN_GRACE_SECONDS;
  if (talkSeconds(env) >= LONGEST_CALL_SECONDS) return;
  log.warn(
    { event: "shutdown.grace_short", grace_seconds, longest_call_seconds: LONGEST_CALL_SECONDS },
    `SHUTDOWN_GRACE_SECONDS is ${grace_seconds}, and templates may allow calls of ${LONGEST_CALL_SECONDS} s: a shutdown ends calls that go on after ${talkSeconds(env)} s, with a goodbye.`,
  );
}

/** Names the models that are used and that their vendors are about to shut down. */
export function sayDeprecations({ env, log }: Pick<ServiceDeps, "env" | "log">): void {
  for (const { setting, model, on } of deprecationsIn(env))
    log.warn(
      { event: "model.shuts_down", setting, model, on },
      `${setting} names ${model}, which its vendor shuts down on ${on}; name another.`,
    );
}

/** A carrier's socket was cut: its call ends as one whose media broke off. */
export const sayFlood = (log: ServiceDeps["log"], planned: PlannedSession | null): void =>
  log.warn(
    { event: "media.flood", lead_id: planned?.lead_id, claim_no: planned?.claim_no },
    "A socket sent far more than sound in real time; it was cut, so that other calls are heard.",
  );
