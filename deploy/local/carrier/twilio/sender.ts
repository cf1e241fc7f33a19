import { randomUUID } from "node:crypto";
import type { Hook } from "./params.ts";
import { sign } from "./signature.ts";

/** What became of a request. `status` null: no answer came, `error` says why. */
export interface Sent { status: number | null; text: string; attempts: number; error?: string }

/** Makes signed requests to the service as Twilio does. */
export interface Sender {
  /** Form fields, signed; one more try after a connection failure or a 5xx. Never rejects. */
  send(hook: Hook, fields: Record<string, string>, authToken: string): Promise<Sent>;
  /** Resolves after real ms; never once closed. */
  pause(ms: number): Promise<void>;
  readonly closed: AbortSignal;
  close(): void;
}

/** Twilio waits this long for an answer, real ms. */
const REQUEST_TIMEOUT_MS = 15_000;
const MAX_ATTEMPTS = 2;
/** The second try comes this much later, real ms. */
const RETRY_AFTER_MS = 250;
const MAX_DOCUMENT_CHARS = 64_000;

async function request(hook: Hook, form: URLSearchParams, authToken: string, token: string, closed: AbortSignal): Promise<{ status: number; text: string }> {
  const get = hook.method === "GET";
  const url = get ? `${hook.url}${hook.url.includes("?") ? "&" : "?"}${form}` : hook.url;
  const response = await fetch(url, {
    method: hook.method, redirect: "follow", signal: AbortSignal.any([closed, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
    headers: {
      "x-twilio-signature": sign(authToken, url, get ? undefined : form), "i-twilio-idempotency-token": token, "user-agent": "TwilioProxy/1.1", accept: "*/*",
      ...(get ? {} : { "content-type": "application/x-www-form-urlencoded; charset=utf-8" }),
    },
    ...(get ? {} : { body: form.toString() }),
  });
  return { status: response.status, text: (await response.text()).slice(0, MAX_DOCUMENT_CHARS) };
}

/** Ready to send. */
export function createSender(): Sender {
  const closing = new AbortController();
  const waiting = new Set<NodeJS.Timeout>();
  const pause = (ms: number): Promise<void> => new Promise((resolve) => {
    if (closing.signal.aborted) return;
    const timer = setTimeout(() => { waiting.delete(timer); resolve(); }, ms);
    waiting.add(timer);
  });
  return {
    pause,
    closed: closing.signal,
    async send(hook, fields, authToken) {
      const token = randomUUID(); // the same on a second try
      let last: Sent = { status: null, text: "", attempts: 0, error: "the carrier is closing" };
      for (let attempt = 1; attempt <= MAX_ATTEMPTS && !closing.signal.aborted; attempt += 1) {
        if (attempt > 1) await pause(RETRY_AFTER_MS);
        try {
          const { status, text } = await request(hook, new URLSearchParams(fields), authToken, token, closing.signal);
          last = { status, text, attempts: attempt };
          if (status < 500) return last;
        } catch (error) {
          const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
          last = { status: null, text: "", attempts: attempt, error: cause };
        }
      }
      return last;
    },
    close() {
      closing.abort();
      for (const timer of waiting) clearTimeout(timer);
      waiting.clear();
    },
  };
}
