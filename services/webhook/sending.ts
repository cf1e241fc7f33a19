import { request } from "undici";
import type { Clock } from "../../shared/clock.ts";
import { AddressRefused, egressAgent, type Resolve } from "../../shared/egress.ts";
import { refusalOf, type AddressPolicy } from "../../shared/egress-address.ts";
import { retryAfterSeconds, type TryResult } from "./verdict.ts";

/** One signed request, ready to go. */
export interface Outgoing { url: string; id: string; timestampSeconds: number; signature: string; body: string }

/** Sends requests to addresses that clients name. */
export interface Sender { send(outgoing: Outgoing): Promise<TryResult>; close(): Promise<void> }

/** Until the connection stands, TLS included. */
export const CONNECT_TIMEOUT_MS = 5000;
/** Until the head of the answer is there, everything included. */
export const TOTAL_TIMEOUT_MS = 15_000;
/** Most that is read of an answer, whose body says nothing to us: enough that a connection can be used again, too little to hurt. */
export const MAX_ANSWER_BYTES = 65_536;

/** What may be other than usual: how names are resolved, and how long a connection may take. */
export interface SendingBounds { connectTimeoutMs?: number; resolve?: Resolve }

const causedBy = (error: unknown): unknown => (error instanceof Error && error.cause !== undefined ? error.cause : error);

/** Why there was no answer, in words for the list of tries: never the driver's own, which may hold anything. */
function failureOf(error: unknown, cut: boolean): TryResult {
  const cause = causedBy(error);
  const refused = error instanceof AddressRefused || cause instanceof AddressRefused;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return { status: null, refused, error: refused ? "the address is not allowed" : cut ? `no answer within ${TOTAL_TIMEOUT_MS / 1000} s` : code || "the connection failed" };
}

/** A sender over HTTP/1.1 with keep-alive. Redirects are not followed; at most 64 kB of an answer are read, and not unpacked. The total bound runs on the clock given. */
export function httpSender(policy: AddressPolicy, clock: Clock, bounds: SendingBounds = {}): Sender {
  const agent = egressAgent(policy, { connectTimeoutMs: bounds.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES }, bounds.resolve);

  async function exchange(o: Outgoing, signal: AbortSignal): Promise<TryResult> {
    const answer = await request(o.url, {
      method: "POST", dispatcher: agent, body: o.body, signal,
      headers: { "content-type": "application/json", "user-agent": "callagent", "webhook-id": o.id, "webhook-timestamp": String(o.timestampSeconds), "webhook-signature": o.signature },
    });
    await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    const after = answer.headers["retry-after"];
    return { status: answer.statusCode, retry_after_seconds: retryAfterSeconds(Array.isArray(after) ? after[0] : after, clock.now()) };
  }

  return {
    async send(outgoing) {
      const refusal = refusalOf(outgoing.url, policy);
      if (refusal) return { status: null, error: refusal, refused: true };
      const [late, over] = [new AbortController(), new AbortController()];
      void clock.wait(TOTAL_TIMEOUT_MS, over.signal).then(() => late.abort());
      try {
        return await exchange(outgoing, late.signal);
      } catch (error) {
        return failureOf(error, late.signal.aborted);
      } finally {
        over.abort();
      }
    },
    close: () => agent.close(),
  };
}
