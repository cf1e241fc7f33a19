import { IS_OVER } from "./lead-erasure.ts";
import type { LeadTransition } from "./lead-transition.ts";

/** FINISHED -> same, with nothing of what was said: outcome, counts, times, cost, scores and the nodes that the conversation went through stay. */
export const endTranscript = (lead_id: string, now: Date): LeadTransition => ({
  filter: { _id: lead_id, ...IS_OVER, "meta.transcription": { $exists: true } },
  update: {
    $set: { "meta.transcript_ended_at": now },
    $unset: { "meta.transcription": 1, "meta.variables": 1, "meta.summary": 1 },
  },
  events: [],
});

/** FINISHED -> same, whose recording is gone. */
export const endRecording = (lead_id: string): LeadTransition => ({
  filter: { _id: lead_id, ...IS_OVER, recording_url: { $ne: null } },
  update: { $set: { recording_url: null } },
  events: [],
});
