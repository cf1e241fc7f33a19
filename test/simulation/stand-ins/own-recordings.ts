import type { SessionRecordings } from "../../../services/conversation/recording/session-recordings.ts";

export * from "../../../services/conversation/recording/session-recordings.ts";

/** In place of the folder of recordings: simulated talks are text, and a disk's answers come in an order that no seed can repeat. */
export const sessionRecordings = (): SessionRecordings => ({
  record: () => {
    throw new Error("a talk was recorded in a simulation: its talks carry no sound");
  },
  recoverLeftovers: () => Promise.resolve(0),
});
