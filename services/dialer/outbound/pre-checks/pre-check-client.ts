import { request } from "undici";
import type { Clock } from "../../../../shared/clock.ts";
import { AddressRefused, egressAgent } from "../../../../shared/egress.ts";
import { addressRefusal, type AddressPolicy } from "../../../../shared/egress-address.ts";
import { exponentialMs } from "../../../../shared/backoff.ts";
import type { Answer } from "./pre-check-verdict.ts";
import type { Outgoing } from "./pre-check-request.ts";

/** How often and how long a pre-check's server is asked. */
export interface Patience {
  timeout_ms: number;
  retries: number;
  json: boolean;
}
/** Asks the servers of pre-checks. */
export interface PreCheckClient {
  /** Never rejects. A signal that aborts ends it at once. */
  ask(request: Outgoing, patience: Patience, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS_PER_HOST = 50;
const MAX_ANSWER_BYTES = 65_536;
/** Pauses between tries. */
const RETRY_FIRST_MS = 250;
const RETRY_LONGEST_MS = 4000;
/** Answers that may be another one in a moment. */
const TRY_AGAIN = new Set([408, 425, 429, 500, 502, 503, 504]);
const OK_FIRST = 200;
const OK_LAST = 299;

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";

/** What went wrong, for people: a word of the system, nothing of what was sent. */
function faultOf(error: unknown, timedOut: boolean, timeout_ms: number): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof AddressRefused || error instanceof AddressRefused)
    return `the address is refused: ${(cause as Error).message}`;
  if (timedOut) return `no answer within ${timeout_ms} ms`;
  const code = codeOf(cause) || codeOf(error);
  if (code === "UND_ERR_RES_EXCEEDED_MAX_SIZE") return `the answer is larger than ${MAX_ANSWER_BYTES} bytes`;
  return `the request failed${code === "" ? "" : ` (${code})`}`;
}

function parsed(text: string, http_status: number): Answer {
  try {
    return { http_status, json: JSON.parse(text) as unknown };
  } catch {
    return { http_status, fault: "the answer is no JSON" };
  }
}

const mayDiffer = (answer: Answer): boolean =>
  answer.http_status === null
    ? "fault" in answer && !answer.fault.startsWith("the address")
    : TRY_AGAIN.has(answer.http_status);

/** A caller that sends only to addresses the policy allows, checked again where names are resolved; follows no redirect, reads at most 64 KiB. */
export function createPreCheckClient(policy: AddressPolicy, clock: Clock): PreCheckClient {
  const agent = egressAgent(policy, {
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connectionsPerHost: CONNECTIONS_PER_HOST,
    maxAnswerBytes: MAX_ANSWER_BYTES,
  });

  const once = async (
    { url, method, headers, body }: Outgoing,
    { timeout_ms, json }: Patience,
    signal: AbortSignal,
  ): Promise<Answer> => {
    const [done, late] = [new AbortController(), new AbortController()];
    const watch = async (): Promise<void> => {
      await clock.wait(timeout_ms, done.signal);
      if (!done.signal.aborted) late.abort();
    };
    void watch();
    try {
      const answer = await request(url, {
        dispatcher: agent,
        method: method as "GET",
        headers,
        signal: AbortSignal.any([signal, late.signal]),
        ...(body === null ? {} : { body }),
      });
      const http_status = answer.statusCode;
      if (json && http_status >= OK_FIRST && http_status <= OK_LAST)
        return parsed(await answer.body.text(), http_status);
      await answer.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
      return { http_status, json: undefined };
    } catch (error) {
      return { http_status: null, fault: faultOf(error, late.signal.aborted, timeout_ms) };
    } finally {
      done.abort();
    }
  };

  return {
    async ask(outgoing, patience, signal) {
      const refusal = addressRefusal(outgoing.url, policy);
      if (refusal !== null) return { http_status: null, fault: `the address is refused: ${refusal}` };
      for (let tries = 0; ; tries++) {
        const answer = await once(outgoing, patience, signal);
        if (tries >= patience.retries || signal.aborted || !mayDiffer(answer)) return answer;
        await clock.wait(exponentialMs(tries, RETRY_FIRST_MS, RETRY_LONGEST_MS), signal);
      }
    },
    close: () => agent.destroy(),
  };
}
