import { request, type Dispatcher } from "undici";
import { decodedText, type DecodedText } from "../text/encoded-text.ts";
import type { Clock } from "../time/clock.ts";
import { startDeadline } from "../time/deadline.ts";
import { addressRefusal, type AddressPolicy } from "./egress-address.ts";
import { ADDRESS_REFUSED, egressAgent, type EgressBounds } from "./egress-agent.ts";
import type { Resolve } from "./network-names.ts";

/** One request to an address that a client named. Redirects are not followed and answers are not unpacked. */
export interface EgressRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
  /** Until the answer is read, everything included, in ms of the client's clock. */
  timeoutMs: number;
  /** What of the answer's body is kept: all of it (more than the agent's bound is a failure), at most so many bytes from its beginning, or nothing. */
  read: "all" | { firstBytes: number } | "nothing";
}

/** The head of an answer and what was read of its body. */
export interface EgressAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** Why the body can't be read as text, the end of a sentence about the answer; null: it can, or nothing of it was read. */
  fault: string | null;
}

/**
 * Why there was no answer. `refused`: the address is not allowed, `reason` says why; `timeout`; `aborted`: by the caller's signal; `too_large`; `failed`:
 * anything else. `code` is the system's or client's code such as ECONNREFUSED, never a sentence, which may hold anything.
 */
export interface EgressFailure {
  failure: "refused" | "timeout" | "aborted" | "too_large" | "failed";
  reason: string | null;
  code: string | null;
}

/** Sends requests to addresses that clients name; never rejects. */
export interface EgressClient {
  send(what: EgressRequest, signal?: AbortSignal): Promise<EgressAnswer | EgressFailure>;
  /** Waits for requests under way. */
  close(): Promise<void>;
  /** Cuts requests under way off. */
  destroy(): Promise<void>;
}

const CODE = /^[A-Z][A-Z0-9_]{2,60}$/;
const TOO_LARGE = "UND_ERR_RES_EXCEEDED_MAX_SIZE";
/** Read of an unused body: enough that the connection can be used again, too little to hurt. */
const DISCARDED_BYTES = 65_536;

const fieldOf = (value: unknown, name: "cause" | "code" | "message"): unknown =>
  typeof value === "object" && value !== null && name in value ? (value as Record<string, unknown>)[name] : undefined;

function failureOf(error: unknown, expired: boolean, aborted: boolean): EgressFailure {
  const cause = fieldOf(error, "cause");
  const codes = [fieldOf(cause, "code"), fieldOf(error, "code")];
  const code = codes.find((c): c is string => typeof c === "string" && CODE.test(c)) ?? null;
  if (codes.includes(ADDRESS_REFUSED)) {
    const reason = fieldOf(fieldOf(cause, "code") === ADDRESS_REFUSED ? cause : error, "message");
    return { failure: "refused", reason: typeof reason === "string" ? reason : null, code: ADDRESS_REFUSED };
  }
  if (expired) return { failure: "timeout", reason: null, code };
  if (aborted) return { failure: "aborted", reason: null, code };
  return { failure: code === TOO_LARGE ? "too_large" : "failed", reason: null, code };
}

async function readBody(
  { body, headers }: Pick<Dispatcher.ResponseData, "body" | "headers">,
  read: EgressRequest["read"],
): Promise<DecodedText> {
  const type = headers["content-type"];
  const contentType = Array.isArray(type) ? type[0] : type;
  if (read === "all") return decodedText(await body.bytes(), contentType);
  if (read === "nothing") {
    await body.dump({ limit: DISCARDED_BYTES }).catch(() => undefined);
    return { text: "", fault: null };
  }
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    size += part.length;
    parts.push(part);
    if (size > read.firstBytes) break;
  }
  return decodedText(Buffer.concat(parts).subarray(0, read.firstBytes), contentType, size > read.firstBytes);
}

/** A client over HTTP/1.1 with keep-alive whose addresses are checked before the request and again where names are resolved. */
export function egressClient(
  policy: AddressPolicy,
  clock: Clock,
  bounds: EgressBounds,
  resolve?: Resolve,
): EgressClient {
  const agent = egressAgent(policy, bounds, resolve);
  return {
    async send({ url, method, headers, body, timeoutMs, read }, signal) {
      const refusal = addressRefusal(url, policy);
      if (refusal !== null) return { failure: "refused", reason: refusal, code: ADDRESS_REFUSED };
      const deadline = startDeadline(clock, timeoutMs, ...(signal === undefined ? [] : [signal]));
      try {
        const answer = await request(url, { dispatcher: agent, method, headers, body, signal: deadline.signal });
        return { status: answer.statusCode, headers: answer.headers, ...(await readBody(answer, read)) };
      } catch (error) {
        return failureOf(error, deadline.expired, signal?.aborted ?? false);
      } finally {
        deadline.clear();
      }
    },
    close: () => agent.close(),
    destroy: () => agent.destroy(),
  };
}
