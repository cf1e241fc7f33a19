import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { maskedText, maskedVariables } from "./secret-entries.ts";
import type { DialogueState } from "./dialogue-state.ts";

/** What is known of a conversation, secrets masked. One that has not ended counts as ended by an error, which is true if its process dies now. */
export const conversationFacts = (s: DialogueState): ConversationFacts => ({
  decided: s.decided,
  ended_by: s.ended_by ?? "error",
  user_turns: s.user_turns,
  idle_out: s.idle_out,
  time_limit: s.time_limit,
  machine: s.voicemail,
  message_left: s.message_left,
  ...(s.do_not_call ? { do_not_call: true } : {}),
  transcription: s.transcript.map(({ role, content }) => ({ role, content: maskedText(s, content) })),
  node_traversal: [...s.traversal],
  variables: maskedVariables(s),
  errors: s.errors.map((e) => ({ ...e })),
});
