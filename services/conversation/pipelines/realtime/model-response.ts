import type { ModelCall } from "../../dialogue/chat-messages.ts";

/** A response of the model: requested, in progress, or completed. */
export interface ModelResponse {
  /** Its verbatim text; null: the model generates it. */
  readonly verbatim: string | null;
  /** Its name between us and the server; a new one at each try. */
  ask: string;
  tries: number;
  id: string | null;
  asked_at: number;
  alive_at: number;
  first_ms: number | null;
  /** False: preemptive; its output waits in `held`. */
  wanted: boolean;
  held: (() => void)[];
  cancelled: boolean;
  completed: boolean;
  /** Sound of it has come. */
  sounded: boolean;
  text: string;
  calls: ModelCall[];
  /** Its items in the server's conversation, and those that the caller has heard something of. */
  readonly items: Set<string>;
  readonly heard_items: Set<string>;
}

/** A response that is still to be requested. `wanted` false: preemptive. */
export const newResponse = (verbatim: string | null, wanted: boolean): ModelResponse => ({
  verbatim,
  ask: "",
  tries: 0,
  id: null,
  asked_at: 0,
  alive_at: 0,
  first_ms: null,
  wanted,
  held: [],
  cancelled: false,
  completed: false,
  sounded: false,
  text: "",
  calls: [],
  items: new Set(),
  heard_items: new Set(),
});

/** What is wrong with a response that has ended; null: nothing. Words without sound were said to nobody. */
export function faultOf({ verbatim, text, sounded, first_ms }: ModelResponse, status: string): string | null {
  if (status === "completed") return !sounded && (verbatim ?? text).trim() !== "" ? "SPEECH_FAILED" : null;
  // what was cut off by the server's own bounds is a response as far as it goes, but for a text that is to be said whole
  const isUsable = first_ms !== null && status !== "failed" && verbatim === null && (sounded || text.trim() === "");
  return isUsable ? null : "MODEL_ERROR";
}
