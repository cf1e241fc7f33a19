/** Work that takes several slices; true when it is done. */
export type Work = () => boolean;

/**
 * What one slice was not enough for, served in turn: one slice of one piece of work in each turn of the event loop, between
 * which the connections are read. So a long command holds up the others by one slice, however many of them there are.
 */
export class TurnQueue {
  private readonly waiting: Work[] = [];

  /** Puts work at the end of the queue. */
  add(work: Work): void {
    this.waiting.push(work);
    if (this.waiting.length === 1) setImmediate(() => this.serve());
  }

  /** Forgets all of it: the store closes. */
  clear(): void {
    this.waiting.length = 0;
  }

  private serve(): void {
    const [work] = this.waiting;
    if (work === undefined) return;
    const done = work();
    this.waiting.shift();
    if (!done) this.waiting.push(work);
    if (this.waiting.length > 0) setImmediate(() => this.serve());
  }
}
