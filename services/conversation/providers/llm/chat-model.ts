import type { Clock } from "../../../../shared/time/clock.ts";
import type { ModelCall } from "../../dialogue/chat-messages.ts";
import { startDeadline } from "../../../../shared/time/deadline.ts";
import { abortedError } from "../model-errors.ts";
import { askInOrder, failover, type FailoverListener } from "../failover.ts";
import {
  ModelError,
  type AnswerCut,
  type ChatModel,
  type ChatPiece,
  type ChatRequest,
  type ChatStream,
  type ModelAnswer,
} from "../port.ts";
import { stepTimeout } from "../step-timeout.ts";

/** Longest silence of the model before the first token and between tokens, ms. */
export const TOKEN_TIMEOUT_MS = 4000;
/** The same for the evaluation of an ended conversation: the model may think first. */
export const EVALUATION_TOKEN_TIMEOUT_MS = 20_000;
/** Longest whole answer, ms. */
export const ANSWER_TIMEOUT_MS = 30_000;
/** An answer is a few spoken sentences: text beyond this is not read. */
const MAX_ANSWER_CHARS = 4000;
const MAX_CALLS = 8;
const MAX_ARGUMENT_CHARS = 16_000;

type AnswerHandling = Parameters<ChatModel["answer"]>[1];

/** The answer received so far. */
interface DraftAnswer {
  text: string;
  calls: Map<number, { id: string; name: string; arguments: string }>;
  prompt_tokens: number;
  completion_tokens: number;
  cut: AnswerCut | null;
  firstAt: number | null;
}

const emptyDraft = (): DraftAnswer => ({
  text: "",
  calls: new Map(),
  prompt_tokens: 0,
  completion_tokens: 0,
  cut: null,
  firstAt: null,
});

/** Adds a piece; false when the answer is too long to go on. */
function addPiece(draft: DraftAnswer, piece: ChatPiece, onText: (text: string) => void): boolean {
  if (piece.type === "text") {
    draft.text += piece.text;
    onText(piece.text);
    if (draft.text.length < MAX_ANSWER_CHARS) return true;
    draft.cut = "ANSWER_CUT";
    return false;
  }
  if (piece.type === "cut") {
    draft.cut = piece.code;
    return true;
  }
  if (piece.type === "usage") {
    draft.prompt_tokens = piece.prompt_tokens;
    draft.completion_tokens = piece.completion_tokens;
    return true;
  }
  const known = draft.calls.get(piece.index) ?? { id: "", name: "", arguments: "" };
  if (!draft.calls.has(piece.index) && draft.calls.size >= MAX_CALLS) return true;
  draft.calls.set(piece.index, {
    id: known.id || piece.id,
    name: known.name || piece.name,
    arguments: known.arguments + piece.arguments,
  });
  return known.arguments.length + piece.arguments.length <= MAX_ARGUMENT_CHARS;
}

interface Limits {
  readonly clock: Clock;
  readonly token_timeout_ms: number;
}

/** Asks one endpoint once; `draft` collects the answer so far. */
async function ask(
  open: ChatStream,
  { clock, token_timeout_ms }: Limits,
  request: ChatRequest,
  { signal, onText }: AnswerHandling,
  draft: DraftAnswer,
): Promise<void> {
  const whole = startDeadline(clock, ANSWER_TIMEOUT_MS, signal);
  const timeout = stepTimeout(clock, whole.signal, "the model");
  const pieces = open(request, timeout.signal)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await timeout.wait(pieces.next(), token_timeout_ms);
      if (done) return;
      draft.firstAt ??= clock.monotonicMs();
      if (!addPiece(draft, value, onText)) return;
    }
  } catch (error) {
    if (signal.aborted) throw abortedError();
    if (whole.expired) throw new ModelError("MODEL_TIMEOUT", `the model was silent for ${token_timeout_ms} ms`, true);
    throw error instanceof ModelError ? error : new ModelError("MODEL_ERROR", "the model's answer broke off", true);
  } finally {
    whole.clear();
    pieces.return?.()?.catch(() => undefined);
  }
}

function answerOf(draft: DraftAnswer, began: number, ended: number, tries: number): ModelAnswer {
  const calls = [...draft.calls.entries()]
    .sort(([a], [b]) => a - b)
    .map(([index, c]): ModelCall => ({ ...c, id: c.id || `call_${index}` }));
  return {
    text: draft.text,
    calls,
    ...(draft.cut === null ? {} : { cut: draft.cut }),
    first_token_ms: (draft.firstAt ?? ended) - began,
    total_ms: ended - began,
    prompt_tokens: draft.prompt_tokens,
    completion_tokens: draft.completion_tokens,
    tries,
  };
}

/**
 * A chat model over a stream, with time-outs, one retry before the first token, and then the second endpoint where there is one.
 * `token_timeout_ms`: longest silence of the model.
 */
export function chatModel(
  open: ChatStream,
  clock: Clock,
  fallback: ChatStream | null = null,
  onFailover?: FailoverListener,
  token_timeout_ms = TOKEN_TIMEOUT_MS,
): ChatModel {
  const order = failover(open, fallback, clock, onFailover);
  return {
    async answer(request, how): Promise<ModelAnswer> {
      const began = clock.monotonicMs();
      let tries = 0;
      let draft = emptyDraft();
      const askOnce = async (endpoint: ChatStream): Promise<ModelAnswer> => {
        tries++;
        draft = emptyDraft();
        await ask(endpoint, { clock, token_timeout_ms }, request, how, draft);
        return answerOf(draft, began, clock.monotonicMs(), tries);
      };
      // text that was spoken can't be taken back
      return askInOrder(order, askOnce, () => draft.firstAt !== null || how.signal.aborted);
    },
  };
}
