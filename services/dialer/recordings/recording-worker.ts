import { plusMs } from "../../../shared/time/clock.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { REPOLL_MS } from "../call/call-deadlines.ts";
import type { DialerParts } from "../deps.ts";
import { addressOf, takeAddressBack } from "./expect-recording.ts";
import { fetchRecording } from "./fetch-recording.ts";
import { findRecording } from "./find-recording.ts";
import { absent, done, dueStep, LEASE_MS, proceed, storedTold } from "./recording-state-machine.ts";
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

/** Tells the leads service that a recording is stored, and where, of which it makes an event; until it has answered, it is told again. Throws when it can't be reached. */
async function tellStored(deps: DialerParts, call: RecordedCall, lease_until: Date): Promise<void> {
  const { _id, lead_id, claim_no, carrier_call_id: call_id = null, recording } = call;
  const recording_url = addressOf(deps, call);
  await deps.bus.call("leads.annotate", {
    lead_id,
    claim_no,
    recording_stored: { call_id, ...(recording_url && { recording_url }) },
  });
  const further = dueStep({ ...recording, stored_told: true }, deps.stores.upload) !== null;
  await deps.recordings.apply(storedTold(_id, lease_until, further, deps.clock.now()));
}

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
    case "tell_stored":
      await tellStored(deps, call, lease_until);
      return;
    case "take_back":
      await takeAddressBack(deps, call);
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
