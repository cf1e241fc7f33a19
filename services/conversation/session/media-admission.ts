import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { codeOf, fail, isOutOfReach } from "../../../shared/errors.ts";
import { BROWSER } from "../../../shared/contracts/records/session.ts";
import { sha256 } from "../../../shared/ids.ts";
import { within } from "../../../shared/time/deadline.ts";
import type { UpgradeRequest } from "../transport/media-server.ts";
import type { PreparedSessions } from "./prepared-sessions.ts";
import type { PlannedSession, SessionDoc } from "./sessions.model.ts";
import type { SessionsRepository } from "./sessions.repository.ts";

/** Of ANSWER_LIMIT_MS this much is left for what follows the hand-over: the carrier's handshake and the way of the first words to the callee, ms. */
const FIRST_WORDS_MS = 400;

/** Media that may be led, and until when (monotonic) the conversation must have been taken over; `session` null: it is too late for one, and `planned` what is known of it. */
export type Admission = { session: SessionDoc; due_ms: number } | { session: null; planned: PlannedSession | null };

/** What admission needs. `full`: there is room for no more conversations. */
export interface AdmissionDeps extends Pick<ServiceDeps, "bus" | "clock" | "log"> {
  env: Pick<ServiceDeps["env"], "ANSWER_LIMIT_MS">;
  node_id: string;
  sessions: Pick<SessionsRepository, "peek" | "redeem">;
  prepared: PreparedSessions;
  full(): boolean;
}

/** When the conversation of a call that was answered now must have been taken over, monotonic. */
export const takeOverDueMs = ({ clock, env }: Pick<AdmissionDeps, "clock" | "env">): number =>
  clock.monotonicMs() + env.ANSWER_LIMIT_MS - FIRST_WORDS_MS;

/**
 * Decides on media that connect: the session they are for; null: token or signature is wrong. Consumes the token. Within the limit of an answer: where
 * database or bus don't answer in time, the media are taken to say goodbye on. BUSY: no room.
 */
export const mediaAdmission = (deps: AdmissionDeps) => {
  const { bus, clock, log, node_id, sessions, prepared, full } = deps;
  return async ({ provider, token, path, headers }: UpgradeRequest): Promise<Admission | null> => {
    if (full()) fail("BUSY", "This process runs as many conversations as it can.");
    const due_ms = takeOverDueMs(deps);
    const hash = sha256(token);
    const planned = prepared.byToken(hash, provider);
    const admitted = async (): Promise<SessionDoc | null> => {
      if (planned === null && !(await sessions.peek(hash, provider, clock.now()))) return null;
      // a wrong signature must not consume the token
      const signed =
        provider === BROWSER || (await bus.call("dialer.verifyUpgrade", { provider, path, headers })).valid;
      return signed ? sessions.redeem(hash, provider, node_id, clock.now()) : null;
    };
    const admitting = admitted();
    let code = "TIMEOUT";
    try {
      if (await within(clock, due_ms - clock.monotonicMs(), admitting)) {
        const session = await admitting;
        return session && { session, due_ms };
      }
    } catch (error) {
      code = codeOf(error);
      if (!isOutOfReach(codeOf(error))) throw error;
    }
    log.warn({ event: "media.not_admitted", code }, "Media could not be checked in time; the call gets a goodbye.");
    return { session: null, planned };
  };
};
