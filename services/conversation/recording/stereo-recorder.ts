import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import type { Pcm } from "../audio/port.ts";
import { StereoWindow, type Channel } from "./stereo-window.ts";

/** Records a conversation in stereo: the caller left, the agent right. Its calls never block. */
export interface Recorder {
  /** Audio of the caller; `at_ms` is the monotonic time of its first sample, or of its arrival. */
  heard(pcm: Pcm, at_ms: number): void;
  /** Audio of ours that the caller hears; audio thrown away by a clear is not part of it. */
  played(pcm: Pcm, at_ms: number): void;
  /** Ends the recording; resolves when it is stored or abandoned. Idempotent, never throws. */
  end(): Promise<void>;
}

/** Audio may be reported this late; later audio is left out. Reported ahead, it may end one second from now. */
export const LATENESS_MS = 1500;

/** Takes a recording at any position; what is skipped is silence. Every method rejects when it can't write. */
export interface RecordingSink {
  write(bytes: Uint8Array, at_byte: number): Promise<void>;
  /** The recording is complete with so many bytes of audio. */
  finish(bytes: number): Promise<void>;
  /** Deletes what was written. */
  abandon(): Promise<void>;
}

/** Dependencies of a recorder. `fault` is called once, at the end, when the recording was abandoned or lacks audio because the disk was too slow. */
export interface RecorderDeps {
  rate: 8000 | 16_000;
  clock: Clock;
  open(): RecordingSink;
  onFault(error: unknown): void;
}

/** Bytes of one stereo sample: two channels of 16 bits. */
export const FRAME_BYTES = 4;
/** Longest recording; later audio is left out. */
const MAX_SECONDS = 4 * 3600;
/** Audio is written in pieces of about this length. */
const PIECE_SECONDS = 1;
/** Length of the window: late audio, one piece, and audio reported ahead. */
const WINDOW_SECONDS = LATENESS_MS / 1000 + PIECE_SECONDS + 1;
/** Pieces that wait for the disk; further ones are lost and become silence. */
const MAX_QUEUED_PIECES = 8;

interface Piece {
  readonly bytes: Uint8Array;
  readonly at_byte: number;
}

/** Writes pieces to the disk, one at a time. */
function pieceWriter(sink: RecordingSink) {
  let queue: Piece[] = [];
  let writing: Promise<void> | null = null;
  let failure: { error: unknown } | null = null;
  let lost = 0;
  const writeAll = async (): Promise<void> => {
    try {
      for (let piece = queue.shift(); piece; piece = queue.shift()) await sink.write(piece.bytes, piece.at_byte);
    } catch (error) {
      failure = { error };
      queue = [];
    }
    writing = null;
  };
  return {
    put(piece: Piece): void {
      if (failure || queue.length >= MAX_QUEUED_PIECES) {
        lost += 1;
        return;
      }
      queue.push(piece);
      writing ??= writeAll();
    },
    /** Number of pieces lost. */
    lost: () => lost,
    /** Resolves when every piece is written; throws the error of the disk. */
    async drain(): Promise<void> {
      await writing;
      if (failure) throw failure.error;
    },
  };
}

/** Starts a recording at `rate` samples a second. It is never in memory as a whole. */
export function stereoRecorder({ rate, clock, open, onFault: fault }: RecorderDeps): Recorder {
  const startMs = clock.monotonicMs();
  const sink = open();
  const writer = pieceWriter(sink);
  const window = new StereoWindow(rate, WINDOW_SECONDS);
  let ended: Promise<void> | null = null;

  const positionOf = (at_ms: number): number =>
    Math.min(MAX_SECONDS * rate, Math.max(0, Math.round(((at_ms - startMs) * rate) / MS_PER_SECOND)));
  const write = (upTo: number): void => {
    const piece = window.take(upTo);
    if (piece) writer.put({ bytes: new Uint8Array(piece.interleaved.buffer), at_byte: piece.from * FRAME_BYTES });
  };
  const add = (channel: Channel, pcm: Pcm, at_ms: number): void => {
    if (ended) return;
    const complete = positionOf(clock.monotonicMs() - LATENESS_MS);
    if (complete - window.begin >= PIECE_SECONDS * rate) write(complete);
    if (at_ms - startMs < MAX_SECONDS * MS_PER_SECOND) window.put(channel, pcm, positionOf(at_ms));
  };
  const finish = async (): Promise<void> => {
    const total = positionOf(clock.monotonicMs());
    write(total);
    try {
      await writer.drain();
      await (total === 0 ? sink.abandon() : sink.finish(total * FRAME_BYTES));
      if (writer.lost() > 0) fault(new Error(`the disk was too slow for ${writer.lost()} pieces of a recording`));
    } catch (error) {
      fault(error);
      await sink.abandon().catch(() => undefined);
    }
  };
  return {
    heard: (pcm, at_ms) => add(0, pcm, at_ms),
    played: (pcm, at_ms) => add(1, pcm, at_ms),
    end: () => (ended ??= finish()),
  };
}
