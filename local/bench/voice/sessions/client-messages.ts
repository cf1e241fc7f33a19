import type { AwaitedCall } from "../answered-calls.ts";
import type { Turn } from "../turn-latency.ts";
import type { ProcessLoad } from "./load-meter.ts";

/** A client of a session, or a caller. `n`: which of all it is. */
export interface AwaitedClient extends AwaitedCall {
  n: number;
}

/** What a process of clients is asked, one thing at a time. */
export type ClientsRequest =
  /** Its clients join, one after the other. */
  | { ask: "join"; clients: AwaitedClient[] }
  /** One turn of each that is not counted, so many are there in all. */
  | { ask: "rehearse"; all: number }
  /** So many turns of each. */
  | { ask: "turns"; turns: number }
  /** All talk for so long. */
  | { ask: "talk"; seconds: number }
  | { ask: "measure" }
  | { ask: "leave" };

/** A turn of a client, on the clock that all processes of the machine share. */
export interface ClientTurn extends Turn {
  lead_id: string;
}

/** What clients heard while they talked. `answers`: from the end of speech to the first sound of the answer, ms. `gone`: sessions that the other side has ended. */
export interface Talk {
  answers: number[];
  gone: number;
}

/** How a process of clients fared since it was asked last. `behind_p99_ms`: how late it sent its own frames. */
export interface ClientsLoad extends ProcessLoad {
  behind_p99_ms: number;
}

/** Its answers. */
export type ClientsMessage =
  | { told: "ready" }
  | { told: "done" }
  | { told: "turns"; turns: ClientTurn[] }
  | ({ told: "talked" } & Talk)
  | { told: "measured"; load: ClientsLoad }
  | { told: "failed"; why: string };
