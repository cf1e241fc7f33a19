import type { Env } from "./env.ts";
import type { CRASH_POINTS } from "./variables.ts";

/**
 * A named point of a lead's path at which a test can kill the process (docs/reliability.md):
 * K0 lead written, push not answered · K1 claimed, not handed over · K2 slot reserved, not claimed · K3 permit acquired, no intent · K4 intent written, carrier not asked ·
 * K5 carrier asked, no reply yet · K6 reply received, not stored · K7 ringing · K8 in the conversation · K9 callback stored, not applied · K10 FINISHED, webhook event not handed over ·
 * K11 receiver said 2xx, delivery not marked.
 */
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** Kills this process with SIGKILL where CRASH_AT names the point; does nothing else. The environment refuses CRASH_AT in production. */
export function crashPoint(env: Env, point: CrashPoint): void {
  if (env.CRASH_AT === point) process.kill(process.pid, "SIGKILL");
}
