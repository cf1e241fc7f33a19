type Listener = () => void;

/** An AbortSignal with what the services use of one: the machine's own costs a tenth of a simulation. */
class LeanSignal {
  aborted = false;
  reason: unknown = undefined;
  #listeners: Listener[] = [];

  addEventListener(_type: "abort", listener: Listener): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: Listener): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason as Error;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  static any(signals: readonly LeanSignal[]): LeanSignal {
    const made = new LeanSignal();
    const over = signals.find((s) => s.aborted);
    if (over) made.abort(over.reason);
    else for (const s of signals) s.addEventListener("abort", () => made.abort(s.reason));
    return made;
  }

  static timeout(): never {
    throw new Error("AbortSignal.timeout was used in a simulation: time comes from the ground's clock");
  }
}

class LeanController {
  readonly signal = new LeanSignal();
  abort(reason: unknown = LeanController.#aborted): void {
    this.signal.abort(reason);
  }
  static readonly #aborted = Object.assign(new Error("This operation was aborted"), { name: "AbortError" });
}

/** Puts the lean ones in the machine's place, for this thread. */
export function leanSignals(): void {
  globalThis.AbortController = LeanController as unknown as typeof AbortController;
  globalThis.AbortSignal = LeanSignal as unknown as typeof AbortSignal;
}
