import { ANSWER_SECONDS } from "../../../shared/contracts/events/finished-lead.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Resolve } from "../../../shared/egress/network-names.ts";
import { addressRefusal, type AddressPolicy } from "../../../shared/egress/egress-address.ts";
import { egressClient, type EgressFailure } from "../../../shared/egress/egress-request.ts";
import { retryAfterSeconds } from "../../../shared/time/retry-after.ts";
import type { TryResult } from "../rules/delivery-verdict.ts";

/** One signed request, ready to go. */
export interface WebhookRequest {
  url: string;
  id: string;
  timestampSeconds: number;
  signature: string;
  body: string;
  /** The trace that the request belongs to; absent: none. */
  traceparent?: string | undefined;
}

/** Sends requests to addresses that clients name. */
export interface WebhookClient {
  send(request: WebhookRequest): Promise<TryResult>;
  close(): Promise<void>;
}

/** Until the connection stands, TLS included. */
export const CONNECT_TIMEOUT_MS = 5000;
/** Until the head of the answer is there, everything included. */
export const TOTAL_TIMEOUT_MS = ANSWER_SECONDS * MS_PER_SECOND;
/** Bytes read of an answer at most; its body is not used: enough that a connection can be used again, too little to hurt. */
export const MAX_ANSWER_BYTES = 65_536;

/** What may be other than usual: how names are resolved, and how long a connection may take. */
export interface WebhookClientBounds {
  connectTimeoutMs?: number;
  resolve?: Resolve;
}

/** Why there was no answer, in words for the list of tries: a code or our own words. */
function noAnswer({ failure, code }: EgressFailure): TryResult {
  if (failure === "refused") return { status: null, refused: true, error: "the address is not allowed" };
  const error =
    failure === "timeout" ? `no answer within ${TOTAL_TIMEOUT_MS / 1000} s` : (code ?? "the connection failed");
  return { status: null, refused: false, error };
}

/** A client over HTTP/1.1 with keep-alive. Redirects are not followed; at most 64 kB of an answer are read, and not unpacked. The total bound runs on the clock given. */
export function webhookClient(policy: AddressPolicy, clock: Clock, bounds: WebhookClientBounds = {}): WebhookClient {
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, resolve } = bounds;
  const client = egressClient(policy, clock, { connectTimeoutMs, maxAnswerBytes: MAX_ANSWER_BYTES }, resolve);
  return {
    async send({ url, id, timestampSeconds, signature, body, traceparent }) {
      const refusal = addressRefusal(url, policy);
      if (refusal) return { status: null, error: refusal, refused: true };
      const headers = {
        "content-type": "application/json",
        "user-agent": "callagent",
        "webhook-id": id,
        "webhook-timestamp": String(timestampSeconds),
        "webhook-signature": signature,
        ...(traceparent === undefined ? {} : { traceparent }),
      };
      const answer = await client.send({
        url,
        method: "POST",
        headers,
        body,
        timeoutMs: TOTAL_TIMEOUT_MS,
        read: "nothing",
      });
      if ("failure" in answer) return noAnswer(answer);
      const after = answer.headers["retry-after"];
      const retry_after_seconds = retryAfterSeconds(Array.isArray(after) ? after[0] : after, clock.now());
      return { status: answer.status, retry_after_seconds };
    },
    close: () => client.close(),
  };
}
