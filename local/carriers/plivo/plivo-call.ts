import type { Call } from "../exchange/call.ts";
import type { LegRecorder } from "../exchange/leg-recording.ts";
import type { Hook } from "../http/callback-sender.ts";
import type { CallParams } from "./params.ts";

/** An account that may use the API. */
export interface PlivoAccount {
  authId: string;
  authToken: string;
}

/** Why a call ended, in Plivo's table of hang-up causes. */
export interface Cause {
  code: number;
  name: string;
  source: string;
}

/** A recording under way or done. */
export interface PlivoRecording {
  id: string;
  call: PlivoCall;
  apiId: string;
  startedAt: Date;
  recorder: LegRecorder;
  url: string;
  done: boolean;
}

/** A call with what only Plivo's protocol knows of it. Its own name (CallUUID) is the exchange's sid. */
export interface PlivoCall {
  readonly call: Call;
  readonly account: PlivoAccount;
  readonly params: CallParams;
  /** The name of the request it came from; null: a person called us. */
  readonly requestUuid: string | null;
  /** What a document or a command ended it with; null: as the exchange says. */
  cause: Cause | null;
  /** Aborted to make the call leave its document; `next` is where it goes on. */
  redirect: { leave: AbortController; next: Hook | null };
  /** The document of an inbound call, fetched before the answer. */
  document: string | null;
  /** Simulated ms at the answer. */
  answeredSimMs: number;
  recording: PlivoRecording | null;
}
