import type { AudioFormat, MediaLeg } from "../port.ts";
import { mailbox, type Mailbox } from "./mailbox.ts";

/** The other side of a leg in memory: what a carrier and its caller would do. */
export interface FarEnd {
  /** Sound of the caller. */
  speak(frame: Uint8Array): void;
  press(digit: string): void;
  /** Plays up to so many of the frames that were written, and tells of the marks it passes on the way; gives what was played. */
  play(frames: number): Uint8Array[];
  /** Frames that were written and are not played. */
  waiting(): number;
  complain(): void;
  /** The call is over. */
  hangUp(): void;
  /** Keys that were pressed towards the caller. */
  keys(): readonly string[];
  /** How often what was written was thrown away. */
  clears(): number;
  isClosed(): boolean;
}

/** Frames and marks kept unplayed, more than a minute of 20 ms frames; what is written beyond is lost. */
const MAX_QUEUED = 5000;
type Queued = { readonly frame: Uint8Array } | { readonly mark: string };

/** What was written and is not played yet. */
function playQueue(events: Mailbox) {
  let queue: Queued[] = [];
  /** Marks with nothing before them have been played. */
  const passMarks = (): void => {
    for (let first = queue[0]; first && "mark" in first; first = queue[0]) {
      const { mark } = first;
      queue.shift();
      events.tell((e) => e.mark(mark, "played"));
    }
  };
  return {
    put(what: Queued): void {
      if (events.isOpen() && queue.length < MAX_QUEUED) queue.push(what);
    },
    clear(): void {
      const gone = queue;
      queue = [];
      for (const what of gone) if ("mark" in what) events.tell((e) => e.mark(what.mark, "cleared"));
    },
    play(frames: number): Uint8Array[] {
      const played: Uint8Array[] = [];
      passMarks();
      for (let first = queue[0]; first && "frame" in first && played.length < frames; first = queue[0]) {
        played.push(first.frame);
        queue.shift();
        passMarks();
      }
      return played;
    },
    waiting: () => queue.filter((what) => "frame" in what).length,
  };
}

/** A leg without any network, ready at once: for rooms and tests. */
export function memoryLeg(call_id: string | null, format: AudioFormat): { leg: MediaLeg; far: FarEnd } {
  const events = mailbox();
  const queue = playQueue(events);
  const pressed: string[] = [];
  let clears = 0;
  events.tell((e) => e.ready(call_id, format));
  return {
    leg: {
      listen: events.listen,
      write: (frame) => queue.put({ frame: frame.slice() }),
      mark: (mark) => queue.put({ mark }),
      clear() {
        clears += 1;
        queue.clear();
      },
      keys: (digits) => {
        if (events.isOpen()) pressed.push(digits);
      },
      close: events.close,
    },
    far: {
      speak: (frame) => events.tell((e) => e.audio(frame)),
      press: (digit) => events.tell((e) => e.digit(digit)),
      play: queue.play,
      waiting: queue.waiting,
      complain: () => events.tell((e) => e.fault()),
      hangUp: events.close,
      keys: () => pressed,
      clears: () => clears,
      isClosed: () => !events.isOpen(),
    },
  };
}
