/** Types of the web SDK that the gateway serves at /r/assets/session.js. */

/** A line of the transcript. */
export interface Line {
  readonly role: "user" | "assistant";
  readonly content: string;
}
/** What a session is doing, and how a person is told: who mutes the microphone, too. */
export interface StateDetail {
  readonly state: "talking" | "reconnecting" | "ended";
  readonly message: string;
}
/** What becomes of a text that was to be spoken. */
export interface SpeechDetail {
  readonly utterance_id: string;
  readonly status: "queued" | "started" | "finished" | "interrupted" | "refused";
  readonly at?: string;
  /** The words that were heard, of one that was interrupted. */
  readonly heard?: string;
  /** Why it was refused. */
  readonly code?: string;
}
/** Events, by what they carry in `detail`. */
export interface SessionEvents {
  readonly state: StateDetail;
  readonly transcript: { readonly lines: readonly Line[]; readonly from: number };
  readonly node: { readonly name: string };
  readonly level: { readonly peak: number };
  readonly speech: SpeechDetail;
}

/** Why a session can't be joined. */
export class SessionError extends Error {
  readonly code: string;
  /** Trying again does not help. */
  readonly isFinal: boolean;
}

/** A session that was joined. */
export class Session extends EventTarget {
  readonly muted: boolean;
  readonly state: "connecting" | StateDetail["state"];
  readonly lines: readonly Line[];
  /** How the media travel; null: not at the moment. */
  readonly transport: "livekit" | "websocket" | null;
  addEventListener<K extends keyof SessionEvents>(
    type: K,
    listener: (event: CustomEvent<SessionEvents[K]>) => void,
  ): void;
  mute(muted: boolean): void;
  leave(): void;
  /** A key of a telephone: 0 to 9, *, #. */
  press(key: string): void;
  /** Says something by typing it: a turn of the person; at most 1,000 characters, and 20 times in ten seconds. */
  say(text: string): void;
  /** Has a text spoken (RTC_STREAM); the utterance_id. */
  speak(text: string, how?: { utterance_id?: string; interrupt?: boolean; voice?: string }): string;
}

/** Joins the session behind a join link, when a person has pressed a button. SessionError. */
export function join(link: string, how?: { onState?: (detail: StateDetail) => void }): Promise<Session>;
/** Whether this tab was in the session before, and can go on. */
export function wasJoined(link: string): boolean;
