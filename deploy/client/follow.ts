import { authorizationOf, parsedOf, targetOf, waitOf, type ClientOptions } from "./client.ts";
import { ApiFailure, failureOf, noAnswerOf } from "./failures.ts";
import { waitBeforeRetry } from "./retries.ts";
import type { AnswerOf } from "./shapes.ts";
import { messagesOf } from "./stream-messages.ts";

/** An event with the cursor to go on behind it. */
export type Followed = AnswerOf<"GET", "/events">["events"][number];

/** What is followed, and from where on. */
export interface FollowOptions {
  /** One lead; absent: all leads of the token's scope. */
  lead_id?: string;
  /** The cursor of the last event that was worked on; "end": from now on; absent: from the oldest event that is kept. */
  after?: string;
  /** Called where events behind the cursor are no longer kept, so that some were missed; absent: EventsMissed is thrown. */
  missed?: () => void;
}

/** Events behind the cursor are no longer kept: the reader was away for longer than EVENTS_RETENTION_DAYS. */
export class EventsMissed extends Error {
  override readonly name = "EventsMissed";
}

/** A server that sends nothing for so long is gone: it sends a comment every 15 s. ms. */
const QUIET_MS = 45_000;
/** Before a stream that ended is opened again, ms. */
const AGAIN_MS = 2000;
/** Streams are opened again for as long as somebody follows. */
const FOR_EVER = Number.MAX_SAFE_INTEGER;

/** A signal that fires where nothing came for a while; `heard` puts it off. */
function quietSignal(ms: number): { signal: AbortSignal; heard(): void; stop(): void } {
  const over = new AbortController();
  const fire = (): void => over.abort(new DOMException("nothing came", "TimeoutError"));
  let timer = setTimeout(fire, ms);
  const stop = (): void => clearTimeout(timer);
  return {
    signal: over.signal,
    heard() {
      stop();
      timer = setTimeout(fire, ms);
    },
    stop,
  };
}

/** One stream, until it ends; `event` null: a cursor alone. ApiFailure, NoAnswer, EventsMissed. */
async function* stream(
  options: ClientOptions,
  follow: FollowOptions,
  cursor: string | undefined,
): AsyncGenerator<{ cursor: string; event: Followed["event"] | null }> {
  const { base, signal, timeout_ms = QUIET_MS } = options;
  const authorization = await authorizationOf(options);
  const path = follow.lead_id === undefined ? "/events" : "/leads/{lead_id}/events";
  const quiet = quietSignal(timeout_ms);
  // whoever stops reading closes the stream
  const left = new AbortController();
  try {
    const answer = await (options.fetch ?? fetch)(`${base}${targetOf(path, { path: { lead_id: follow.lead_id } })}`, {
      signal: AbortSignal.any([quiet.signal, left.signal, ...(signal === undefined ? [] : [signal])]),
      headers: {
        accept: "text/event-stream",
        ...authorization,
        ...(cursor === undefined ? {} : { "last-event-id": cursor }),
      },
    });
    if (!answer.ok || answer.body === null) {
      const text = await answer.text();
      throw failureOf(answer.status, text, parsedOf(text, false, base), answer.headers);
    }
    for await (const message of messagesOf(answer.body, quiet.heard)) {
      if (message.event === "end") return;
      if (message.event === "expired") {
        if (follow.missed === undefined) throw new EventsMissed("Events behind the cursor are no longer kept.");
        follow.missed();
      } else if (message.id !== "" && message.data === "") yield { cursor: message.id, event: null };
      else if (message.id !== "") yield { cursor: message.id, event: JSON.parse(message.data) as Followed["event"] };
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof ApiFailure || error instanceof EventsMissed) throw error;
    throw noAnswerOf(error, `GET ${base}${path}`, timeout_ms);
  } finally {
    quiet.stop();
    left.abort();
  }
}

/**
 * Every event, in order, as it happens: comes back by itself behind the last one where a stream ends or breaks, for as long as it is read.
 * Work on an event before you ask for the next, and keep its `cursor`: after a fault an event may come twice, with the same `id`.
 * Ends by the signal of the options. ApiFailure where the service refuses, EventsMissed.
 */
export async function* follow(options: ClientOptions, what: FollowOptions = {}): AsyncGenerator<Followed> {
  const { chance = Math.random } = options;
  const wait = waitOf(options);
  let cursor = what.after;
  for (let tries = 1; ;) {
    let ms: number | null = AGAIN_MS;
    try {
      for await (const followed of stream(options, what, cursor)) {
        tries = 1;
        const { event } = followed;
        if (event !== null) yield { cursor: followed.cursor, event };
        ({ cursor } = followed);
      }
    } catch (error) {
      ms = waitBeforeRetry(error, { repeatable: true, tries: tries++, retries: FOR_EVER }, chance());
      if (ms === null) throw error;
    }
    await wait(ms);
  }
}
