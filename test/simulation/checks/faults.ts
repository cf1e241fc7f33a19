import type { Random } from "../engine/random.ts";

/** What goes wrong in one run, and how often; probabilities unless a unit is named. */
export interface Faults {
  /** A process dies at a step of its work. */
  crash: number;
  /** At a step that only looks for work: these are many. */
  idleCrash: number;
  /** At a named crash point. */
  crashPoint: number;
  /** A process stands still before a step goes out, for up to `pauseMaxMs`. */
  pause: number;
  pauseMaxMs: number;
  /** The database did it, and the answer is lost; it did not do it at all; it is slow. */
  storeReplyLost: number;
  storeLost: number;
  storeSlow: number;
  /** A bus packet is lost; an event is lost, comes twice, comes late. */
  packetLost: number;
  eventLost: number;
  eventTwice: number;
  /** The carrier placed a call and never answered; answered with an error; did not place it and never answered; said 429; was not to be reached; refused the number. */
  dialNoReply: number;
  dialErrorReply: number;
  dialLost: number;
  dial429: number;
  dialRefused: number;
  dialInvalid: number;
  /** Other requests to the carrier fail. */
  carrierDown: number;
  /** The carrier queues a call for up to a minute before it rings. */
  carrierQueues: number;
  callbackLost: number;
  callbackTwice: number;
  callbackLate: number;
  /** The media socket of an answered call never comes. */
  mediaLost: number;
  /** The receiver of reports answers with an error, hangs, or takes it and hangs. */
  receiverFails: number;
  receiverHangs: number;
}

const NONE: Faults = {
  crash: 0,
  idleCrash: 0,
  crashPoint: 0,
  pause: 0,
  pauseMaxMs: 0,
  storeReplyLost: 0,
  storeLost: 0,
  storeSlow: 0,
  packetLost: 0,
  eventLost: 0,
  eventTwice: 0,
  dialNoReply: 0,
  dialErrorReply: 0,
  dialLost: 0,
  dial429: 0,
  dialRefused: 0,
  dialInvalid: 0,
  carrierDown: 0,
  carrierQueues: 0,
  callbackLost: 0,
  callbackTwice: 0,
  callbackLate: 0,
  mediaLost: 0,
  receiverFails: 0,
  receiverHangs: 0,
};

/** No fault at all: the weather after the storm. */
export const calm = (): Faults => ({ ...NONE });

/** Longest stand-still of a process, ms. */
const PAUSE_MAX_MS = 400_000;

/** The faults of one run. Most runs have most of them, some have one kind only, so that none hides behind another. */
export function drawFaults(random: Random): Faults {
  const part = (probability: number): number => (random.chance(0.75) ? probability * random.between(0.3, 1.2) : 0);
  return {
    crash: part(0.03),
    idleCrash: part(0.0004),
    crashPoint: part(0.03),
    pause: part(0.015),
    pauseMaxMs: random.chance(0.5) ? PAUSE_MAX_MS : 30_000,
    storeReplyLost: part(0.008),
    storeLost: part(0.004),
    storeSlow: part(0.01),
    packetLost: part(0.006),
    eventLost: random.chance(0.1) ? 1 : part(0.2),
    eventTwice: part(0.1),
    dialNoReply: part(0.04),
    dialErrorReply: part(0.03),
    dialLost: part(0.02),
    dial429: part(0.15),
    dialRefused: part(0.02),
    dialInvalid: part(0.02),
    carrierDown: part(0.03),
    carrierQueues: random.chance(0.15) ? 0.4 : part(0.03),
    callbackLost: random.chance(0.05) ? 1 : part(0.1),
    callbackTwice: part(0.1),
    callbackLate: part(0.1),
    mediaLost: part(0.03),
    receiverFails: part(0.15),
    receiverHangs: part(0.1),
  };
}

/** How often each thing happened, over all runs. */
export type Tally = Record<string, number>;
