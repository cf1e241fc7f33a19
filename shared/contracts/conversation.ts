import { action, Json, Nothing, Nullable, Strict, Type, Uuid, type Static } from "./define.ts";
import { TalkFacts } from "./attempt.ts";
import { ProviderWord } from "./configuration.ts";
import { CallRef } from "./dialer.ts";

/** What a talk is made ready with. */
export const Preparation = Strict({
  call_ref: CallRef, lead_id: Uuid, claim_no: Type.Integer({ minimum: 1 }), provider: ProviderWord, template_id: Uuid, template_version: Type.Integer({ minimum: 1 }),
  payload: Json, max_call_seconds: Type.Integer({ minimum: 1 }),
  /** Life of the address in seconds: ring time and a little more. */
  ttl_seconds: Type.Integer({ minimum: 1, maximum: 3600 }),
});
export type Preparation = Static<typeof Preparation>;

/** Where the talk waits for its call: a one-use WebSocket address, and how the carrier is to speak there. */
export const Prepared = Type.Object({ media_url: Type.String(), language: Type.String(), voice: Nullable(Type.String()) });
export type Prepared = Static<typeof Prepared>;

/** The talk: prepared before the dial, spoken when media joins, settled once. */
export const conversation = {
  name: "conversation",
  actions: {
    /** Makes ready for calls, each by itself, in order: the one-use WebSocket address for the carrier, or a refusal: TEMPLATE_NOT_FOUND, TEMPLATE_INVALID, BUSY where the talk
     *  has begun. Made ready again, the address given before is void. */
    prepareMany: action(Strict({ calls: Type.Array(Preparation, { minItems: 1, maxItems: 500 }) }),
      Type.Object({ results: Type.Array(Type.Object({ prepared: Nullable(Prepared), refusal: Nullable(Type.Object({ code: Type.String(), message: Type.String() })) })) })),
    /** Ends a talk from outside; must be sent to the node that holds it. Unknown calls are no fault. */
    stop: action(Strict({ call_ref: CallRef, reason: Type.Enum(["machine", "carrier_ended", "window_closed"]) }), Nothing),
    /** What is known of a talk whose node died; null: nothing was said. */
    salvage: action(Strict({ call_ref: CallRef }), Type.Object({ talk: Nullable(TalkFacts) })),
  },
  events: {},
};
