import { Json, Nothing, Nullable, Strict, Text, Type, Uuid, action, type Static, UpTo } from "./define.ts";
import { ConversationFacts } from "./records/attempt.ts";
import { eraseNumber } from "./requests/erasures.ts";
import { endRecords } from "./requests/retention.ts";
import { ProviderEnum, VoicemailActionEnum } from "./records/configuration.ts";
import { MEDIA_SOURCES, MediaAccess, SpeakFields, SpokenStatus, Via } from "./records/session.ts";
import { CallRef } from "./dialer.ts";
import { EngineEnum } from "./records/models.ts";
import { StreamDialect } from "./records/stream-dialect.ts";
import { LeadTrace } from "./requests/trace-headers.ts";

/** Input of preparing a conversation. */
export const Preparation = Strict({
  call_ref: CallRef,
  lead_id: Uuid,
  claim_no: Type.Integer({ minimum: 1 }),
  provider: Type.Enum([...MEDIA_SOURCES]),
  template_id: Uuid,
  template_version: Type.Integer({ minimum: 1 }),
  payload: Json,
  max_call_seconds: Type.Integer({ minimum: 1 }),
  voicemail_action: VoicemailActionEnum,
  /** Name of the carrier behind the provider word, for people. */
  carrier: Text(32),
  /** How the carrier's media stream speaks; absent: no stream of audio is understood. */
  stream: Type.Optional(StreamDialect),
  /** The configuration's engine; null: the deployment's. The template's own wins. */
  engine: Nullable(EngineEnum),
  /** The client says what is spoken, in place of the template; absent: it does not. */
  client_led: Type.Optional(Type.Boolean()),
  ...Via,
  /** We record the conversation. */
  record: Type.Boolean(),
  /** Life of the address in seconds: ring time and a little more. */
  ttl_seconds: Type.Integer({ minimum: 1, maximum: 3600 }),
  trace: LeadTrace,
});
export type Preparation = Static<typeof Preparation>;

/**
 * Where the conversation waits for its call: a one-use WebSocket address (its token is the last part of the path), and the carrier's manner of
 * speech there.
 */
export const Prepared = Type.Object({
  ...MediaAccess.properties,
  /** `text`: the carrier does the speech; `audio`: its audio stream is to be connected. */ kind: Type.Enum([
    "text",
    "audio",
  ]),
  language: UpTo(35),
  voice: Nullable(UpTo(100)),
});
export type Prepared = Static<typeof Prepared>;

/**
 * Next step of an XML-driven call: say this, then listen (for speech or DTMF, `seconds` long), ask again at once (the answer is not ready), wait
 * for the voicemail beep and say `message`, or hang up. `nothing`: the conversation is over or on another node, the document changes nothing.
 */
export const XmlTurnReply = Type.Object({
  /**
   * Number of this reply. The address asked next carries it, `/turn/<call_ref>?turn=<number>`: it distinguishes a carrier's retry from a customer
   * who says the same again.
   */
  turn: Type.Integer(),
  say: Type.Array(Type.Object({ text: Type.String(), interruptible: Type.Boolean() })),
  next: Type.Union([
    Type.Object({ kind: Type.Literal("listen"), seconds: Type.Integer(), keys_only: Type.Boolean() }),
    Type.Object({ kind: Type.Literal("again") }),
    Type.Object({ kind: Type.Literal("message"), message: UpTo(2000), patience_seconds: Type.Integer() }),
    Type.Object({ kind: Type.Literal("hang_up") }),
    Type.Object({ kind: Type.Literal("nothing") }),
  ]),
  language: UpTo(35),
  voice: Nullable(UpTo(100)),
});
export type XmlTurnReply = Static<typeof XmlTurnReply>;

/** A turn of an XML-driven call. `token` only with the first one, the answer: it admits the call, once. */
export const XmlTurn = Strict({
  call_ref: CallRef,
  provider: ProviderEnum,
  call_id: Type.String(),
  token: Nullable(Type.String({ maxLength: 64 })),
  heard: Nullable(Type.String({ maxLength: 10_000 })),
  digits: Nullable(Type.String({ maxLength: 64 })),
  /** The reply that this turn follows; null: the answer itself, or not known. */
  follows: Nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
});
export type XmlTurn = Static<typeof XmlTurn>;

/** The conversation: prepared before the dial, started when media joins, settled once. */
export const conversation = {
  name: "conversation",
  actions: {
    /** Prepares conversations, each by itself, in order: the one-use WebSocket address for the carrier, or a refusal: TEMPLATE_NOT_FOUND,
     *  TEMPLATE_INVALID, BUSY where the conversation has begun. Preparing again voids the address given before. */
    prepareMany: action(
      Strict({ calls: Type.Array(Preparation, { minItems: 1, maxItems: 500 }) }),
      Type.Object({
        results: Type.Array(
          Type.Object({
            prepared: Nullable(Prepared),
            refusal: Nullable(Type.Object({ code: UpTo(64), message: UpTo(2000) })),
          }),
        ),
      }),
    ),
    /** A turn of an XML-driven call: returns its next step. With a token it goes to any node, which keeps the conversation; later turns must go to
     *  that node.
     *  UNAUTHENTICATED: the token is unknown or used. Unknown calls are answered `nothing`. Answers within 8 s, with `again` when the answer
     *  is not ready. */
    turn: action(XmlTurn, XmlTurnReply, { timeout_ms: 12_000 }),
    /** Ends a conversation from outside; must be sent to its node. Unknown calls are no error. */
    stop: action(
      Strict({ call_ref: CallRef, reason: Type.Enum(["machine", "beep", "carrier_ended", "window_closed"]) }),
      Nothing,
    ),
    /** A new token for the session of a browser: of one that waits for its client, on any node; of one under way, on its node. What was given before is void. SESSION_OVER. */
    reissue: action(Strict({ call_ref: CallRef, ...Via }), MediaAccess, {
      since: "0.3.0",
    }),
    /** Asked of a session's node: has a text spoken, after those before it or in place of them. SESSION_OVER, RATE_LIMITED where too many wait, VALIDATION_FAILED where one of this id waits. */
    speak: action(Strict({ call_ref: CallRef, ...SpeakFields }), SpokenStatus, { since: "0.3.0" }),
    /** Asked of a named node: whether this call's conversation lives there, the writing of its end included. */
    alive: action(Strict({ call_ref: CallRef }), Type.Object({ alive: Type.Boolean() }), { since: "0.3.0" }),
    /** Internal: erases all that this service keeps of a number and of these leads (requests/erasures.ts). */
    eraseNumber: action(...eraseNumber, { timeout_ms: 15_000, since: "0.3.0" }),
    /** Internal: ends what conversations have of a kind of these leads (requests/retention.ts). */
    endRecords: action(...endRecords, { timeout_ms: 15_000, since: "0.3.0" }),
    /** The facts of a conversation whose node died; null: it has no turns. */
    salvage: action(Strict({ call_ref: CallRef }), Type.Object({ talk: Nullable(ConversationFacts) })),
  },
  events: {},
};
