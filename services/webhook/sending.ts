import { request } from "undici";
import type { Clock } from "../../shared/clock.ts";
import { AddressRefused, egressAgent } from "../../shared/egress.ts";
import { refusalOf, type AddressPolicy } from "../../shared/egress-address.ts";
import { retryAfterSeconds, type TryResult } from "./verdict.ts";

/** One signed request, ready to go. */
export interface Outgoing { url: string; id: string; timestampSeconds: number; signature: string; body: string }

/** Sends requests to addresses that clients name. */
export interface Sender { send(outgoing: Outgoing): Promise<TryResult>; close(): Promise<void> }

export const CONNECT_TIMEOUT_MS = 5000;
export const TOTAL_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 65_536;

const causedBy = (error: unknown): unknown => (error instanceof Error && error.cause !== undefined ? error.cause : error);

/** A sender over HTTP/1.1 with keep-alive. Redirects are not followed; at most 64 kB of an answer are read. */
export function httpSender(policy: AddressPolicy, clock: Clock): Sender {
  const agent = egressAgent(policy, { connectTimeoutMs: CONNECT_TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES });
  return {
    async send({ url, id, timestampSeconds, signature, body }) {
      const refusal = refusalOf(url, policy);
      if (refusal) return { status: null, error: refusal, refused: true };
      try {
        const answer = await request(url, {
          method: "POST", dispatcher: agent, body, signal: AbortSignal.timeout(TOTAL_TIMEOUT_MS),
          headers: { "content-type": "application/json", "user-agent": "callagent", "webhook-id": id, "webhook-timestamp": String(timestampSeconds), "webhook-signature": signature },
        });
        await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
        const after = answer.headers["retry-after"];
        return { status: answer.statusCode, retry_after_seconds: retryAfterSeconds(Array.isArray(after) ? after[0] : after, clock.now()) };
      } catch (error) {
        const cause = causedBy(error);
        const refused = error instanceof AddressRefused || cause instanceof AddressRefused;
        const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
        const timedOut = cause instanceof Error && cause.name === "TimeoutError";
        return { status: null, refused, error: refused ? "the address is not allowed" : timedOut ? `no answer within ${TOTAL_TIMEOUT_MS / 1000} s` : code || "the connection failed" };
      }
    },
    close: () => agent.close(),
  };
}
