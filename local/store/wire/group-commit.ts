import { errorReply } from "../commands/command-table.ts";
import { StoreError } from "../bson/errors.ts";
import type { Storage } from "../storage/storage.ts";

/** Called when a turn has ended: with an encoded error if its writes were lost, else with nothing. */
type Ending = (failure: Uint8Array | undefined) => void;

/**
 * Group commit: all that arrives in one turn of the event loop is written in one transaction, and every answer of that turn
 * (also of reads, which may have seen those writes) waits for its commit.
 */
export class GroupCommit {
  private readonly storage: Storage;
  private readonly reload: () => void;
  private readonly report: (error: unknown) => void;
  private endings: Ending[] = [];
  private scheduled = false;

  /** `reload` reads the catalog again after a rollback; `report` receives unexpected errors. */
  constructor(storage: Storage, reload: () => void, report: (error: unknown) => void) {
    this.storage = storage;
    this.reload = reload;
    this.report = report;
  }

  /**
   * Runs work that may write. If it throws, what it wrote is taken back, and nothing that others wrote in the same turn, unless
   * sqlite had to give up the whole transaction.
   */
  run<T>(work: () => T): T {
    this.storage.beginPiece();
    try {
      const result = work();
      this.storage.keepPiece();
      return result;
    } catch (error) {
      const lost = this.storage.takeBackPiece();
      if (lost === "all") this.fail(error);
      else if (lost === "piece") this.reload();
      throw error;
    } finally {
      this.schedule();
    }
  }

  private schedule(): void {
    if (!this.storage.dirty || this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.end());
  }

  /** Calls `ending` after the commit of what has been written so far; at once when there is nothing to commit. */
  after(ending: Ending): void {
    if (this.storage.dirty) this.endings.push(ending);
    else ending(undefined);
  }

  private end(): void {
    this.scheduled = false;
    try {
      this.storage.commit();
    } catch (error) {
      this.fail(error);
      return;
    }
    this.settle(undefined);
  }

  /** Takes the turn's writes back and fails everyone who waited for them. */
  fail(error: unknown): void {
    this.storage.rollback();
    this.reload();
    this.settle(this.refusal(error));
  }

  /** Reports what nobody foresaw; the encoded error to answer. Drivers may retry the write. */
  refusal(error: unknown): Uint8Array {
    this.report(error);
    const message = error instanceof Error ? error.message : String(error);
    return errorReply(
      new StoreError("InternalError", `the store could not do it: ${message}`, {
        errorLabels: ["RetryableWriteError"],
      }),
    );
  }

  private settle(failure: Uint8Array | undefined): void {
    const { endings } = this;
    this.endings = [];
    for (const ending of endings) ending(failure);
  }

  /** Commits now (closing, background sweeps). */
  flush(): void {
    this.end();
  }
}
