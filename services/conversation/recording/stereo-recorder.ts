import type { Clock } from "../../../shared/clock.ts";
import type { Pcm } from "../audio/port.ts";
import { stereoWindow, type Channel } from "./stereo-window.ts";

/** Writes a talk down as it sounded: the caller left, the agent right. Neither call ever waits. */
export interface Recorder {
  /** Sound of the caller; `at_ms` is the clock's monotonic time of its first sample (its arrival will do). */
  heard(pcm: Pcm, at_ms: number): void;
  /** Sound of ours that the caller has heard, or is hearing now: what a clear threw away is never told. */
  played(pcm: Pcm, at_ms: number): void;
  /** The talk is over now; resolves when the recording is kept, or given up. Never throws; the second time it changes nothing. */
  end(): Promise<void>;
}

/** Sound may be told this long after it sounded; what comes later is left out. Told ahead, it may end one second from now. */
export const LATENESS_MS = 1500;

/** Where a recording is written, at any place; what is skipped is silence. All of it rejects when it can't be written. */
export interface RecordingSink {
  write(bytes: Uint8Array, at_byte: number): Promise<void>;
  /** All is written: so many bytes of sound. */
  finish(bytes: number): Promise<void>;
  /** Nothing of it is to be kept. */
  abandon(): Promise<void>;
}

/** What a recorder is made with. `fault` is told at the end, once, when the recording was given up or has silence in it for sound the disk was too slow for. */
export interface RecorderDeps {
  rate: 8000 | 16_000;
  clock: Clock;
  open(): RecordingSink;
  fault(error: unknown): void;
}

/** Bytes of one moment: two sides of 16 bits. */
export const FRAME_BYTES = 4;
/** Longest recording; what is said after it is not recorded. */
const MAX_SECONDS = 4 * 3600;
/** Sound leaves in pieces of about this length. */
const PIECE_SECONDS = 1;
/** Held at once: what may still come late, a piece, and what may be told ahead. */
const WINDOW_SECONDS = LATENESS_MS / 1000 + PIECE_SECONDS + 1;
/** Pieces that wait for the disk; more of them are lost, and silence in the recording. */
const MAX_WAITING = 8;
const MS_PER_SECOND = 1000;

interface Piece {
  readonly bytes: Uint8Array;
  readonly at_byte: number;
}

/** Pieces on their way to the disk, one at a time. */
function outbox(sink: RecordingSink) {
  let waiting: Piece[] = [];
  let sending: Promise<void> | null = null;
  let broken: { error: unknown } | null = null;
  let lost = 0;
  const send = async (): Promise<void> => {
    try {
      for (let piece = waiting.shift(); piece; piece = waiting.shift()) await sink.write(piece.bytes, piece.at_byte);
    } catch (error) {
      broken = { error };
      waiting = [];
    }
    sending = null;
  };
  return {
    put(piece: Piece): void {
      if (broken || waiting.length >= MAX_WAITING) {
        lost += 1;
        return;
      }
      waiting.push(piece);
      sending ??= send();
    },
    /** Pieces that could not wait. */
    lost: () => lost,
    /** Resolves when all of it is written; throws what stood in its way. */
    async empty(): Promise<void> {
      await sending;
      if (broken) throw broken.error;
    },
  };
}

/** Records a talk that begins now, both sides apart, at `rate`. The whole talk is never in memory. */
export function stereoRecorder({ rate, clock, open, fault }: RecorderDeps): Recorder {
  const startMs = clock.monotonicMs();
  const sink = open();
  const out = outbox(sink);
  const window = stereoWindow(rate, WINDOW_SECONDS);
  let ended: Promise<void> | null = null;

  const placeOf = (at_ms: number): number =>
    Math.min(MAX_SECONDS * rate, Math.max(0, Math.round(((at_ms - startMs) * rate) / MS_PER_SECOND)));
  const send = (upTo: number): void => {
    const piece = window.take(upTo);
    if (piece) out.put({ bytes: new Uint8Array(piece.interleaved.buffer), at_byte: piece.from * FRAME_BYTES });
  };
  const tell = (side: Channel, pcm: Pcm, at_ms: number): void => {
    if (ended) return;
    const settled = placeOf(clock.monotonicMs() - LATENESS_MS);
    if (settled - window.begin() >= PIECE_SECONDS * rate) send(settled);
    if (at_ms - startMs < MAX_SECONDS * MS_PER_SECOND) window.put(side, pcm, placeOf(at_ms));
  };
  const finish = async (): Promise<void> => {
    const total = placeOf(clock.monotonicMs());
    send(total);
    try {
      await out.empty();
      await (total === 0 ? sink.abandon() : sink.finish(total * FRAME_BYTES));
      if (out.lost() > 0) fault(new Error(`the disk was too slow for ${out.lost()} pieces of a recording`));
    } catch (error) {
      fault(error);
      await sink.abandon().catch(() => undefined);
    }
  };
  return {
    heard: (pcm, at_ms) => tell(0, pcm, at_ms),
    played: (pcm, at_ms) => tell(1, pcm, at_ms),
    end: () => (ended ??= finish()),
  };
}
