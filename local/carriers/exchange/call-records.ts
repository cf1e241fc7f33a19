import type { Call } from "./call.ts";

/** Ended calls are forgotten beyond this many. */
const MAX_CALLS_KEPT = 100_000;

/** What one carrier's protocol knows of its calls, by their sid. */
export class CallRecords<T extends { readonly call: Call }> {
  readonly bySid: Map<string, T>;

  /** `restored`: the calls of an earlier run. */
  constructor(restored: Map<string, T>) {
    this.bySid = restored;
  }

  /** The record of a call; throws where there is none. The exchange knows a call first, but nothing happens to it in between. */
  of({ order: { sid } }: Call): T {
    const found = this.bySid.get(sid);
    if (!found) throw new Error(`no record of call ${sid}`);
    return found;
  }

  /** Keeps a record; the oldest is forgotten when there are too many and its call is over. */
  keep(record: T): T {
    this.bySid.set(record.call.order.sid, record);
    const oldest = this.bySid.entries().next();
    if (this.bySid.size > MAX_CALLS_KEPT && !oldest.done && oldest.value[1].call.phase === "ended")
      this.bySid.delete(oldest.value[0]);
    return record;
  }
}
