import { request } from "undici";
import type { Clock } from "../../../shared/clock.ts";
import { ADDRESS_REFUSED, egressAgent, type Resolve } from "../../../shared/egress.ts";
import { addressRefusal, type AddressPolicy } from "../../../shared/egress-address.ts";
import { retryAfterSeconds, type TryResult } from "../rules/delivery-verdict.ts";

/** One signed request, ready to go. */
export interface WebhookRequest {
  url: string;
  id: string;
  timestampSeconds: number;
  signature: string;
  body: string;
}

/** Sends requests to addresses that clients name. */
export interface WebhookClient {
  send(outgoing: WebhookRequest): Promise<TryResult>;
  close(): Promise<void>;
}

/** Until the connection stands, TLS included. */
export const CONNECT_TIMEOUT_MS = 5000;
/** Until the head of the answer is there, everything included. */
export const TOTAL_TIMEOUT_MS = 15_000;
/** Most that is read of an answer, whose body says nothing to us: enough that a connection can be used again, too little to hurt. */
export const MAX_ANSWER_BYTES = 65_536;

/** What may be other than usual: how names are resolved, and how long a connection may take. */
export interface WebhookClientBounds {
  connectTimeoutMs?: number;
  resolve?: Resolve;
}

const fieldOf = (value: unknown, name: "cause" | "code"): unknown =>
  typeof value === "object" && value !== null && name in value ? (value as Record<string, unknown>)[name] : undefined;
/** A system's or client's word for a failure, `ECONNREFUSED`. */
const CODE = /^[A-Z][A-Z0-9_]{2,60}$/;

/** Why there was no answer, in words for the list of tries: a code or our own words, never the driver's sentence, which may hold anything. */
function failureOf(error: unknown, cut: boolean): TryResult {
  const codes = [fieldOf(fieldOf(error, "cause"), "code"), fieldOf(error, "code")];
  if (codes.includes(ADDRESS_REFUSED)) return { status: null, refused: true, error: "the address is not allowed" };
  if (cut) return { status: null, refused: false, error: `no answer within ${TOTAL_TIMEOUT_MS / 1000} s` };
  const code = codes.find((c): c is string => typeof c === "string" && CODE.test(c));
  return { status: null, refused: false, error: code ?? "the connection failed" };
}

/** A sender over HTTP/1.1 with keep-alive. Redirects are not followed; at most 64 kB of an answer are read, and not unpacked. The total bound runs on the clock given. */
export function webhookClient(policy: AddressPolicy, clock: Clock, bounds: WebhookClientBounds = {}): WebhookClient {
  const agent = egressAgent(
    policy,
    { connectTimeoutMs: bounds.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, maxAnswerBytes: MAX_ANSWER_BYTES },
    bounds.resolve,
  );

  async function exchange(o: WebhookRequest, signal: AbortSignal): Promise<TryResult> {
    const answer = await request(o.url, {
      method: "POST",
      dispatcher: agent,
      body: o.body,
      signal,
      headers: {
        "content-type": "application/json",
        "user-agent": "callagent",
        "webhook-id": o.id,
        "webhook-timestamp": String(o.timestampSeconds),
        "webhook-signature": o.signature,
      },
    });
    await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    const after = answer.headers["retry-after"];
    return {
      status: answer.statusCode,
      retry_after_seconds: retryAfterSeconds(Array.isArray(after) ? after[0] : after, clock.now()),
    };
  }

  return {
    async send(outgoing) {
      const refusal = addressRefusal(outgoing.url, policy);
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
