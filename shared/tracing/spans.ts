import type { ServiceName } from "../contracts/index.ts";
import { textOf } from "../json.ts";

/** What a span is of: the service that sends it, one sentence, and whether it asks somebody outside or answers them. */
interface SpanSort {
  by: ServiceName;
  about: string;
  kind: "internal" | "server" | "client";
}

/** Every span of a lead's trace, in the order of its road. docs/monitoring.md shows the same; a test compares them. */
export const SPANS = {
  "lead.push": {
    by: "leads",
    about: "The push, from its checks to the lead's write; all others belong to it",
    kind: "server",
  },
  "lead.queued": {
    by: "leads",
    about: "The wait of an attempt, from when the lead was due until its claim",
    kind: "internal",
  },
  "lead.attempt": {
    by: "leads",
    about: "An attempt, from its claim until it is settled, or released without a call",
    kind: "internal",
  },
  call: {
    by: "dialer",
    about: "The call of an attempt as the carrier has it, from the order to its end",
    kind: "client",
  },
  conversation: {
    by: "conversation",
    about: "What is said in a call, from the carrier's media to the conversation's end",
    kind: "internal",
  },
  "lead.finished": { by: "leads", about: "The lead has its outcome; it takes no time", kind: "internal" },
  "webhook.try": {
    by: "webhook",
    about: "One try to deliver the lead's report or an event of it; its traceparent goes with the request",
    kind: "client",
  },
} as const satisfies Record<string, SpanSort>;

/** The name of a span. */
export type SpanName = keyof typeof SPANS;

/**
 * Every attribute that a span may have, sent as `callagent.<name>`: ids, numbers and words of closed lists. No phone number, no text of a person or a model,
 * no secret and no address is one, so none can be sent.
 */
export interface SpanAttributes {
  lead_id: string;
  reseller_id?: string | undefined;
  merchant_id?: string | undefined;
  template_id?: string | undefined;
  mode?: string | undefined;
  claim_no?: number | undefined;
  provider?: string | undefined;
  /** How the carrier's side ended. */
  ended?: string | undefined;
  answered?: boolean | undefined;
  machine?: boolean | undefined;
  ended_by?: string | undefined;
  user_turns?: number | undefined;
  outcome?: string | undefined;
  status?: string | undefined;
  attempts?: number | undefined;
  /** The events of an endpoint: their type. */
  type?: string | undefined;
  verdict?: string | undefined;
  http_status?: number | undefined;
}

/** One span that is over. */
export interface Span {
  name: SpanName;
  /** Names it within its trace, for spans that belong to it. */
  key: string;
  /** The key of the span that it belongs to; absent: the lead's push. */
  parent?: string;
  began: Date;
  ended: Date;
  attributes: SpanAttributes;
  /** A code of ours where it failed; absent: it did not. */
  error?: string | undefined;
}

/** The code of an error as a span says it; undefined: there is none. */
export const errorCodeOf = (error: Readonly<Record<string, unknown>> | null | undefined): string | undefined =>
  error ? textOf(error["code"]) || "CALL_ERROR" : undefined;

/** The key of the span of an attempt, and of its call: whichever service sends them, its parts name it. */
export const attemptKey = (call_ref: string): string => `attempt ${call_ref}`;
/** The same of its call. */
export const callKey = (call_ref: string): string => `call ${call_ref}`;
