/** What the ledger records. `request`: a REST request; `fetch`: a document asked of the service; `callback`: a status or AMD report sent to it;
 *  `stream`: a step of a stream of sound (its last one sums it up); `turn`: how long a person waited from the end of their words to the agent's first frame. */
export type EntryKind =
  | "request"
  | "placed"
  | "status"
  | "ring"
  | "answer"
  | "heard"
  | "said"
  | "dtmf"
  | "callback"
  | "fetch"
  | "relay"
  | "stream"
  | "turn"
  | "dial"
  | "amd"
  | "hangup"
  | "warning";

/** Who ended a call; `caller`: a person who had called us. */
export type EndedBy = "callee" | "caller" | "api" | "relay_end" | "carrier" | "timeout";

/** What is common to every entry. */
export interface EntryFacts {
  kind: EntryKind;
  call_sid?: string;
  to?: string;
  from?: string;
  [detail: string]: unknown;
}

/** One line of the ledger; `seq` counts from 1 without gaps, `at` is ISO wall time. */
export type Entry = EntryFacts & { seq: number; at: string };
