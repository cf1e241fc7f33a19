import type { ServerResponse } from "node:http";
import type { FaultKind, FaultTarget } from "./faults.ts";

/** What clients asked the simulator for, remembered for tests. */

/** What a request asked for and got. */
export type RequestSummary = {
  kind: FaultTarget;
  model: string;
  messages: number;
  tools: string[];
  stream: boolean;
  fault: FaultKind | null;
  /** The text spoken, recognised or answered, or the call made; null while an ordered fault keeps it back. */
  reply: Readonly<{ content: string | null; call: Readonly<{ name: string; arguments: string }> | null }> | null;
  /** "sent" once the last byte went out, "aborted" when the client went away first. */
  end: "open" | "sent" | "aborted";
};

const MOST_SUMMARIES = 500;

/** The latest requests, oldest first. */
export class Requests {
  readonly #summaries: RequestSummary[] = [];

  /** Writes a request down; what it got is filled in later. */
  open(summary: Pick<RequestSummary, "kind" | "model" | "stream" | "fault"> & Partial<RequestSummary>): RequestSummary {
    const whole: RequestSummary = { messages: 0, tools: [], reply: null, end: "open", ...summary };
    this.#summaries.push(whole);
    if (this.#summaries.length > MOST_SUMMARIES) this.#summaries.shift();
    return whole;
  }

  list(): readonly RequestSummary[] {
    return this.#summaries;
  }
}

/** Watches how an answer ends; the signal aborts when the connection closes, whoever closed it. */
export function watched(response: ServerResponse, summary: RequestSummary): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    summary.end = response.writableFinished ? "sent" : "aborted";
    gone.abort();
  });
  return gone.signal;
}
