import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { MS_PER_SECOND } from "../../../shared/time/clock.ts";
import { readable } from "../lists/lead-queries.ts";
import type { LinkDeps } from "./join-link.ts";

/** How long after the end of a session the tab that held it hears the recording. */
const HEARD_FOR_SECONDS = 3600;
/** A session that has ended is settled, and its recording stored, within seconds. */
const AGAIN_SECONDS = 2;

/**
 * Where the recording of the session is that a tab has held: of a test session, whose person tries an agent out. Recordings of other sessions are the tenant's, as those of calls are.
 * LEAD_NOT_FOUND: another link or tab; FORBIDDEN: no test session, or over for longer than an hour; RECORDING_NOT_READY, RECORDING_NOT_FOUND, RECORDING_FAILED.
 */
export async function recordingByLink(
  { leads, clock, log }: Pick<LinkDeps, "leads" | "clock" | "log">,
  bus: Bus,
  { link, resume }: ParamsOf<"leads.recordingByLink">,
): Promise<ResultOf<"leads.recordingByLink">> {
  const lead = await leads.byLink(sha256(link));
  if (!lead || lead.link_holder !== sha256(resume))
    return fail("LEAD_NOT_FOUND", "This link leads to no session that this tab has held.");
  const { _id: lead_id, execution_mode, finished_at, call_id } = lead;
  if (execution_mode !== "RTC_TEST") fail("FORBIDDEN", "Only the recording of a test session is heard by its link.");
  if (finished_at === null)
    return fail("RECORDING_NOT_READY", "The session is not over yet.", { retry_after_seconds: AGAIN_SECONDS });
  if (clock.now().getTime() > finished_at.getTime() + HEARD_FOR_SECONDS * MS_PER_SECOND)
    fail("FORBIDDEN", "The recording is heard by its link for an hour after the end of the session.");
  const { recording } = call_id === null ? { recording: null } : await bus.call("dialer.recordingOf", { call_id });
  if (call_id === null || recording?.lead_id !== lead_id)
    return fail("RECORDING_NOT_FOUND", "This session was not recorded.");
  const place = readable(recording);
  log.debug({ event: "recording.heard", lead_id }, "the tab that held a session may read its recording");
  return { ...place, call_id };
}
