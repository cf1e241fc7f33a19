import { answeredAt } from "../carrier-errors.ts";
import { ASK_TIMEOUT_MS, DIAL_TIMEOUT_MS, type DialRequest } from "../carrier-port.ts";
import { fetchLeaving, type HttpAnswer, type Send } from "../departure.ts";
import { refusalOf } from "./refusals.ts";
import { parsed, recordOf } from "../json.ts";

/** What the REST client needs. `api_base` null: Telnyx's own. */
export interface RestOptions {
  api_key: string;
  api_base: string | null;
}

/** Telnyx's API, as far as it is used here. Answers of 300 and above are thrown as Refusal; nothing is ever sent twice. */
export interface Rest {
  /** Where the API is, without its version. */
  readonly origin: string;
  /** Asks with a body (POST) or without (GET) and gives the answer's `data` beside what stands around it. */
  post(path: string, body: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Rings a phone. */
  dial(body: Record<string, unknown>, may_leave: DialRequest["may_leave"]): Promise<Record<string, unknown>>;
  get(path: string, query?: Record<string, string>): Promise<Record<string, unknown>>;
}

const TELNYX = "https://api.telnyx.com";
/** Longest answer that is read: a page of call events with their raw bodies. */
const MAX_ANSWER_BYTES = 8_388_608;
const FIRST_BAD_STATUS = 300;

/** A part of a path, escaped as little as Telnyx's own client does: call ids hold colons. */
export const pathPart = (text: string): string => text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@]+/g, encodeURIComponent);

async function bounded(response: HttpAnswer): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) throw new RangeError(`the carrier's answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Telnyx's REST API over fetch. A redirect is not followed: the key goes to this origin only. */
export function openRest({ api_key, api_base }: RestOptions): Rest {
  const origin = api_base ?? TELNYX;
  const ask = async (
    method: string,
    path: string,
    body: Record<string, unknown> | null,
    timeout_ms: number,
    send: Send = fetch,
  ): Promise<Record<string, unknown>> => {
    const response = await send(`${origin}/v2${path}`, {
      method,
      redirect: "manual",
      signal: AbortSignal.timeout(timeout_ms),
      headers: {
        authorization: `Bearer ${api_key}`,
        accept: "application/json",
        ...(body === null ? {} : { "content-type": "application/json" }),
      },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
    const answer = parsed(await bounded(response));
    if (response.status >= FIRST_BAD_STATUS)
      throw refusalOf(
        response.status,
        answer,
        response.headers.get("retry-after"),
        answeredAt(response.headers.get("date")),
      );
    return recordOf(answer);
  };
  return {
    origin,
    post: (path, body) => ask("POST", path, body, ASK_TIMEOUT_MS),
    dial: (body, may_leave) => ask("POST", "/calls", body, DIAL_TIMEOUT_MS, fetchLeaving(may_leave)),
    get: (path, query = {}) =>
      ask(
        "GET",
        Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`,
        null,
        ASK_TIMEOUT_MS,
      ),
  };
}
