import { waitOf, type Client } from "./client.ts";
import type { AnswerOf } from "./shapes.ts";

/** A lead as `GET /leads/{lead_id}` answers it. */
export type Lead = AnswerOf<"GET", "/leads/{lead_id}">;

/** How a lead is watched. */
export interface WatchOptions {
  /** Time between two looks, ms. Default: 2 s. */
  every_ms?: number;
  /** Ends the watch with its reason; default: until the lead is over, which its `max_age_seconds` bounds. */
  signal?: AbortSignal;
  /** Waits between two looks; default: a timer. */
  wait?: (ms: number) => Promise<void>;
}

const EVERY_MS = 2000;

/** What of a lead is told apart: it is given when one of these changes. */
const stateOf = (lead: Lead): string => JSON.stringify([lead.status, lead.outcome, lead.attempt_count, lead.call_id]);

/** A lead each time it has changed, first as it is now, last when it is FINISHED. Looks every few seconds. ApiFailure, NoAnswer. */
export async function* watch(client: Client, lead_id: string, options: WatchOptions = {}): AsyncGenerator<Lead> {
  const { every_ms = EVERY_MS, signal } = options;
  const wait = waitOf(options);
  for (let last = ""; ;) {
    signal?.throwIfAborted();
    const lead = await client.ask("GET", "/leads/{lead_id}", { path: { lead_id } });
    if (stateOf(lead) !== last) yield lead;
    if (lead.status === "FINISHED") return;
    last = stateOf(lead);
    await wait(every_ms);
  }
}

/** The lead when it is over. ApiFailure, NoAnswer. */
export async function finished(client: Client, lead_id: string, options: WatchOptions = {}): Promise<Lead> {
  let last: Lead | undefined;
  for await (const lead of watch(client, lead_id, options)) last = lead;
  if (last === undefined) throw new Error("a lead that was watched is always seen once");
  return last;
}
