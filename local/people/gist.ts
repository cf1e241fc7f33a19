/** What the agent wants, as a simple listener takes it. */
export type Gist = "goodbye" | "identity" | "which_day" | "still_there" | "anything_else" | "question" | "statement";

const GOODBYE =
  /\b(good\s?bye|bye|take care|have a (nice|good|great|lovely|pleasant|wonderful) (day|one|evening|afternoon|time|week|weekend))\b/i;
const IDENTITY = /\b(am i (speaking|talking) (to|with)|is this (mr|mrs|ms|miss)\b|(may|can|could) i speak (to|with))/i;
/** "Is this Ada?", but not "Is this correct?": a name has a capital. */
const IDENTITY_BY_NAME = /\b[Ii]s this [A-Z]/;
const WHICH_DAY =
  /\b((which|what)( other)? (day|date|time)|when (would|should|shall|can|could|do)|another (day|date|time)|suits? you better)\b/i;
const STILL_THERE = /\b(still there|can you hear|are you there|hear me)\b/i;
const ANYTHING_ELSE = /\b(anything else|something else)\b/i;
/** A request put without a question mark ("Please tell me which day suits you."). */
const REQUEST = /\b(please (tell|say|let|choose|press|confirm)|press (1|one)|let me know)\b/i;

const sentences = (text: string): string[] =>
  text
    .match(/[^.!?]+[.!?]*/g)
    ?.map((s) => s.trim())
    .filter((s) => s !== "") ?? [];

/** Understands what was heard since the listener last spoke. The last question counts; a goodbye only after it. */
export function gistOf(heard: string): Gist {
  const all = sentences(heard);
  const asks = all.findLastIndex((s) => s.endsWith("?") || REQUEST.test(s));
  const leaves = all.findLastIndex((s) => GOODBYE.test(s));
  if (leaves > asks) return "goodbye";
  const asked = all[asks];
  if (asked === undefined) return "statement";
  if (STILL_THERE.test(asked)) return "still_there";
  if (ANYTHING_ELSE.test(asked)) return "anything_else";
  if (WHICH_DAY.test(asked)) return "which_day";
  if (IDENTITY.test(asked) || IDENTITY_BY_NAME.test(asked)) return "identity";
  return "question";
}
