/** A filler is said where our answer is not audible this long after the caller's turn, and where a web request takes longer. */
const FILLER_AFTER_MS = 700;
const WEB_FILLER_AFTER_MS = 1000;

/** Says a short text where the caller waits for our answer, at most one in a turn. */
export class FillerTimer {
  readonly #texts: readonly string[];
  #dueAtMs: number | null = null;
  #said = 0;

  constructor(texts: readonly string[]) {
    this.#texts = texts;
  }

  turnEnded(nowMs: number): void {
    this.#dueAtMs = nowMs + FILLER_AFTER_MS;
  }

  webRequested(nowMs: number): void {
    this.#dueAtMs = nowMs + WEB_FILLER_AFTER_MS;
  }

  cancel(): void {
    this.#dueAtMs = null;
  }

  /** One is to be said unless it is cancelled. */
  get pending(): boolean {
    return this.#dueAtMs !== null;
  }

  /** The filler that is due now; null: none. */
  due(nowMs: number): string | null {
    if (this.#dueAtMs === null || nowMs < this.#dueAtMs) return null;
    this.#dueAtMs = null;
    return this.#texts[this.#said++ % Math.max(1, this.#texts.length)] ?? null;
  }
}

/** Measures the caller's silence from the end of our speech. */
export class IdleWatch {
  #sinceMs: number;

  constructor(nowMs: number) {
    this.#sinceMs = nowMs;
  }

  /** The silence is broken: speech on either side, or work in progress. */
  reset(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /**
   * True when the silence has lasted for `idle_ms`, so that the caller is idle; it is measured anew then. Words break it, and so does all that
   * they wait for (`broken`). Sound alone does not: a cough every few seconds, or a loud room, is nobody who answers. Whether it is
   * words is awaited (`undecided`).
   */
  isIdle(nowMs: number, idle_ms: number, { broken, undecided }: { broken: boolean; undecided: boolean }): boolean {
    if (!broken && (undecided || nowMs - this.#sinceMs < idle_ms)) return false;
    this.#sinceMs = nowMs;
    return !broken;
  }
}
