import { setMaxListeners } from "node:events";
import type { Clock } from "../../../shared/time/clock.ts";

/** Where something is to be reported or asked: URL and method. */
export interface Hook {
  url: string;
  method: "GET" | "POST";
}

/** A request to the service, signed and ready. `body` null: none. */
export interface Outgoing extends Hook {
  headers: Record<string, string>;
  body: string | null;
}

/** What became of a request. `status` null: no answer came, `error` says why. */
export interface Sent {
  status: number | null;
  text: string;
  attempts: number;
  error?: string;
}

/** Makes requests to the service as carriers do. */
export interface Sender {
  /** One more try, the same to the byte, after a connection failure or a 5xx. Never rejects. */
  send(outgoing: Outgoing): Promise<Sent>;
  /** Resolves after real ms; never once closed. */
  pause(ms: number): Promise<void>;
  readonly closed: AbortSignal;
  close(): void;
}

/** Carriers wait this long for an answer, real ms. */
const REQUEST_TIMEOUT_MS = 15_000;
const MAX_ATTEMPTS = 2;
/** The second try comes this much later, real ms. */
const RETRY_AFTER_MS = 250;
const MAX_DOCUMENT_CHARS = 128_000;

const FORM = "application/x-www-form-urlencoded; charset=utf-8";

/** A form sent to a hook: in the query of a GET, in the body of a POST. `sign` gives the headers that prove who sends it. */
export function formTo(
  hook: Hook,
  fields: Record<string, string>,
  sign: (url: string, form: URLSearchParams | undefined) => Record<string, string>,
): Outgoing {
  const form = new URLSearchParams(fields);
  if (hook.method === "POST")
    return {
      ...hook,
      headers: { accept: "*/*", "content-type": FORM, ...sign(hook.url, form) },
      body: form.toString(),
    };
  const url = `${hook.url}${hook.url.includes("?") ? "&" : "?"}${form}`;
  return { url, method: "GET", headers: { accept: "*/*", ...sign(url, undefined) }, body: null };
}

async function request(
  { url, method, headers, body }: Outgoing,
  closed: AbortSignal,
): Promise<{ status: number; text: string }> {
  const response = await fetch(url, {
    method,
    redirect: "follow",
    signal: AbortSignal.any([closed, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    headers,
    ...(body === null ? {} : { body }),
  });
  return { status: response.status, text: (await response.text()).slice(0, MAX_DOCUMENT_CHARS) };
}

/** Ready to send. */
export function createSender(clock: Clock): Sender {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every pause listens for it
  const pause = async (ms: number): Promise<void> => {
    await clock.wait(ms, closing.signal);
    if (closing.signal.aborted) await new Promise<never>(() => undefined);
  };
  return {
    pause,
    closed: closing.signal,
    async send(outgoing) {
      let last: Sent = { status: null, text: "", attempts: 0, error: "the carrier is closing" };
      for (let attempt = 1; attempt <= MAX_ATTEMPTS && !closing.signal.aborted; attempt += 1) {
        if (attempt > 1) await pause(RETRY_AFTER_MS);
        try {
          const { status, text } = await request(outgoing, closing.signal);
          last = { status, text, attempts: attempt };
          if (status < 500) return last;
        } catch (error) {
          const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
          last = { status: null, text: "", attempts: attempt, error: cause };
        }
      }
      return last;
    },
    close: () => closing.abort(),
  };
}
