import type { SessionRecordings } from "../../../services/conversation/recording/session-recordings.ts";

export * from "../../../services/conversation/recording/session-recordings.ts";

/** In place of the folder of recordings: simulated conversations are text, and a disk answers in an order that no seed can repeat. */
export const sessionRecordings = (): SessionRecordings => ({
  record: () => {
    throw new Error("a conversation was recorded in a simulation: its conversations carry no sound");
  },
  recoverLeftovers: () => Promise.resolve(0),
  waiting: () => 0,
  handOverRest: () => Promise.resolve(0),
});
