import type { ChatMessage, ChatTool, ModelCall } from "../dialogue/chat-messages.ts";

/** One question to a language model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly ChatTool[];
}

/** A piece of a streamed answer. A call comes in parts that belong together by `index`. */
export type ChatPiece =
  | { readonly type: "text"; readonly text: string }
  | {
      readonly type: "call";
      readonly index: number;
      readonly id: string;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: "usage"; readonly prompt_tokens: number; readonly completion_tokens: number };

/** Asks once and streams; must let go of the request when the signal aborts. */
export type ChatStream = (request: ChatRequest, signal: AbortSignal) => AsyncIterable<ChatPiece>;

/** A whole answer with what it cost. Times in milliseconds from the question; `tries` counts the retry. */
export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ModelCall[];
  readonly first_token_ms: number;
  readonly total_ms: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly tries: number;
}

/** A language model as the engines use it: text goes out as it comes. Rejects with ModelFault, also when the signal aborts. */
export interface ChatModel {
  answer(request: ChatRequest, how: { signal: AbortSignal; onText(text: string): void }): Promise<ModelAnswer>;
}

/** Why a model gave no answer; `retryable` when the same question may be answered a moment later. */
export type ModelErrorCode = "MODEL_TIMEOUT" | "MODEL_REFUSED" | "MODEL_BUSY" | "MODEL_ERROR" | "MODEL_ABORTED";

/** A failed question to the model. The message never holds what was said. */
export class ModelError extends Error {
  readonly code: ModelErrorCode;
  readonly retryable: boolean;
  constructor(code: ModelErrorCode, message: string, retryable: boolean) {
    super(message);
    this.name = "ModelFault";
    this.code = code;
    this.retryable = retryable;
  }
}

/** A model that speaks. `rate`: samples a second of what it gives. */
export interface SpeechModel {
  readonly rate: number;
  /** Identity of the sound beside its text, for caches: endpoint, model and voice. */
  readonly signature: string;
  /** Streams linear 16 bit samples as they come; lets go of the request when the signal aborts. Rejects with ModelFault. Text is plain speech already. */
  speak(text: string, signal: AbortSignal): AsyncIterable<Int16Array>;
  /** Has the text's sound ready before it is asked for; only models that keep sound. Resolves when it is, never rejects. */
  warm?(text: string): Promise<void>;
}

/** One stretch of somebody's speech on its way to text. */
export interface Transcription {
  /** Takes sound in the rate it was opened with. */
  push(pcm: Int16Array): void;
  /** The words of all that was pushed so far; more may be pushed afterwards. Empty: no words in it. Rejects with ModelFault, also when the signal aborts. */
  text(signal: AbortSignal): Promise<string>;
  /** Lets everything go. */
  close(): void;
}

/** A model that listens. */
export interface TranscriptionModel {
  /** Words are recognised while somebody speaks, and told by `onPartial`; asking in mid-word would split it. */
  readonly streams?: boolean;
  /** `language`: BCP 47; `hints`: words that are likely. `onPartial`: words as they are recognised, where the server tells them while somebody speaks. */
  open(how: {
    rate: number;
    language: string;
    hints: readonly string[];
    onPartial?(text: string): void;
  }): Transcription;
}

/** The models one talk is held with, chosen by template and deployment. */
export interface CascadeModels {
  readonly chat: ChatModel;
  readonly transcription: TranscriptionModel;
  readonly speech: SpeechModel;
}
