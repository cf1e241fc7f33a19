import { exponentialMs } from "../../../../shared/time/backoff.ts";
import type { Clock } from "../../../../shared/time/clock.ts";
import type { AddressPolicy } from "../../../../shared/egress/egress-address.ts";
import { egressClient, type EgressFailure } from "../../../../shared/egress/egress-request.ts";
import { parsedExactly } from "../../../../shared/text/exact-numbers.ts";
import type { Outgoing } from "./pre-check-request.ts";
import { isSuccess, type Answer } from "./pre-check-verdict.ts";

/** How often and how long a pre-check's server is asked; `json`: whether the answer's body is of interest. */
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
/** Back-off between tries. */
const RETRY_FIRST_MS = 250;
const RETRY_LONGEST_MS = 4000;
/** Answers that may be another one in a moment. */
const TRANSIENT_STATUSES = new Set([408, 425, 429, 500, 502, 503, 504]);

/** What went wrong, for people: nothing of what was sent. */
function reasonOf({ failure, reason, code }: EgressFailure, timeout_ms: number): string {
  if (failure === "refused") return `the address is refused: ${reason ?? ""}`;
  if (failure === "timeout") return `no answer within ${timeout_ms} ms`;
  return `the request failed${code === null ? "" : ` (${code})`}`;
}

function jsonOf(text: string, http_status: number): Answer {
  if (Buffer.byteLength(text) > MAX_ANSWER_BYTES)
    return { http_status: null, fault: `the answer is larger than ${MAX_ANSWER_BYTES} bytes` };
  try {
    return { http_status, json: parsedExactly(text) };
  } catch {
    return { http_status, fault: "the answer is no JSON" };
  }
}

const mayDiffer = (answer: Answer): boolean =>
  answer.http_status === null
    ? "fault" in answer && !answer.fault.startsWith("the address")
    : TRANSIENT_STATUSES.has(answer.http_status);

/** A client that sends only to addresses the policy allows; follows no redirect, reads at most 64 KiB. */
export function createPreCheckClient(policy: AddressPolicy, clock: Clock): PreCheckClient {
  const egress = egressClient(policy, clock, {
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    connectionsPerHost: CONNECTIONS_PER_HOST,
  });
  const askOnce = async (outgoing: Outgoing, { timeout_ms, json }: Patience, signal: AbortSignal): Promise<Answer> => {
    // one byte more than is allowed reveals a body that is too large
    const read = json ? { firstBytes: MAX_ANSWER_BYTES + 1 } : "nothing";
    const answer = await egress.send({ ...outgoing, timeoutMs: timeout_ms, read }, signal);
    if ("failure" in answer) return { http_status: null, fault: reasonOf(answer, timeout_ms) };
    const { status, text, fault } = answer;
    if (!json || !isSuccess(status)) return { http_status: status, json: undefined };
    return fault === null ? jsonOf(text, status) : { http_status: status, fault: `the answer ${fault}` };
  };
  return {
    async ask(outgoing, patience, signal) {
      for (let tries = 0; ; tries++) {
        const answer = await askOnce(outgoing, patience, signal);
        if (tries >= patience.retries || signal.aborted || !mayDiffer(answer)) return answer;
        await clock.wait(exponentialMs(tries, RETRY_FIRST_MS, RETRY_LONGEST_MS), signal);
      }
    },
    close: () => egress.destroy(),
  };
}
