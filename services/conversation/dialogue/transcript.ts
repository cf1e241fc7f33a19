import { speakable } from "../../../shared/speakable/speakable-text.ts";
import type { ToolCall } from "./chat-messages.ts";
import { allHeard, heardInPart } from "./promises.ts";
import {
  MAX_HISTORY_MESSAGES,
  MAX_PENDING,
  MAX_TRANSCRIPT_TURNS,
  MAX_TURN_CHARS,
  type HistoryMessage,
  type DialogueState,
  type CallerInput,
} from "./dialogue-state.ts";

/** Pure: what was said and heard. History and transcript contain what the customer said, and of our speech only what the customer may have heard. */

const clip = (text: string): string => text.trim().slice(0, MAX_TURN_CHARS);

/** The latest messages; never starting with a tool's answer whose call is gone. */
function bounded(history: readonly HistoryMessage[]): readonly HistoryMessage[] {
  if (history.length <= MAX_HISTORY_MESSAGES) return history;
  const kept = history.slice(-MAX_HISTORY_MESSAGES);
  const first = kept.findIndex((m) => m.role !== "tool");
  return first < 0 ? [] : kept.slice(first);
}

const withLine = (s: DialogueState, role: "user" | "assistant", content: string): DialogueState["transcript"] =>
  s.transcript.length >= MAX_TRANSCRIPT_TURNS ? s.transcript : [...s.transcript, { seq: s.seq, role, content }];

/** The customer said something: everything of ours before it counts as heard, but for speech that goes on. */
function addHeard(before: DialogueState, { content, shown, over = false }: CallerInput): DialogueState {
  const s = over ? before : allHeard(before);
  return {
    ...s,
    seq: s.seq + 1,
    history: bounded([...s.history, { role: "user", content: clip(content) }]),
    transcript: withLine(s, "user", clip(shown)),
  };
}

/** Queues what the customer said until it is processed. What was heard before it counts as heard from now on. */
export const addPending = (s: DialogueState, uttered: CallerInput): DialogueState => ({
  ...(uttered.over === true ? s : allHeard(s)),
  pending: clip(uttered.content) === "" || s.pending.length >= MAX_PENDING ? s.pending : [...s.pending, uttered],
});

/** Processes the queued inputs. */
export const takePending = (s: DialogueState): DialogueState => ({ ...s.pending.reduce(addHeard, s), pending: [] });

/** We said something, perhaps with a call of a function: what is kept is what a voice says of it. */
export function addSpoken(s: DialogueState, text: string, call?: ToolCall): DialogueState {
  const content = clip(speakable(text));
  if (content === "" && !call) return s;
  const message: HistoryMessage = {
    role: "assistant",
    seq: s.seq,
    content: content === "" ? null : content,
    ...(call ? { tool_calls: [call] } : {}),
  };
  const spoken = content !== "";
  return {
    ...s,
    seq: s.seq + 1,
    history: bounded([...s.history, message]),
    transcript: spoken ? withLine(s, "assistant", content) : s.transcript,
    open: spoken ? [...s.open, s.seq] : s.open,
  };
}

/** The result of a function call, for the model. */
export const addResult = (
  s: DialogueState,
  call_id: string,
  result: Readonly<Record<string, unknown>>,
): DialogueState => ({
  ...s,
  history: bounded([...s.history, { role: "tool", tool_call_id: call_id, content: JSON.stringify(result) }]),
});

const plain = (text: string): string => text.replace(/\s+/g, " ").trim();

/**
 * Which of our texts were heard, when speech stopped after `spoken`: the texts kept, the last of them cut to exactly `spoken`.
 * The carrier reports from the start of an utterance. The words identify the text; the latest text is tried first.
 * Words that match no text replace the last text: the carrier's report wins.
 */
export function heardTexts(texts: readonly string[], spoken: string): readonly string[] {
  const reported = spoken.trim();
  if (reported === "" || texts.length === 0) return [];
  const cleaned = speakable(reported);
  // what a realtime model writes beside its voice has its markup still
  for (const heard of new Set([reported, cleaned])) {
    for (let at = texts.length - 1; at >= 0; at--) {
      if (plain(texts.slice(at).join(" ")).startsWith(plain(heard))) return [...texts.slice(0, at), heard];
    }
  }
  return [...texts.slice(0, -1), cleaned === "" ? reported : cleaned];
}

/** Cuts what we said since the customer last spoke to what they heard of it. `said` is the running generation's part. */
export function truncateSpeech(state: DialogueState, spoken: string, said: string): DialogueState {
  const s = addSpoken(state, said);
  if (s.open.length === 0) return s;
  const textOf = new Map<number, string>();
  for (const m of s.history) if (m.role === "assistant" && m.content !== null) textOf.set(m.seq, m.content);
  for (const l of s.transcript) textOf.set(l.seq, l.content);
  const heard = heardTexts(
    s.open.map((seq) => textOf.get(seq) ?? ""),
    spoken,
  );
  const now = new Map(s.open.map((seq, i) => [seq, heard[i]]));
  const parts = s.open.map((seq, i) => ({ seq, chars: textOf.get(seq)?.length ?? 0, heard: heard[i]?.length ?? 0 }));
  const history = s.history.flatMap((m): HistoryMessage[] => {
    if (m.role !== "assistant" || !now.has(m.seq)) return [m];
    const content = now.get(m.seq);
    if (content !== undefined) return [{ ...m, content }];
    return m.tool_calls ? [{ ...m, content: null }] : [];
  });
  const transcript = s.transcript.flatMap((l) => {
    if (!now.has(l.seq)) return [l];
    const content = now.get(l.seq);
    return content === undefined ? [] : [{ ...l, content }];
  });
  return heardInPart({ ...s, history, transcript, open: [] }, parts);
}

/** Turns of theirs that we have answered, after which a verdict that a machine has picked up comes too late to be believed. */
const ANSWERED_TURNS = 2;

/** Whether a person has conversed with us: a machine would not have waited for our answers. */
export const hasConversed = ({ transcript }: DialogueState): boolean =>
  transcript.filter(({ role }, at) => role === "user" && transcript[at + 1]?.role === "assistant").length >=
  ANSWERED_TURNS;

// The greeting says who calls, and that the call is recorded: it is heard to its end, though it may be cut.

const SENTENCE_END = /(?<=[.!?।॥؟。！？…])\s+/u;
const ASKS = /[?？؟]["'”’»)]*$/u;

/** The sentences of a text that were not heard to their end; empty where none is left, or only a question, which they have answered. */
export function unheardSentences(text: string, heard: string): string {
  const known = plain(heard).length;
  let end = -1;
  const rest = plain(text)
    .split(SENTENCE_END)
    .filter((sentence) => {
      end += sentence.length + 1;
      return end > known;
    });
  return rest.length === 1 && ASKS.test(rest[0] ?? "") ? "" : rest.join(" ");
}

/** The state after an interruption (`before`: ahead of it): what is to be said again of a greeting that was cut. */
export function withUnheard(before: DialogueState, s: DialogueState): DialogueState {
  const { notice } = before;
  if (notice === null) return s;
  if (!before.open.includes(notice.seq)) return { ...s, notice: null };
  const heard = s.transcript.find(({ seq }) => seq === notice.seq)?.content ?? "";
  return { ...s, notice: null, unheard: unheardSentences(notice.text, heard) };
}
