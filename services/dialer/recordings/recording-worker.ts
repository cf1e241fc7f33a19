import { plusMs } from "../../../shared/time/clock.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { REPOLL_MS } from "../call/call-deadlines.ts";
import type { DialerParts } from "../deps.ts";
import { reportAddress } from "./expect-recording.ts";
import { fetchRecording } from "./fetch-recording.ts";
import { findRecording } from "./find-recording.ts";
import { proceed, LEASE_MS, absent, dueStep, done } from "./recording-state-machine.ts";
import type { RecordedCall } from "./recordings.repository.ts";
import { uploadRecording } from "./upload-recording.ts";

/** Does what is due for recordings, several at a time: a slow one delays no other. */
export interface RecordingWorker {
  /** Begins what is due, as far as there is room; resolves when it has begun. */
  pass(): Promise<void>;
  /** A pass soon. */
  wake(): void;
}

/** Recordings that one process works on at once. */
const AT_ONCE = 8;
const NEVER_TOLD = "The carrier never told of a recording, and none was found there.";

/** Does the next step of one recording. Throws when a service or the carrier can't be reached. */
async function advance(deps: DialerParts, call: RecordedCall, lease_until: Date): Promise<void> {
  switch (dueStep(call.recording, deps.stores.upload)) {
    case "ask":
      await findRecording(deps, call, lease_until);
      return;
    case "give_up_waiting":
      await deps.recordings.apply(absent(call._id, NEVER_TOLD, deps.clock.now()));
      return;
    case "fetch":
      await fetchRecording(deps, call, lease_until);
      return;
    case "upload":
      await uploadRecording(deps, call);
      return;
    case "tell":
      await reportAddress(deps, call, true);
      break;
    case "take_back":
      await reportAddress(deps, call, false);
      break;
    case null:
      await deps.recordings.apply(done(call._id, lease_until));
      return;
  }
  await deps.recordings.apply(proceed(call._id, lease_until, deps.clock.now()));
}

/** The worker of one process. Those of all nodes share the recordings by their leases. */
export function createRecordingWorker(deps: DialerParts): RecordingWorker {
  let busy = 0;
  const one = async (call: RecordedCall, lease_until: Date): Promise<void> => {
    try {
      await advance(deps, call, lease_until);
    } catch (error) {
      deps.log.warn({ call_ref: call._id, error: errorForLog(error) }, "a recording's next step failed; it is retried");
      await deps.recordings.apply(proceed(call._id, lease_until, plusMs(deps.clock.now(), REPOLL_MS)));
    } finally {
      busy -= 1;
    }
    await pass(); // the next step of this one, and those that wait for room
  };
  const pass = async (): Promise<void> => {
    while (!deps.leaving.aborted && busy < AT_ONCE) {
      busy += 1;
      const now = deps.clock.now();
      const lease_until = plusMs(now, LEASE_MS);
      const call = await deps.recordings.takeDue(now, lease_until).catch((error: unknown) => {
        busy -= 1;
        throw error;
      });
      if (!call) {
        busy -= 1;
        return;
      }
      deps.background.run("the next step of a recording", () => one(call, lease_until));
    }
  };
  return { pass, wake: () => deps.background.run("looking for due recordings", pass) };
}
