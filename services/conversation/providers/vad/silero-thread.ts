import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Log } from "../../../../shared/process/log.ts";
import type { Clock } from "../../../../shared/time/clock.ts";
import { startTimer } from "../../../../shared/time/timer.ts";
import type { VoiceJudge, VoiceModel } from "../../audio/port.ts";
import { WINDOW } from "../../audio/silero/network.ts";
import type { Batch, Judged } from "./silero-worker.ts";

/** Windows are gathered for so long, so that the calls of a process share a batch: a message costs as much as ten windows. */
const GATHER_MS = 20;
/** Windows that wait at most: 400 calls that all speak leave so many in half a second. What is past it is not judged. */
const MAX_WAITING = 6000;
/** A thread that has not answered for so long is replaced. */
const STUCK_MS = 2000;
/** So much later another thread is started, ms; after so many that never were ready none is. */
const AGAIN_MS = 2000;
const MAX_FAILURES = 3;
/** Memory of the thread. */
const MEMORY = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

type Answer = (probability: number | null) => void;

/** Where the optional package has the model; null: it is not installed. */
export function sileroFile(resolve: (name: string) => string = createRequire(import.meta.url).resolve): string | null {
  try {
    const file = join(dirname(resolve("@ricky0123/vad-web")), "silero_vad_v6.onnx");
    return existsSync(file) ? file : null;
  } catch {
    return null;
  }
}

/** Windows that wait for the thread, with who wants to know. */
class WaitingWindows {
  #calls: number[] = [];
  #forgets: boolean[] = [];
  #answers: Answer[] = [];
  #pcm = new Int16Array(64 * WINDOW);

  get count(): number {
    return this.#answers.length;
  }
  add(call: number, forgets: boolean, pcm: Int16Array, answer: Answer): void {
    const at = this.#answers.length * WINDOW;
    if (at + WINDOW > this.#pcm.length) {
      const more = new Int16Array(2 * this.#pcm.length);
      more.set(this.#pcm);
      this.#pcm = more;
    }
    this.#pcm.set(pcm, at);
    this.#calls.push(call);
    this.#forgets.push(forgets);
    this.#answers.push(answer);
  }
  take(): { batch: Batch; answers: Answer[] } {
    const batch = { calls: this.#calls, forgets: this.#forgets, pcm: this.#pcm.slice(0, this.count * WINDOW) };
    const answers = this.#answers;
    [this.#calls, this.#forgets, this.#answers] = [[], [], []];
    return { batch, answers };
  }
}

/** What the thread is made with. */
export interface SileroThreadDeps {
  clock: Clock;
  log: Log;
  /** The model's file. */
  file: string;
  start?: (file: string) => Worker;
}

const startWorker = (file: string): Worker =>
  new Worker(new URL("./silero-worker.ts", import.meta.url), { env: {}, workerData: file, resourceLimits: MEMORY });

/** Silero VAD for all calls of a process, in one thread that starts with the first of them. Nobody waits for it: what it can't judge in time is answered with null, and a dead thread is replaced. */
export class SileroThread implements VoiceModel {
  readonly #deps: SileroThreadDeps;
  readonly #waiting = new WaitingWindows();
  #worker: Worker | null = null;
  #isReady = false;
  #isOver = false;
  #failures = 0;
  #calls = 0;
  /** Who waits for the batch that the thread has; null: it has none. */
  #asked: Answer[] | null = null;
  #gathering = false;
  #askedAt = 0;

  constructor(deps: SileroThreadDeps) {
    this.#deps = deps;
  }

  open(answer: Answer): VoiceJudge {
    if (!this.#worker && !this.#isOver && this.#failures === 0) this.#start();
    const call = this.#calls++;
    let forgets = true;
    const isReady = (): boolean => this.#isReady;
    return {
      get ready() {
        return isReady();
      },
      ask: (window) => {
        if (!this.#isReady || this.#waiting.count >= MAX_WAITING) {
          forgets = true;
          answer(null);
          return;
        }
        this.#waiting.add(call, forgets, window, answer);
        forgets = false;
        this.#gather();
      },
      forget: () => {
        forgets = true;
      },
    };
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    this.#isOver = true;
    await this.#worker?.terminate();
  }

  #start(): void {
    const worker = (this.#deps.start ?? startWorker)(this.#deps.file);
    worker.unref();
    worker.on("message", (judged: Judged) => this.#judged(judged));
    worker.on("error", () => undefined); // its exit follows
    worker.on("exit", () => this.#exited(worker));
    this.#worker = worker;
  }

  #gather(): void {
    const { clock } = this.#deps;
    if (this.#asked && clock.monotonicMs() - this.#askedAt > STUCK_MS) void this.#worker?.terminate();
    if (this.#gathering || this.#asked) return;
    this.#gathering = true;
    void this.#sendAfter(clock.wait(GATHER_MS));
  }

  async #sendAfter(gathered: Promise<void>): Promise<void> {
    await gathered;
    this.#gathering = false;
    this.#send();
  }

  #send(): void {
    if (this.#asked || this.#waiting.count === 0 || !this.#isReady) return;
    const { batch, answers } = this.#waiting.take();
    this.#asked = answers;
    this.#askedAt = this.#deps.clock.monotonicMs();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, no window
    this.#worker?.postMessage(batch, [batch.pcm.buffer]);
  }

  #judged(judged: Judged): void {
    if (judged === null) {
      this.#isReady = true;
      this.#failures = 0;
      return;
    }
    const answers = this.#asked ?? [];
    this.#asked = null;
    for (const [n, answer] of answers.entries()) answer(judged[n] ?? null);
    if (this.#waiting.count > 0) this.#gather();
  }

  /** Whoever waits is told that no answer comes. */
  #exited(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#failures = this.#isReady ? 1 : this.#failures + 1;
    this.#isReady = false;
    const lost = [...(this.#asked ?? []), ...this.#waiting.take().answers];
    this.#asked = null;
    for (const answer of lost) answer(null);
    if (this.#isOver) return;
    const again = this.#failures < MAX_FAILURES;
    this.#deps.log.warn(
      { event: "vad.thread_died", again },
      again
        ? "The thread that tells voices from noises has died; another one starts."
        : "The thread that tells voices from noises does not start: voices are told by their pitch.",
    );
    if (again)
      startTimer(this.#deps.clock, AGAIN_MS, () => {
        if (!this.#isOver) this.#start();
      });
  }
}
