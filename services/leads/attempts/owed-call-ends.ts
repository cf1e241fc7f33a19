import pLimit from "p-limit";
import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { LeadsRepository } from "../leads.repository.ts";

const BATCH = 100;
/** Calls that the dialer is told of at once. */
const TOLD_AT_ONCE = 10;
const RETRY_MS = 2000;

/** One pass over settled attempts whose call may be live while the dialer does not know that it is to end. True when there were as many as one pass takes. */
export async function tellOwedCallEnds({
  bus,
  clock,
  leads,
  log,
}: Pick<ServiceDeps, "bus" | "clock" | "log"> & { leads: LeadsRepository }): Promise<boolean> {
  const refs = await leads.owedCallEnds(clock.now(), BATCH);
  const told = await pLimit(TOLD_AT_ONCE).map(refs, async (call_ref) => {
    try {
      await bus.call("dialer.hangUp", { call_ref });
      return true;
    } catch (error) {
      log.warn(
        { event: "call.end_owed", call_ref, ...errorForLog(error) },
        "the end of a call stays owed to the dialer",
      );
      return false;
    }
  });
  const [done, owed] = [true, false].map((was) => refs.filter((_ref, i) => told[i] === was));
  if (done && done.length > 0) await leads.callEndsTold(done);
  if (owed && owed.length > 0) await leads.postponeCallEnds(owed, plusMs(clock.now(), RETRY_MS));
  return refs.length === BATCH;
}
