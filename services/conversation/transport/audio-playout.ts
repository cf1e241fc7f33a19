import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Pcm } from "../audio/port.ts";
import { DuckGain } from "../audio/duck-gain.ts";
import { PlayoutQueue, type PartSpec, type QueuedFrame } from "./playout-queue.ts";
import { FRAME_MS, type MediaLeg } from "./port.ts";

/** Audio is sent to the carrier at most this long before it is due, so that a pause or a cut takes effect at once. */
export const LEAD_MS = 200;
/** Below this lead more than one frame is sent a tick. The room in between absorbs ticks that are a little early or late. */
const REFILL_MS = LEAD_MS - 2.5 * FRAME_MS;
/** A mark that does not return this long after its audio must have been played counts as returned. */
const MARK_TIMEOUT_MS = 1000;

/** What the caller heard when speech was cut: the words of the last utterance of which a word was heard ("" where none was), and how much of each unfinished group, ms. */
export interface Cut {
  readonly spoken: string;
  readonly unfinished: readonly { group: number; heard_ms: number }[];
}

/** Takes the audio of one part. */
export interface PartSink {
  push(pcm: Pcm): void;
  /** Adds text to the part, for speech whose text arrives with its audio. */
  addText(text: string): void;
  end(): void;
}

/** Dependencies of a playout. `played` gets every frame when the caller hears it, for the recorder. */
export interface AudioPlayoutDeps {
  leg: Pick<MediaLeg, "write" | "mark" | "clear">;
  clock: Clock;
  rate: number;
  encode(pcm: Pcm): Uint8Array;
  played?(pcm: Pcm, at_ms: number): void;
}

/** A frame at the carrier, due to be heard at `at_ms`. */
interface FrameInFlight extends QueuedFrame {
  readonly at_ms: number;
}

/** Our speech on its way to the caller: paced, in order, with an exact account of what was heard. */
export class AudioPlayout {
  readonly #deps: AudioPlayoutDeps;
  readonly #frameSamples: number;
  readonly #queue: PlayoutQueue;
  #inFlight: FrameInFlight[] = [];
  /** When the carrier will have played all it was sent. */
  #until = 0;
  #paused = false;
  readonly #gain = new DuckGain();
  #audibleSince: number | null = null;
  /** Parts of which something was heard, and when last. */
  readonly #lately = new Map<object, { text: string; at_ms: number }>();
  #marks = 0;
  /** Audio was sent after the last mark. */
  #markDue = false;
  #awaitedMark: { name: string; until: number } | null = null;

  constructor(deps: AudioPlayoutDeps) {
    this.#deps = deps;
    this.#frameSamples = (deps.rate * FRAME_MS) / MS_PER_SECOND;
    this.#queue = new PlayoutQueue(deps.rate, this.#frameSamples);
  }

  get paused(): boolean {
    return this.#paused;
  }
  /** Monotonic time at which the first frame since the last silence was sent; null: silent. */
  get audibleSince(): number | null {
    return this.#audibleSince;
  }
  /** Audio is queued, in flight or awaited. */
  get busy(): boolean {
    return !this.#queue.isEmpty || this.#inFlight.length > 0 || this.#awaitedMark !== null;
  }
  /** The words heard so far of the utterance heard last. */
  get spoken(): string {
    this.#hearDue(this.#deps.clock.monotonicMs());
    return this.#queue.spoken();
  }
  /** Texts of ours of which something was heard since an instant, and when the last sound of them was heard. */
  heardSince(since_ms: number): { text: string; last_ms: number } {
    const now = this.#deps.clock.monotonicMs();
    this.#hearDue(now);
    for (const [part, { at_ms }] of this.#lately) if (at_ms < since_ms) this.#lately.delete(part);
    const all = [...this.#lately.values()];
    return { text: all.map(({ text }) => text).join(" "), last_ms: Math.max(-Infinity, ...all.map((p) => p.at_ms)) };
  }
  /** Audio of the queued parts was heard or is in flight. */
  get audible(): boolean {
    return this.#inFlight.length > 0 || this.#queue.begun;
  }
  /** Audio not heard yet, ms; Infinity while a part has not ended. */
  get leftMs(): number {
    return this.#queue.leftMs;
  }
  /** Every queued part may be interrupted. */
  get interruptible(): boolean {
    return this.#queue.interruptible;
  }

  /** Appends a part to the queue. */
  add(spec: PartSpec): PartSink {
    const part = this.#queue.add(spec);
    return {
      push: (pcm) => {
        if (part.ended || pcm.length === 0) return;
        part.chunks.push(pcm);
        part.received += pcm.length;
        // after silence the next tick is not awaited: half a frame sooner on average
        if (this.#inFlight.length === 0) this.tick();
      },
      addText: (text) => {
        part.text += text;
      },
      end: () => {
        part.ended = true;
      },
    };
  }

  /** Sends the frames that are due. To be called every FRAME_MS. */
  tick(): void {
    const now = this.#deps.clock.monotonicMs();
    this.#hearDue(now);
    if (this.#paused) return;
    for (let most = LEAD_MS - FRAME_MS; this.#until - now <= most; most = REFILL_MS) {
      const frame = this.#queue.nextFrame();
      if (!frame) break;
      const at_ms = Math.max(this.#until, now);
      this.#until = at_ms + FRAME_MS;
      this.#audibleSince ??= now;
      this.#gain.apply(frame.pcm);
      this.#inFlight.push({ at_ms, ...frame });
      this.#deps.leg.write(this.#deps.encode(frame.pcm));
      this.#markDue = true;
    }
    if (this.#markDue && this.#queue.allSent) this.#mark();
    if (this.#awaitedMark && now >= this.#awaitedMark.until) this.#awaitedMark = null;
    if (!this.busy) this.#audibleSince = null;
  }

  /** Falls silent at once and keeps what was not heard. */
  pause(): void {
    if (this.#paused) return;
    this.#stop();
    this.#paused = true;
  }

  /** Goes on more quietly, or as loud as before: from the next frame that is sent, which is heard LEAD_MS later. */
  duck(on: boolean): void {
    if (on) this.#gain.duck();
    else this.#gain.restore(this.#inFlight.length === 0);
  }

  /** Continues where the caller stopped hearing, as loud as before. */
  resume(): void {
    this.#gain.restore(this.#paused);
    this.#paused = false;
    this.#audibleSince = null;
  }

  /** Falls silent and drops the queue. */
  flush(): Cut {
    this.#stop();
    this.#paused = false;
    this.#gain.restore(true);
    const cut = { spoken: this.#queue.spoken(), unfinished: this.#queue.unfinished };
    this.#queue.clear();
    this.#audibleSince = null;
    return cut;
  }

  /** Closes the account of what was heard so far: a later cut covers later speech only. */
  commitHeard(): void {
    this.#queue.commitHeard();
  }

  /** The carrier returned a mark, played or cleared. */
  markReturned(name: string): void {
    if (this.#awaitedMark?.name === name) this.#awaitedMark = null;
  }

  #mark(): void {
    this.#markDue = false;
    const name = `m${++this.#marks}`;
    this.#awaitedMark = { name, until: this.#until + MARK_TIMEOUT_MS };
    this.#deps.leg.mark(name);
  }

  /** Counts the frames whose time is over as heard. */
  #hearDue(now: number): void {
    let first = this.#inFlight[0];
    for (; first && first.at_ms + FRAME_MS <= now; first = this.#inFlight[0]) {
      this.#inFlight.shift();
      this.#hear(first, this.#frameSamples);
    }
  }

  #hear(frame: FrameInFlight, samples: number): void {
    const { pcm, at_ms } = frame;
    this.#deps.played?.(samples === pcm.length ? pcm : pcm.subarray(0, samples), at_ms);
    for (const { part } of frame.pieces) if (!part.aside || part.text !== "") this.#noteHeard(part, at_ms);
    this.#queue.hear(frame, samples);
  }

  #noteHeard(part: { text: string }, at_ms: number): void {
    const known = this.#lately.get(part);
    if (known === undefined) this.#lately.set(part, { text: part.text, at_ms });
    else {
      known.text = part.text;
      known.at_ms = at_ms;
    }
  }

  /** Clears the carrier's buffer; audio in it that was not heard is queued again. */
  #stop(): void {
    const now = this.#deps.clock.monotonicMs();
    this.#hearDue(now);
    const [current] = this.#inFlight;
    if (current && current.at_ms < now)
      this.#hear(current, Math.floor(((now - current.at_ms) * this.#frameSamples) / FRAME_MS));
    const cleared = this.#inFlight.length > 0 || this.#awaitedMark !== null;
    this.#inFlight = [];
    this.#awaitedMark = null;
    this.#markDue = false;
    this.#queue.rewind();
    this.#until = now;
    if (cleared) this.#deps.leg.clear();
  }
}
