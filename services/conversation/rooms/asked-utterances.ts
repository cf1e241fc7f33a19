import { recordIn, textOf } from "../../../shared/json.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";

/** An answer takes no longer, ms. */
const ANSWER_MS = 5000;
/** Utterances whose answers are awaited. */
const MAX_ASKED = 20;
const MAX_PAYLOAD_CHARS = 16_384;

/** The answer to an utterance that is not taken. */
export const refusedUtterance = (utterance_id: string, code: string): Promise<string> =>
  Promise.resolve(JSON.stringify({ utterance_id, status: "refused", code }));

/** Utterances that a client asks for by remote procedure call: passed on as its messages are, and answered with the first that is told of them. */
export class AskedUtterances {
  readonly #clock: Clock;
  readonly #pass: (text: string) => void;
  readonly #asked = new Map<string, (answer: string) => void>();

  constructor(clock: Clock, pass: (text: string) => void) {
    this.#clock = clock;
    this.#pass = pass;
  }

  /** Passes an utterance on; resolves with what became of it. */
  ask(payload: string): Promise<string> {
    const asked = payload.length > MAX_PAYLOAD_CHARS ? null : recordIn(payload);
    const id = textOf(asked?.["utterance_id"]);
    if (asked === null || id === "") return refusedUtterance(id, "VALIDATION_FAILED");
    if (this.#asked.size >= MAX_ASKED || this.#asked.has(id)) return refusedUtterance(id, "RATE_LIMITED");
    return new Promise((resolve) => {
      const stop = startTimer(this.#clock, ANSWER_MS, () =>
        settle(JSON.stringify({ utterance_id: id, status: "unknown" })),
      );
      const settle = (answer: string): void => {
        stop();
        this.#asked.delete(id);
        resolve(answer);
      };
      this.#asked.set(id, settle);
      this.#pass(JSON.stringify({ ...asked, type: "speak" }));
    });
  }

  /** What the client is told, as JSON: of an utterance whose answer is awaited it is the answer. */
  told(text: string): void {
    const { type, utterance_id, status, code } = recordIn(text) ?? {};
    if (type === "speech") this.#asked.get(textOf(utterance_id))?.(JSON.stringify({ utterance_id, status, code }));
  }
}
