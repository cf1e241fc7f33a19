import type { ConversationFacts } from "../../../shared/contracts/attempt.ts";
import type { SessionDoc } from "./sessions.model.ts";

/** What is known of a talk that its node did not settle; null when nothing was said. A talk cut off by its node's death says so. */
export function recoveredFacts(doc: SessionDoc | null): ConversationFacts | null {
  if (!doc?.talk) return null;
  if (doc.state === "ENDED_UNSETTLED" || doc.state === "CLOSED") return doc.talk;
  return {
    ...doc.talk,
    ended_by: "error",
    errors: [...doc.talk.errors, { code: "TALK_CUT_OFF", node: doc.talk.node_traversal.at(-1) ?? "" }],
  };
}
