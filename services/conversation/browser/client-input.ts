import type { Clock } from "../../../shared/time/clock.ts";
import { FRAME_MS } from "../transport/port.ts";

/** After a gap of this length what comes of it later is dropped, but for so much. */
const LATE_MS = 1000;
const AHEAD_MS = 300;
/** Longest text that counts as said, and how many within a while: more is no person's. */
const MAX_SAID_CHARS = 1000;
const MAX_SAID = 20;
const SAID_MS = 10_000;

/** Takes sound as it comes in real time: what piled up in a gap of the network is old, and is not heard any more. True: it counts. */
export function realTime(clock: Pick<Clock, "monotonicMs">): (ms: number) => boolean {
  const began = clock.monotonicMs();
  let received = 0;
  return (ms) => {
    const elapsed = clock.monotonicMs() - began;
    if (elapsed - received > LATE_MS) received = elapsed - FRAME_MS;
    if (received + ms - elapsed > AHEAD_MS) return false;
    received += ms;
    return true;
  };
}

/** Takes texts that a person may have typed: not empty, not too long, not too many. True: it counts. */
export function typedWords(clock: Pick<Clock, "monotonicMs">): (text: string) => boolean {
  let taken: number[] = [];
  return (text) => {
    const nowMs = clock.monotonicMs();
    taken = taken.filter((ms) => nowMs - ms < SAID_MS);
    if (text === "" || text.length > MAX_SAID_CHARS || taken.length >= MAX_SAID) return false;
    taken.push(nowMs);
    return true;
  };
}
