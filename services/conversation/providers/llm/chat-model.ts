import type { Clock } from "../../../../shared/clock.ts";
import type { ModelCall } from "../../dialogue/chat-messages.ts";
import { startTimer } from "../../timer.ts";
import { abortedError } from "../model-errors.ts";
import { failover, type FailoverListener } from "../failover.ts";
import {
  ModelError,
  type ChatModel,
  type ChatPiece,
  type ChatRequest,
  type ChatStream,
  type ModelAnswer,
} from "../port.ts";

/** Longest silence of the model before the first token and between tokens. */
export const TOKEN_TIMEOUT_MS = 4000;
/** The same where nobody waits on the line: a model that judges may think first. */
export const EVALUATION_TOKEN_TIMEOUT_MS = 20_000;
/** Longest whole answer. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** Of each endpoint. */
const TRIES = 2;
/** An answer is a few spoken sentences: what comes after this is not listened to. */
const MAX_ANSWER_CHARS = 4000;
const MAX_CALLS = 8;
const MAX_ARGUMENT_CHARS = 16_000;

/** Bites when nothing is fed for `ms`. */
function watchdog(clock: Clock, ms: number, bite: () => void): { feed(): void; stop(): void } {
  let stop = (): void => undefined;
  return {
    feed() {
      stop();
      stop = startTimer(clock, ms, bite);
    },
    stop: () => stop(),
  };
}

interface Reading {
  text: string;
  calls: Map<number, { id: string; name: string; arguments: string }>;
  prompt_tokens: number;
  completion_tokens: number;
  firstAt: number | null;
}

/** Adds a piece; false when the answer has become too long to go on. */
function take(reading: Reading, piece: ChatPiece, onText: (text: string) => void): boolean {
  if (piece.type === "text") {
    reading.text += piece.text;
    onText(piece.text);
    return reading.text.length < MAX_ANSWER_CHARS;
  }
  if (piece.type === "usage") {
    reading.prompt_tokens = piece.prompt_tokens;
    reading.completion_tokens = piece.completion_tokens;
    return true;
  }
  const known = reading.calls.get(piece.index) ?? { id: "", name: "", arguments: "" };
  if (!reading.calls.has(piece.index) && reading.calls.size >= MAX_CALLS) return true;
  reading.calls.set(piece.index, {
    id: known.id || piece.id,
    name: known.name || piece.name,
    arguments: known.arguments + piece.arguments,
  });
  return known.arguments.length + piece.arguments.length <= MAX_ARGUMENT_CHARS;
}

/** Reads one stream to its end; rejects as soon as the signal aborts, even if the stream does not. */
async function readAll(
  pieces: AsyncIterable<ChatPiece>,
  signal: AbortSignal,
  each: (piece: ChatPiece) => boolean,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  const aborted = new Promise<never>((_resolve, reject) => {
    const stop = (): void => reject(abortedError());
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  aborted.catch(() => undefined);
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => undefined);
      const { done, value } = await Promise.race([next, aborted]);
      if (done || !each(value)) return;
    }
  } finally {
    iterator.return?.()?.catch(() => undefined);
  }
}

interface Limits {
  readonly clock: Clock;
  readonly token_timeout_ms: number;
}

/** Asks one endpoint once. */
async function ask(
  open: ChatStream,
  { clock, token_timeout_ms }: Limits,
  request: ChatRequest,
  signal: AbortSignal,
  onText: (text: string) => void,
  reading: Reading,
): Promise<void> {
  const late = new AbortController();
  const bite = (): void => late.abort();
  const token = watchdog(clock, token_timeout_ms, bite);
  const whole = watchdog(clock, ANSWER_TIMEOUT_MS, bite);
  const either = AbortSignal.any([signal, late.signal]);
  token.feed();
  whole.feed();
  try {
    await readAll(open(request, either), either, (piece) => {
      token.feed();
      reading.firstAt ??= clock.monotonicMs();
      return take(reading, piece, onText);
    });
  } catch (error) {
    if (signal.aborted) throw abortedError();
    if (late.signal.aborted)
      throw new ModelError("MODEL_TIMEOUT", `the model was silent for ${token_timeout_ms} ms`, true);
    throw error instanceof ModelError ? error : new ModelError("MODEL_ERROR", "the model's answer broke off", true);
  } finally {
    token.stop();
    whole.stop();
  }
}

function answerOf(reading: Reading, began: number, ended: number, tries: number): ModelAnswer {
  const calls = [...reading.calls.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, c]): ModelCall => ({ ...c, id: c.id || `call_${index}` }));
  return {
    text: reading.text,
    calls,
    first_token_ms: (reading.firstAt ?? ended) - began,
    total_ms: ended - began,
    prompt_tokens: reading.prompt_tokens,
    completion_tokens: reading.completion_tokens,
    tries,
  };
}

/**
 * A chat model over a stream: time-outs, one retry before the first token, then the second endpoint where there is one; calls put together.
 * An endpoint that has failed rests: it is not asked first for a while. `token_timeout_ms`: longest silence of it.
 */
export function chatModel(
  open: ChatStream,
  clock: Clock,
  fallback: ChatStream | null = null,
  resting?: FailoverListener,
  token_timeout_ms = TOKEN_TIMEOUT_MS,
): ChatModel {
  const asked = failover(open, fallback, clock, resting);
  return {
    async answer(request, { signal, onText }): Promise<ModelAnswer> {
      const began = clock.monotonicMs();
      const endpoints = asked.endpoints();
      let [tries, at] = [0, 0];
      for (let here = 1; ; here++) {
        const reading: Reading = { text: "", calls: new Map(), prompt_tokens: 0, completion_tokens: 0, firstAt: null };
        const endpoint = endpoints[at] ?? open;
        tries++;
        try {
          await ask(endpoint, { clock, token_timeout_ms }, request, signal, onText, reading);
          return answerOf(reading, began, clock.monotonicMs(), tries);
        } catch (error) {
          // what has been spoken can't be taken back
          if (reading.firstAt !== null || signal.aborted) throw error;
          if (error instanceof ModelError && error.retryable && here < TRIES) continue;
          asked.failed(endpoint, error);
          if (++at >= endpoints.length) throw error;
          here = 0;
        }
      }
    },
  };
}
