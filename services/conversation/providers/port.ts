import type { ChatMessage, ChatTool, ModelCall } from "../dialogue/chat-messages.ts";

/** One question to a language model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
}

/** Why an answer ends before its end: by its greatest length, or by a filter of the server. */
export type AnswerCut = "ANSWER_CUT" | "ANSWER_FILTERED";

/** A piece of a streamed answer. A function call comes in parts that share an `index`. */
export type ChatPiece =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: "usage"; readonly prompt_tokens: number; readonly completion_tokens: number }
  | { readonly type: "cut"; readonly code: AnswerCut };

/** Asks once and streams the answer; cancels the request when the signal aborts. */
export type ChatStream = (request: ChatRequest, signal: AbortSignal) => AsyncIterable<ChatPiece>;

/** A whole answer with its cost. Times in milliseconds from the question; `tries` counts retries. */
export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  /** Absent: it is whole. */
  readonly cut?: AnswerCut;
  readonly first_token_ms: number;
  readonly total_ms: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly tries: number;
}

/** A language model as pipelines use it; `onText` gets the text as it arrives. Rejects with ModelError, also when the signal aborts. */
export interface ChatModel {
  answer(request: ChatRequest, how: { signal: AbortSignal; onText(text: string): void }): Promise<ModelAnswer>;
}

/** Why a model did not answer. */
export type ModelErrorCode = "MODEL_TIMEOUT" | "MODEL_REFUSED" | "MODEL_BUSY" | "MODEL_ERROR" | "MODEL_ABORTED";

/** A failed question to a model. `retryable`: the same question may be answered a moment later. The message never contains what was said. */
export class ModelError extends Error {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  constructor(code: ModelErrorCode, message: string, retryable: boolean) {
    super(message);
    this.name = "ModelError";
    this.code = code;
    this.retryable = retryable;
  }
}

/** A speech synthesis model. `rate`: samples a second of its audio. */
export interface SpeechModel {
  readonly rate: number;
  /** Identity of its audio apart from the text, for caches: endpoint, model and voice. */
  readonly signature: string;
  /** Streams linear 16 bit samples as they arrive; cancels the request when the signal aborts. Rejects with ModelError. The text is plain speech. */
  speak(text: string, signal: AbortSignal): AsyncIterable<Int16Array>;
  /** Synthesises the text ahead of its use; only models with a cache. Resolves when it is done, never rejects. */
  warm?(text: string): Promise<void>;
}

/** The transcription of one stretch of speech. */
export interface Transcription {
  /** Takes audio at the rate it was opened with. */
  push(pcm: Int16Array): void;
  /** The text of all audio pushed so far, "" without words; more may be pushed afterwards. Rejects with ModelError, also when the signal aborts. */
  text(signal: AbortSignal): Promise<string>;
  /** Cancels what is under way. */
  close(): void;
}

/** A transcription model. */
export interface TranscriptionModel {
  /** It transcribes during speech and reports by `onPartial`; asking for the text in mid-word would split the word. */
  readonly streams?: boolean;
  /** `language`: BCP 47. `onPartial`: gets the text recognised so far during speech. */
  open(how: { rate: number; language: string; onPartial?(text: string): void }): Transcription;
}

/** The models of one cascaded conversation, chosen by template and deployment. */
export interface CascadeModels {
  readonly chat: ChatModel;
  readonly transcription: TranscriptionModel;
  readonly speech: SpeechModel;
  /** The speech model in another voice. */
  speechIn(voice: string): SpeechModel;
}
