import type { EndedBy } from "../../../shared/contracts/records/attempt.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import type { Sources } from "../../../shared/placeholders.ts";
import type { ChatMessage, ChatTool, ModelCall, ToolCall } from "./chat-messages.ts";

/**
 * What the conversation waits for: the customer, the model, a web request, the carrier's transfer, voicemail's beep, or nothing any more. `parting`: they
 * have hung up, and what they said last is still judged.
 */
export type Mode = "listening" | "thinking" | "fetching" | "transferring" | "voicemail" | "parting" | "ended";

/** A message of the history; `seq` is the transcript entry it was spoken as. */
export type HistoryMessage =
  | { readonly role: "user"; readonly content: string }
  | {
      readonly role: "assistant";
      readonly seq: number;
      readonly content: string | null;
      readonly tool_calls?: readonly ToolCall[];
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string };

/** One entry of the transcript. */
export interface TranscriptLine {
  readonly seq: number;
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** Speech or DTMF of the customer. `shown`: its text in the transcript. `dtmf`: the entry and its node; null for speech. */
export interface CallerInput {
  readonly content: string;
  readonly shown: string;
  readonly dtmf: { readonly digits: string; readonly node: string } | null;
  /** It came while speech of ours went on that it does not cut; absent: all of ours before it was heard or cut. */
  readonly over?: boolean | undefined;
}

/** A function call whose result comes from outside (http, transfer). `media_closed`: the socket closed meanwhile. */
export interface AwaitedResult {
  readonly call_id: string;
  readonly node: string;
  readonly function: string;
  readonly media_closed: boolean;
}

/**
 * What counts only once our words were heard: an outcome that we announce, or a message on voicemail. `from`: the transcript entry its words begin with.
 * `cut`: they were said and not heard to their end.
 */
export interface Promised {
  readonly what: { readonly outcome: string } | "message";
  readonly from: number;
  readonly cut: boolean;
}

/** An error of the conversation, fit for metaData.errors: never a secret, never a transcript. */
export interface DialogueError {
  readonly code: string;
  readonly node: string;
  readonly detail?: string;
}

/** The whole state of a conversation: immutable plain JSON. */
export interface DialogueState {
  readonly mode: Mode;
  /** Name of the current node, empty before the start. */
  readonly node: string;
  /** Role prompt in force: a node without one keeps the one before. */
  readonly role: string;
  /** `node`: the current node is the last one; `farewell`: the model says a plain goodbye, then the call ends. */
  readonly closing: "no" | "node" | "farewell";
  /** Where the conversation goes on when they talk into its closing; null: it does not. */
  readonly returns_to: { readonly node: string; readonly role: string } | null;
  /** The greeting, with its transcript entry, until it is known to be heard or cut; null: none. */
  readonly notice: { readonly seq: number; readonly text: string } | null;
  /** What was not heard of a greeting that was cut: it is said again before the next answer. */
  readonly unheard: string;
  /** Number of the latest generation; answers to earlier ones are stale. */
  readonly turn: number;
  /** Function calls and transitions since the customer last spoke. */
  readonly chain: number;
  /** Unusable model answers since the customer last spoke. */
  readonly unusable_answers: number;
  /** How often each function was carried out so far. */
  readonly carried_out: Readonly<Record<string, number>>;
  /** Turns in a row to which the model had nothing that could be used. */
  readonly model_failures: number;
  readonly reprompts: number;
  /** What the customer said before it could be processed. */
  readonly pending: readonly CallerInput[];
  readonly awaiting: AwaitedResult | null;
  readonly payload: Readonly<Record<string, unknown>>;
  /** Variables the conversation itself set. */
  readonly extracted: Readonly<Record<string, unknown>>;
  /** Names of secret variables, and secret DTMF entries. */
  readonly secret_variables: readonly string[];
  readonly secret_entries: readonly string[];
  readonly history: readonly HistoryMessage[];
  readonly transcript: readonly TranscriptLine[];
  /** Our transcript entries that the customer may not have heard to the end: an interruption cuts one of them. */
  readonly open: readonly number[];
  readonly seq: number;
  readonly traversal: readonly string[];
  readonly decided: string | null;
  /** Null: nothing waits to be heard. */
  readonly promised: Promised | null;
  readonly user_turns: number;
  readonly ended_by: EndedBy | null;
  /** Our last words were cut. */
  readonly end_unheard: boolean;
  /** We close the line: its end is no longer the other side's. */
  readonly closes: boolean;
  readonly idle_out: boolean;
  readonly time_limit: boolean;
  /** How to handle voicemail. */
  readonly voicemail_action: VoicemailAction;
  readonly voicemail: boolean;
  readonly message_left: boolean;
  /** Whoever answered asked not to be called again; never taken back. */
  readonly do_not_call: boolean;
  readonly errors: readonly DialogueError[];
}

/** Why a conversation is ended from outside. */
export type StopReason =
  | "hung_up"
  /** The media broke off. */
  | "line_lost"
  | "carrier_ended"
  | "window_closed"
  | "shutdown"
  | "shutdown_now"
  | "lease_lost"
  | "media_failed"
  /** The carrier's media name another call. */
  | "wrong_call"
  | "speech_failed";

/** What can happen to a conversation. `said` is what of the running generation had already been handed to speech. */
export type DialogueEvent = { readonly said?: string } & (
  | { readonly type: "started" }
  /** `over` of both: speech of ours goes on, they do not cut it. */
  | { readonly type: "heard"; readonly text: string; readonly over?: boolean }
  /** The customer said something that STT could not recognise. */
  | { readonly type: "stt_failed"; readonly code: string }
  | { readonly type: "dtmf"; readonly digits: string; readonly over?: boolean }
  /** The client of a session that it leads itself has this spoken. */
  | { readonly type: "speak"; readonly text: string; readonly voice: string | null }
  | { readonly type: "interrupted"; readonly spoken: string }
  | {
      readonly type: "model_answered";
      readonly turn: number;
      readonly text: string;
      readonly calls: readonly ModelCall[];
      /** The code of what cut it before its end. */
      readonly cut?: string;
    }
  | { readonly type: "model_failed"; readonly turn: number; readonly code: string }
  | { readonly type: "http_done"; readonly call_id: string; readonly ok: boolean; readonly result: string }
  | { readonly type: "transfer_done"; readonly call_id: string }
  | { readonly type: "transfer_failed"; readonly call_id: string; readonly code: string }
  | { readonly type: "idle" }
  | { readonly type: "time_up" }
  | { readonly type: "machine" }
  /** Voicemail records from now on, as far as is known. */
  | { readonly type: "beep" }
  /** The carrier says the message by itself; its end is reported as a beep, or by the hang-up. */
  | { readonly type: "message_handed" }
  /** Our speech was heard to its end, and we close the leg. */
  | { readonly type: "played_out" }
  /** A fault of media or speech that ends nothing. */
  | { readonly type: "fault"; readonly code: string; readonly detail?: string }
  /** `detail`: of a fault, in a word. `words`: what they said last, recognised after they were gone. */
  | { readonly type: "stopped"; readonly reason: StopReason; readonly detail?: string; readonly words?: string }
);

/** An effect of an event. Nothing follows an `end`. */
export type Effect =
  /** `voice`: one that the speech model knows; absent: the template's. */
  | { readonly type: "say"; readonly text: string; readonly interruptible: boolean; readonly voice?: string }
  | {
      readonly type: "think";
      readonly turn: number;
      readonly messages: readonly ChatMessage[];
      readonly tools: readonly ChatTool[];
      readonly interruptible: boolean;
      /** They are gone: nothing of the answer is spoken. */
      readonly unheard?: true;
    }
  | {
      readonly type: "http";
      readonly call_id: string;
      readonly method: "GET" | "POST";
      readonly url: string;
      readonly body: unknown;
      /** Filled in when the request is made, as they may use secrets, which the dialogue never sees. */
      readonly headers?: { readonly templates: Readonly<Record<string, string>>; readonly sources: Sources };
    }
  | { readonly type: "transfer"; readonly call_id: string; readonly to: string; readonly from_variable?: boolean }
  /** Silence until voicemail's beep; then the message is said. */
  | { readonly type: "await_beep"; readonly message: string }
  /** DTMF to be sent to the callee. */
  | { readonly type: "keys"; readonly digits: string }
  | { readonly type: "note_error"; readonly code: string; readonly node: string }
  /** `at_once`: don't wait until our own speech has been heard. `transferred`: the carrier's call goes on without us. */
  | {
      readonly type: "end";
      readonly ended_by: EndedBy;
      readonly goodbye: string | null;
      readonly at_once: boolean;
      readonly transferred: boolean;
    };

/** A new state and what it asks for, in order. */
export interface Step {
  readonly state: DialogueState;
  readonly effects: readonly Effect[];
}

/** Bounds of a conversation's memory. */
export const MAX_HISTORY_MESSAGES = 80;
export const MAX_TRANSCRIPT_TURNS = 500;
export const MAX_TURN_CHARS = 2000;
export const MAX_TRAVERSAL = 500;
export const MAX_ERRORS = 50;
export const MAX_PENDING = 20;
export const MAX_SECRET_ENTRIES = 50;
/** Function calls and transitions in a row without input from the customer. */
export const MAX_CHAIN = 8;
/** Times the model is asked again after output that can't be used; then it counts as one that has failed. */
export const MAX_UNUSABLE_ANSWERS = 1;
/** How often a function with this action is carried out in a conversation, where the template says nothing. */
export const MOST_CALLS: Readonly<Record<string, number>> = { http: 5, transfer: 3 };
/** Generations in a row that may fail; the next failure ends the conversation. */
export const MAX_MODEL_FAILURES = 1;
/** Times a silent customer is asked before the goodbye. */
export const MAX_REPROMPTS = 2;

/** The state before anything happened. */
export const newDialogue = (
  payload: Readonly<Record<string, unknown>>,
  on_machine: VoicemailAction = "hangup",
): DialogueState => ({
  mode: "listening",
  node: "",
  role: "",
  closing: "no",
  returns_to: null,
  notice: null,
  unheard: "",
  turn: 0,
  chain: 0,
  unusable_answers: 0,
  carried_out: {},
  model_failures: 0,
  reprompts: 0,
  pending: [],
  awaiting: null,
  payload,
  extracted: {},
  secret_variables: [],
  secret_entries: [],
  history: [],
  transcript: [],
  open: [],
  seq: 0,
  traversal: [],
  decided: null,
  promised: null,
  user_turns: 0,
  ended_by: null,
  end_unheard: false,
  closes: false,
  idle_out: false,
  time_limit: false,
  voicemail_action: on_machine,
  voicemail: false,
  message_left: false,
  do_not_call: false,
  errors: [],
});
