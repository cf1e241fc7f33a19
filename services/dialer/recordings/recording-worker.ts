import { plusMs } from "../../../shared/clock.ts";
import { errorForLog } from "../../../shared/log.ts";
import { RELOOK_MS } from "../call/call-deadlines.ts";
import type { Works } from "../deps.ts";
import { tellAddress } from "./expect-recording.ts";
import { fetchRecording } from "./fetch-recording.ts";
import { goOn, LEASE_MS, neverCame, owedOf, settled } from "./recording-state-machine.ts";
import type { RecordedCall } from "./recordings.repository.ts";
import { seekRecording } from "./find-recording.ts";
import { uploadRecording } from "./upload-recording.ts";

/** Sees to recordings, each in its own time: a slow one holds no other up. */
export interface Recorder {
  /** Begins whatever is due and there is room for; resolves when it has begun. */
  pass(): Promise<void>;
  /** A pass soon. */
  nudge(): void;
}

/** Recordings that one process sees to at once. */
const AT_ONCE = 8;
const NEVER_TOLD = "The carrier never told of a recording, and none was found there.";

/** Does what is owed to one recording. Throws when somebody can't be reached. */
async function seeTo(w: Works, call: RecordedCall, lease_until: Date): Promise<void> {
  switch (owedOf(call.recording, w.stores.upload)) {
    case "ask":
      await seekRecording(w, call, lease_until);
      return;
    case "give_up_waiting":
      await w.recordings.run(neverCame(call._id, NEVER_TOLD, w.clock.now()));
      return;
    case "fetch":
      await fetchRecording(w, call, lease_until);
      return;
    case "upload":
      await uploadRecording(w, call);
      return;
    case "tell":
      await tellAddress(w, call, true);
      break;
    case "take_back":
      await tellAddress(w, call, false);
      break;
    case null:
      await w.recordings.run(settled(call._id, lease_until));
      return;
  }
  await w.recordings.run(goOn(call._id, lease_until, w.clock.now()));
}

/** One that sees to the recordings of all nodes; `works` is asked for late, for it holds the recorder itself. */
export function createRecorder(works: () => Works): Recorder {
  let busy = 0;
  const one = async (w: Works, call: RecordedCall, lease_until: Date): Promise<void> => {
    try {
      await seeTo(w, call, lease_until);
    } catch (error) {
      w.log.warn(
        { call_ref: call._id, error: errorForLog(error) },
        "a recording could not be seen to; it is looked at again",
      );
      await w.recordings.run(goOn(call._id, lease_until, plusMs(w.clock.now(), RELOOK_MS)));
    } finally {
      busy -= 1;
    }
    await pass(); // the next step of this one, and whoever waits for its place
  };
  const pass = async (): Promise<void> => {
    const w = works();
    while (!w.stopping() && busy < AT_ONCE) {
      busy += 1;
      const now = w.clock.now();
      const lease_until = plusMs(now, LEASE_MS);
      const call = await w.recordings.takeDue(now, lease_until).catch((error: unknown) => {
        busy -= 1;
        throw error;
      });
      if (!call) {
        busy -= 1;
        return;
      }
      w.background.run("seeing to a recording", () => one(w, call, lease_until));
    }
  };
  return { pass, nudge: () => works().background.run("looking for recordings", pass) };
}
