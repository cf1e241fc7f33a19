import { randomBytes, randomUUID } from "node:crypto";
import type { Call } from "../exchange/call.ts";
import type { LegRecorder } from "../exchange/leg-recording.ts";
import type { RelaySettings } from "../relay/relay-settings.ts";
import type { SoundFormat } from "../stream/audio-format.ts";

/** An account that may use the API: its call control application, and its key. */
export interface TelnyxAccount {
  connectionId: string;
  apiKey: string;
}

/** An event as Telnyx tells it, in its callbacks and in its list of events. */
export interface TelnyxEvent {
  record_type: "event";
  event_type: string;
  id: string;
  occurred_at: string;
  payload: Record<string, unknown>;
}

/** Recording as asked for. */
export interface RecordSettings {
  channels: "single" | "dual";
  format: "wav" | "mp3";
}

/** Answering machine detection as asked for. */
export const AMD_MODES = ["premium", "detect", "detect_beep", "detect_words", "greeting_end", "disabled"] as const;
export type AmdMode = (typeof AMD_MODES)[number];

/** A stream of sound as asked for. */
export interface StreamSettings {
  url: string;
  mode: "mp3" | "rtp";
  toAgent: SoundFormat;
  fromAgent: SoundFormat;
}

/** What a call is given beside its line: by the dial request, or by the command that answers it. */
export interface TelnyxSettings {
  clientState: string | null;
  /** Where events go; null: to the application's address. */
  webhookUrl: string | null;
  relay: RelaySettings | null;
  stream: StreamSettings | null;
  record: RecordSettings | null;
  amd: AmdMode;
}

/** A call with what only Telnyx's protocol knows of it. */
export interface TelnyxCall {
  readonly call: Call;
  readonly account: TelnyxAccount;
  readonly legId: string;
  readonly sessionId: string;
  /** The origin the service knows the simulator by, for links to recordings; "" until it has asked for something. */
  origin: string;
  settings: TelnyxSettings;
  readonly events: TelnyxEvent[];
  /** Commands done, by their id: the same one again is ignored. */
  readonly done: Set<string>;
  recorder: { id: string; startedAt: Date; settings: RecordSettings; recorder: LegRecorder } | null;
  /** Aborted to take the call out of its relay or its speech. */
  leave: AbortController;
  /** Aborted to end its stream of sound. */
  streaming: AbortController;
}

/** A new name for a call, in Telnyx's form. */
export const newCallControlId = (): string => `v3:${randomBytes(40).toString("base64url")}`;

/** A call without any command so far. */
export const telnyxCall = (
  call: Call,
  account: TelnyxAccount,
  origin: string,
  settings: TelnyxSettings,
): TelnyxCall => ({
  call,
  account,
  origin,
  settings,
  legId: randomUUID(),
  sessionId: randomUUID(),
  events: [],
  done: new Set(),
  recorder: null,
  leave: new AbortController(),
  streaming: new AbortController(),
});

/** What a client_state says; null for none. */
export const stateText = (clientState: string | null): string | null =>
  clientState === null ? null : Buffer.from(clientState, "base64").toString("utf8");
