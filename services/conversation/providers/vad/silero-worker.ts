import { readFileSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { weightsIn } from "../../audio/silero/model-file.ts";
import { SileroNetwork, SileroState, WINDOW, type SileroWindow } from "../../audio/silero/network.ts";

/** The thread that judges the sounds of all calls of a process. It is told the model's file, and says once when it is ready. */

/** Windows to be judged, in the order in which they were heard: of which call each is, and whether (1) it does not follow that call's window before. */
export interface Batch {
  readonly calls: readonly number[];
  readonly forgets: readonly boolean[];
  /** One window after the other. */
  readonly pcm: Int16Array<ArrayBuffer>;
}

/** What the thread says: null once it is ready, then the probabilities of each batch. */
export type Judged = Float32Array | null;

/** Calls that are remembered; past it the one that was silent the longest begins anew. */
const MAX_CALLS = 600;

const network = new SileroNetwork(weightsIn(readFileSync(String(workerData))));
const states = new Map<number, SileroState>();

function stateOf(call: number): SileroState {
  const state = states.get(call) ?? new SileroState();
  states.delete(call);
  states.set(call, state);
  const [oldest] = states.keys();
  if (states.size > MAX_CALLS && oldest !== undefined) states.delete(oldest);
  return state;
}

/** Judges the windows of calls at once, and those of one call one after the other. */
function judged({ calls, forgets, pcm }: Batch): Float32Array {
  const out = new Float32Array(calls.length);
  let open = [...calls.keys()];
  while (open.length > 0) {
    const now = new Map<number, number>();
    open = open.filter((n) => {
      const call = calls[n] ?? 0;
      if (now.has(call)) return true;
      now.set(call, n);
      return false;
    });
    const windows = [...now].map(([call, n]): SileroWindow => {
      const state = stateOf(call);
      if (forgets[n] === true) state.reset();
      return { pcm: pcm.subarray(n * WINDOW, (n + 1) * WINDOW), state };
    });
    const answers = network.judge(windows);
    for (const [at, n] of [...now.values()].entries()) out[n] = answers[at] ?? 0;
  }
  return out;
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
const tell = (what: Judged): void => parentPort?.postMessage(what);
parentPort?.on("message", (batch: Batch) => tell(judged(batch)));
tell(null);
