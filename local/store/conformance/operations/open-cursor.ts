/** A cursor that a test file iterates step by step. */
import type { AbstractCursor } from "mongodb";

/**
 * The result of createFindCursor and createCommandCursor. The driver sends the command on the first read only, so
 * creation reads one document and keeps it for the first iteration.
 */
export class OpenCursor {
  readonly cursor: AbstractCursor<unknown>;
  #first: unknown;

  private constructor(cursor: AbstractCursor<unknown>, first: unknown) {
    this.cursor = cursor;
    this.#first = first;
  }

  /** Sends the cursor's command. Throws what the driver throws. */
  static async open(cursor: AbstractCursor<unknown>): Promise<OpenCursor> {
    return new OpenCursor(cursor, await cursor.next());
  }

  /** The document read at creation if it was not handed out yet, else what `step` reads. */
  async iterate(step: () => Promise<unknown>): Promise<unknown> {
    const first = this.#first;
    if (first === null) return step();
    this.#first = null;
    return first;
  }
}
