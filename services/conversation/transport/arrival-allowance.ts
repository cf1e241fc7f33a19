import type { Clock } from "../../../shared/time/clock.ts";
import { FRAME_MS } from "./port.ts";

/** How many times faster than it is spoken sound may arrive for ever; more is taken from what may be caught up. */
const SPEED = 2;
/** What may arrive at once, in ms of sound: the longest stall of a network that a socket outlives, for one that answers no ping in that time is ended. */
export const CATCH_UP_MS = 40_000;
/** Bytes of a millisecond of the richest sound that is understood (16 bits, 48 kHz, base64 in JSON). */
const BYTES_PER_MS = 160;

/** Takes account of a message of so many bytes; false: the socket has sent more than any carrier may. */
export type ArrivalAllowance = (bytes: number) => boolean;

/**
 * What one socket may send: a message counts as one frame of sound, a large one as the sound that it may hold. Time in which nothing came counts, so that
 * what piled up while the network or this process stood still is taken, up to CATCH_UP_MS.
 */
export function arrivalAllowance(clock: Pick<Clock, "monotonicMs">): ArrivalAllowance {
  let left = CATCH_UP_MS;
  let since = clock.monotonicMs();
  return (bytes) => {
    const now = clock.monotonicMs();
    left = Math.min(CATCH_UP_MS, left + (now - since) * SPEED) - Math.max(FRAME_MS, bytes / BYTES_PER_MS);
    since = now;
    return left >= 0;
  };
}
