import type { Clock } from "../../../shared/clock.ts";
import { silentFrame } from "../audio/frame-pool.ts";
import type { Pcm } from "../audio/port.ts";
import { FRAME_MS, type MediaLeg } from "./port.ts";
import { spokenPrefix } from "../audio/spoken-prefix.ts";
import { speechMs } from "../audio/speech-duration.ts";

/** Sound is handed to the carrier at most this much before it is due, so that a pause or a cut takes hold at once (voice.md 0: at most 200 ms). */
export const LEAD_MS = 200;
/** Below this lead more than one frame a beat is handed over. In between is room for beats that are a little early or late, and change nothing. */
const REFILL_MS = LEAD_MS - 2.5 * FRAME_MS;
/** A mark that does not come back this long after its sound must have been played counts as come. */
const MARK_PATIENCE_MS = 1000;
const MS_PER_SECOND = 1000;

/** What a part of our speech is: `group` ties the parts of one utterance together; `aside` is sound that is no words of the talk (a filler, keys). */
export interface PartSpec {
  readonly text: string;
  readonly group: number;
  readonly interruptible: boolean;
  readonly aside: boolean;
}

/** What was heard when speech was cut: the words of the utterance it was cut in ("" where nothing of any was heard), and how much of each group that was not done with. */
export interface Cut {
  readonly spoken: string;
  readonly unfinished: readonly { group: number; heard_ms: number }[];
}

/** A part being filled with sound. */
export interface PartSink {
  push(pcm: Pcm): void;
  /** More words of the part, where its text is known only with its sound. */
  addText(text: string): void;
  end(): void;
}

/** Our speech on its way to the caller's ear: paced, in order, and known to the millisecond in what was heard of it. */
export interface AudioPlayout {
  /** A part at the end of the queue. */
  add(part: PartSpec): PartSink;
  /** Hands over what is due. To be called every FRAME_MS. */
  tick(): void;
  /** Falls silent at once and keeps what was not heard. */
  pause(): void;
  /** Goes on where the caller stopped hearing. */
  resume(): void;
  readonly paused: boolean;
  /** Falls silent for good. */
  flush(): Cut;
  /** What was heard so far is settled: a later cut is about what comes now. */
  commitHeard(): void;
  /** What was heard so far of the utterance that is heard last. */
  readonly spoken: string;
  /** Sound is queued, on its way or being heard, or a part still waits for it. */
  readonly busy: boolean;
  /** Sound has begun to be heard of what is in the queue. */
  readonly audible: boolean;
  /** What is left to be heard, ms; Infinity while more is announced. */
  readonly leftMs: number;
  /** May what is in the queue be talked over? */
  readonly interruptible: boolean;
  /** The carrier says that a mark's sound was played, or thrown away. */
  markReturned(name: string): void;
  /** The monotonic instant the first frame since the last silence was handed over; null: silent. */
  readonly audibleSince: number | null;
}

interface Part extends Omit<PartSpec, "text"> {
  text: string;
  chunks: Pcm[];
  /** Samples before the first chunk: heard and let go. */ base: number;
  received: number;
  sent: number;
  heard: number;
  ended: boolean;
}
interface Flight {
  readonly at_ms: number;
  readonly pcm: Pcm;
  readonly pieces: readonly { part: Part; samples: number }[];
}

/** How a playout is made. `played` is told of every frame as the caller hears it, for the recorder. */
export interface AudioPlayoutDeps {
  leg: Pick<MediaLeg, "write" | "mark" | "clear">;
  clock: Clock;
  rate: number;
  encode(pcm: Pcm): Uint8Array;
  played?(pcm: Pcm, at_ms: number): void;
}

class PacedPlayout implements AudioPlayout {
  readonly #o: AudioPlayoutDeps;
  readonly #frame: number;
  #queue: Part[] = [];
  /** Parts heard to their end since the last settling, for telling what was heard. */
  #done: Part[] = [];
  #flight: Flight[] = [];
  /** When the carrier will have played all it was given. */
  #until = 0;
  #paused = false;
  #soundingSince: number | null = null;
  #marks = 0;
  /** Sound was handed over after the last mark. */
  #markDue = false;
  #awaited: { name: string; until: number } | null = null;

  constructor(o: AudioPlayoutDeps) {
    this.#o = o;
    this.#frame = (o.rate * FRAME_MS) / MS_PER_SECOND;
  }

  get paused(): boolean {
    return this.#paused;
  }
  get audibleSince(): number | null {
    return this.#soundingSince;
  }
  get busy(): boolean {
    return this.#queue.length > 0 || this.#flight.length > 0 || this.#awaited !== null;
  }
  get spoken(): string {
    this.#settleFlight(this.#o.clock.monotonicMs());
    return this.#spoken();
  }
  get audible(): boolean {
    return this.#flight.length > 0 || this.#queue.some((p) => p.heard > 0);
  }
  get leftMs(): number {
    return this.#queue.reduce(
      (ms, p) => ms + (p.ended ? ((p.received - p.heard) * MS_PER_SECOND) / this.#o.rate : Infinity),
      0,
    );
  }
  get interruptible(): boolean {
    return this.#queue.every((p) => p.interruptible);
  }

  add(spec: PartSpec): PartSink {
    const part: Part = { ...spec, chunks: [], base: 0, received: 0, sent: 0, heard: 0, ended: false };
    this.#queue.push(part);
    return {
      push: (pcm) => {
        if (part.ended || pcm.length === 0) return;
        part.chunks.push(pcm);
        part.received += pcm.length;
        // who is silent does not wait for the beat: on average that is half a frame sooner
        if (this.#flight.length === 0) this.tick();
      },
      addText: (text) => {
        part.text += text;
      },
      end: () => {
        part.ended = true;
      },
    };
  }

  tick(): void {
    const now = this.#o.clock.monotonicMs();
    this.#settleFlight(now);
    if (this.#paused) return;
    for (let most = LEAD_MS - FRAME_MS; this.#until - now <= most; most = REFILL_MS) {
      const frame = this.#next();
      if (!frame) break;
      const at_ms = Math.max(this.#until, now);
      this.#until = at_ms + FRAME_MS;
      this.#soundingSince ??= now;
      this.#flight.push({ at_ms, ...frame });
      this.#o.leg.write(this.#o.encode(frame.pcm));
      this.#markDue = true;
    }
    if (this.#markDue && this.#queue.every((p) => p.ended && p.sent === p.received)) this.#mark();
    if (this.#awaited && now >= this.#awaited.until) this.#awaited = null;
    if (!this.busy) this.#soundingSince = null;
  }

  pause(): void {
    if (this.#paused) return;
    this.#stop();
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#soundingSince = null;
  }

  flush(): Cut {
    this.#stop();
    this.#paused = false;
    const cut = {
      spoken: this.#spoken(),
      unfinished: this.#queue.map((p) => ({
        group: p.group,
        heard_ms: Math.floor((p.heard * MS_PER_SECOND) / this.#o.rate),
      })),
    };
    this.#queue = [];
    this.#done = [];
    this.#soundingSince = null;
    return cut;
  }

  commitHeard(): void {
    this.#done = [];
  }

  markReturned(name: string): void {
    if (this.#awaited?.name === name) this.#awaited = null;
  }

  #mark(): void {
    this.#markDue = false;
    const name = `m${++this.#marks}`;
    this.#awaited = { name, until: this.#until + MARK_PATIENCE_MS };
    this.#o.leg.mark(name);
  }

  /** The next frame: of one part, or over the seam of two, so that nothing gaps; null: nothing to say yet. */
  #next(): Omit<Flight, "at_ms"> | null {
    const ready = this.#ready();
    if (ready === 0) {
      this.#dropEmpty();
      return null;
    }
    // a frame that isn't full waits for more, unless there is no more
    if (ready < this.#frame && this.#queue.some((p) => !p.ended)) return null;
    const pcm = silentFrame(this.#frame);
    const pieces: { part: Part; samples: number }[] = [];
    let filled = 0;
    for (const part of this.#queue) {
      const samples = Math.min(this.#frame - filled, part.received - part.sent);
      if (samples > 0) {
        copyFrom(part, part.sent, pcm.subarray(filled, filled + samples));
        part.sent += samples;
        pieces.push({ part, samples });
        filled += samples;
      }
      if (filled === this.#frame || !part.ended) break;
    }
    return { pcm, pieces };
  }

  /** Samples that can be handed over now without a gap among them, as far as a frame's worth is concerned. */
  #ready(): number {
    let ready = 0;
    for (const part of this.#queue) {
      ready += part.received - part.sent;
      if (ready >= this.#frame || !part.ended) break;
    }
    return ready;
  }

  /** Parts without sound are over when it is their turn. */
  #dropEmpty(): void {
    for (let first = this.#queue[0]; first?.ended && first.heard >= first.received; first = this.#queue[0])
      this.#done.push(...this.#queue.splice(0, 1));
  }

  /** Frames whose time is over were heard. */
  #settleFlight(now: number): void {
    let first = this.#flight[0];
    for (; first && first.at_ms + FRAME_MS <= now; first = this.#flight[0]) {
      this.#flight.shift();
      this.#hear(first, this.#frame);
    }
  }

  #hear(flight: Flight, samples: number): void {
    this.#o.played?.(samples === flight.pcm.length ? flight.pcm : flight.pcm.subarray(0, samples), flight.at_ms);
    let left = samples;
    for (const piece of flight.pieces) {
      const heard = Math.min(left, piece.samples);
      piece.part.heard += heard;
      left -= heard;
      letGo(piece.part);
    }
    this.#dropEmpty();
  }

  /** Silence at the carrier; what it had and did not play is ours again. */
  #stop(): void {
    const now = this.#o.clock.monotonicMs();
    this.#settleFlight(now);
    const [current] = this.#flight;
    if (current && current.at_ms < now)
      this.#hear(current, Math.floor(((now - current.at_ms) * this.#frame) / FRAME_MS));
    const cleared = this.#flight.length > 0 || this.#awaited !== null;
    this.#flight = [];
    this.#awaited = null;
    this.#markDue = false;
    for (const part of this.#queue) part.sent = part.heard;
    this.#until = now;
    if (cleared) this.#o.leg.clear();
  }

  /** What was heard of the last utterance of which anything was. */
  #spoken(): string {
    const parts = [...this.#done, ...this.#queue].filter(
      (p) => !p.aside && (p.heard > 0 || (p.ended && p.received === 0 && this.#done.includes(p))),
    );
    const group = parts.at(-1)?.group;
    return parts
      .filter((p) => p.group === group)
      .map((p) => spokenPrefix(p.text, share(p, this.#o.rate)))
      .filter((t) => t !== "")
      .join(" ");
  }
}

/** The part of a part's sound that was heard, 0 to 1; its length is reckoned from the text while its sound still comes. */
function share(part: Part, rate: number): number {
  if (part.ended && part.heard >= part.received) return 1;
  const total = part.ended ? part.received : Math.max(part.received, (speechMs(part.text) * rate) / MS_PER_SECOND);
  return total === 0 ? 0 : part.heard / total;
}

function copyFrom(part: Part, from: number, to: Pcm): void {
  let at = part.base;
  let filled = 0;
  for (const chunk of part.chunks) {
    const begin = Math.max(0, from + filled - at);
    if (begin < chunk.length) {
      const some = chunk.subarray(begin, begin + to.length - filled);
      to.set(some, filled);
      filled += some.length;
      if (filled === to.length) return;
    }
    at += chunk.length;
  }
}

/** Sound that was heard is kept no longer. */
function letGo(part: Part): void {
  for (let first = part.chunks[0]; first && part.base + first.length <= part.heard; first = part.chunks[0]) {
    part.chunks.shift();
    part.base += first.length;
  }
}

/** A playout that is silent. */
export const audioPlayout = (o: AudioPlayoutDeps): AudioPlayout => new PacedPlayout(o);
