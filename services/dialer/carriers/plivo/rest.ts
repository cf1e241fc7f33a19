import { isRecord } from "../../../../shared/json.ts";
import { fail } from "../../../../shared/errors.ts";
import { answeredAt, errorCodeOf, Refusal } from "../carrier-errors.ts";
import { ASK_TIMEOUT_MS, DIAL_TIMEOUT_MS, type DialRequest, type RecordingStream } from "../carrier-port.ts";
import { fetchLeaving, type HttpAnswer, type Send } from "../departure.ts";
import { headWithin, streamOf } from "../recording-stream.ts";
import { refusalOf } from "./refusals.ts";

/** Where Plivo's API is. */
const API = "https://api.plivo.com";
/** Where Plivo keeps recordings; it asks for the account's credentials where the account is set so. */
const MEDIA = "https://media.plivo.com";
/** Files may lie at other hosts of Plivo, older ones at its storage's; neither gets credentials. */
const FILE_HOST = /(?:^|\.)plivo\.com$/;
const STORAGE_HOST = "s3.amazonaws.com";
/** Where one of those may send the reader on to. */
const BEHIND = /\.amazonaws\.com$/;

/** A file's address, and whether the account's credentials may go there. */
export interface FileAddress {
  url: URL;
  ours: boolean;
}

/**
 * Where a file is fetched from; null: it must not be fetched from there. `api_base`: another origin for all that is Plivo's, a proxy or a
 * simulator.
 */
export function fileAt(address: string, api_base: string | null, redirected: boolean): FileAddress | null {
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const known = url.origin === API || url.origin === MEDIA;
  if (api_base !== null && known) return { url: new URL(api_base + url.pathname + url.search), ours: true };
  if (known || url.origin === (api_base === null ? API : new URL(api_base).origin)) return { url, ours: true };
  const theirs =
    FILE_HOST.test(url.hostname) || url.hostname === STORAGE_HOST || (redirected && BEHIND.test(url.hostname));
  if (!theirs || url.port !== "" || url.username !== "" || !/^https?:$/.test(url.protocol)) return null;
  url.protocol = "https:"; // Plivo's own examples say http
  return { url, ours: false };
}

/** What the REST client needs. `api_base` null: Plivo's own. */
export interface RestOptions {
  auth_id: string;
  auth_token: string;
  api_base: string | null;
}

/** A JSON object as Plivo answers it; without fields where the answer has no body (204). */
export type Answer = Record<string, unknown>;

/** Plivo's REST API of one account. Answers of 400 and above are thrown as Refusal; nothing is ever sent twice. */
export interface PlivoRest {
  /** Rings a phone. */
  dial(body: Answer, may_leave: DialRequest["may_leave"]): Promise<Answer>;
  get(path: string, query?: Record<string, string>): Promise<Answer>;
  post(path: string, body: Answer): Promise<Answer>;
  remove(path: string): Promise<void>;
  /** Opens a file of the account; null: it is not there. RECORDING_NOT_FOUND when the address is not Plivo's, DEPENDENCY_DOWN. */
  open(url: string): Promise<RecordingStream | null>;
}

const MAX_REDIRECTS = 3;
const NOT_FOUND_STATUSES = new Set([403, 404, 410]);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** An answer's JSON object; {} for one without a body. Throws SyntaxError for anything else, Refusal from 300 on. */
async function answerOf(response: HttpAnswer): Promise<Answer> {
  const text = await response.text();
  const body = parsed(text);
  if (response.status >= 400)
    throw refusalOf(
      response.status,
      body,
      response.headers.get("retry-after"),
      answeredAt(response.headers.get("date")),
    );
  if (text.trim() === "") return {};
  if (!isRecord(body)) throw new SyntaxError("the carrier's answer is no JSON object");
  return body;
}

const headOf = (url: URL, headers: Record<string, string>): Promise<Response> =>
  headWithin(ASK_TIMEOUT_MS, (signal) => fetch(url, { headers, redirect: "manual", signal }));

/** A client on Node's own fetch (the plivo package has its host built in, and repeats requests that ring phones). */
export function openRest({ auth_id, auth_token, api_base }: RestOptions): PlivoRest {
  const authorization = `Basic ${Buffer.from(`${auth_id}:${auth_token}`).toString("base64")}`;
  const base = `${api_base ?? API}/v1/Account/${encodeURIComponent(auth_id)}/`;

  const ask = async (
    method: string,
    path: string,
    timeout_ms: number,
    body?: Answer,
    send: Send = fetch,
  ): Promise<Answer> =>
    answerOf(
      await send(base + path, {
        method,
        redirect: "error",
        signal: AbortSignal.timeout(timeout_ms),
        headers: { authorization, accept: "application/json", ...(body ? { "content-type": "application/json" } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
      }),
    );

  const open = async (address: string): Promise<RecordingStream | null> => {
    let file = fileAt(address, api_base, false);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      if (file === null)
        fail(
          "RECORDING_NOT_FOUND",
          "The recording's address is not one of the carrier's: nothing is fetched from there.",
        );
      const response = await headOf(file.url, file.ours ? { authorization } : {}).catch((error: unknown) =>
        fail("DEPENDENCY_DOWN", `The carrier's recording can't be reached (${errorCodeOf(error)}).`),
      );
      if (response.status === 200) return streamOf(response);
      await response.body?.cancel();
      const next = response.headers.get("location");
      if (response.status < 300 || response.status > 399 || next === null) {
        if (NOT_FOUND_STATUSES.has(response.status)) return null;
        fail("DEPENDENCY_DOWN", `The carrier does not give the recording (HTTP ${response.status}).`);
      }
      file = URL.canParse(next, file.url.href) ? fileAt(new URL(next, file.url.href).href, api_base, true) : null;
    }
    return fail("DEPENDENCY_DOWN", "The carrier sends the recording's reader from address to address.");
  };

  return {
    dial: (body, may_leave) => ask("POST", "Call/", DIAL_TIMEOUT_MS, body, fetchLeaving(may_leave)),
    get: (path, query = {}) =>
      ask("GET", Object.keys(query).length === 0 ? path : `${path}?${new URLSearchParams(query)}`, ASK_TIMEOUT_MS),
    post: (path, body) => ask("POST", path, ASK_TIMEOUT_MS, body),
    remove: async (path) => {
      await ask("DELETE", path, ASK_TIMEOUT_MS);
    },
    open,
  };
}

/** Path of a call by its leg, or by its request while it has none. */
export const callPath = (leg: string): string => `Call/${encodeURIComponent(leg)}/`;

/** True when Plivo knows no such call (any more). */
export const isMissing = (error: unknown): boolean => error instanceof Refusal && error.status === 404;
