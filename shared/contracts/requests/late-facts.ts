import { IsoTime, Json, Nullable, Strict, Type, UpTo } from "../define.ts";
import { CostItem, Evaluation, MAX_TOLD_TURNS, MAX_TURNS, TalkTurn } from "../records/attempt.ts";

/** The facts of an attempt that come early or late, beside its lease: each as it becomes known. */
export const LateFacts = {
  call_id: Type.Optional(Type.String()),
  call_initiated_time: Type.Optional(IsoTime),
  /** With the two of a call that the carrier took: its phone has begun to ring by now. */
  ringing_at: Type.Optional(IsoTime),
  call_end_time: Type.Optional(IsoTime),
  /** In the deployment's currency. */
  cost: Type.Optional(Type.Number()),
  cost_breakdown: Type.Optional(Strict({ items: Type.Array(CostItem, { maxItems: 20 }) })),
  /** Where the recording will be; null: there will be none after all. */
  recording_url: Type.Optional(Nullable(Type.String())),
  /** The phone of the callee rings, in the call of this name: comes in a message of its own, and is told once, before the answer alone. */
  ringing: Type.Optional(Strict({ call_id: Type.String() })),
  /** Turns of the conversation that are over, behind as many as were told before: in a message of its own. */
  turns: Type.Optional(
    Strict({
      told: Type.Integer({ minimum: 0, maximum: MAX_TURNS }),
      turns: Type.Array(TalkTurn, { minItems: 1, maxItems: MAX_TOLD_TURNS }),
    }),
  ),
  /**
   * The recording is stored, under the carrier's name of its call: comes in a message of its own, is told once, and also when the next
   * attempt has begun. `recording_url`: where it is, for the record of a lead that no other attempt has begun for.
   */
  recording_stored: Type.Optional(
    Strict({ call_id: Nullable(Type.String()), recording_url: Type.Optional(UpTo(2000)) }),
  ),
  /** The results of the pre-checks, and the variables they add to the payload. */
  pre_check_results: Type.Optional(Type.Array(Json, { maxItems: 100 })),
  exported: Type.Optional(Json),
  /** The evaluation of the conversation, after the attempt was settled; taken whole, and only while no other attempt has begun. */
  evaluation: Type.Optional(Evaluation),
};
