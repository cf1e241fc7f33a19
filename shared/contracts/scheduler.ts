import { action, IsoTime, Nothing, Nullable, Strict, Text, Type, UpTo, Uuid } from "./define.ts";
import { ProviderEnum } from "./records/configuration.ts";
import { Explanation, GATES } from "./records/explanation.ts";
import { WaitingLead } from "./records/lead.ts";
import { SessionPlan } from "./records/session.ts";

/** Ringing for less than this is not worth starting; a window that closes sooner counts as closed, for the scheduler and for the dialer. */
export const SHORTEST_RING_SECONDS = 5;
/** A permit is valid for this long after its instant, or longer where the asker can use that. The rate windows are longer by as much. */
export const GRANT_VALID_MS = 100;
/** Permits that are given back in one request. */
const MAX_GIVEN_BACK = 10;
/** Permits of one grant: of the account, and of the configuration. */
const MAX_GRANTED = 10;

/** A configuration's rate limit, as it was when the lead was claimed. */
export const RateLimit = Strict({
  configuration_id: Uuid,
  max_calls: Type.Integer({ minimum: 1, maximum: 10_000 }),
  window_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
});

/** A permit of one rate window: a call counted by the window may leave from `from` until `until`, both by the store's clock. `window_ms`: the window's length. */
export const RatePermit = Type.Object({
  window: Text(100),
  from: IsoTime,
  until: IsoTime,
  window_ms: Type.Integer({ minimum: 1, maximum: 86_400_000 }),
});

/** The scheduler: decides when each lead is called; owns the rate windows. */
export const scheduler = {
  name: "scheduler",
  actions: {
    /**
     * Internal, right before an intent: the right to place one call, as a permit of every rate window that counts it (`permits`): the request may
     * leave within all of them, by the store's clock, or not at all. An asker that does not know the store's clock goes by `send_in_ms`, which counts from
     * the reply: no sooner than that, and no later than the moment of asking + send_in_ms + GRANT_VALID_MS. The instant lies min_wait_ms or more
     * ahead: what the asker still has to do before it can send. Waiting longer than max_wait_ms is refused, with the instant at which to ask
     * again. `waited_ms`: how long ago the asker took the order, which tells how far ahead leads must be picked. `valid_ms`: how long the permits are wanted to be valid; a window gives no more than a small part of its own length.
     * `uncertain_ms`: by how much the asker may be wrong about the store's clock; permits are valid for longer by twice as much, which it can't use.
     */
    grant: action(
      Strict({
        provider: ProviderEnum,
        rate_limit: Nullable(RateLimit),
        max_wait_ms: Type.Integer({ minimum: 0, maximum: 5000 }),
        min_wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 5000 })),
        waited_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
        uncertain_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 2000 })),
        valid_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
      }),
      Type.Union([
        Type.Object({
          granted: Type.Literal(true),
          send_in_ms: Type.Number(),
          permits: Type.Optional(Type.Array(RatePermit, { maxItems: MAX_GRANTED })),
        }),
        Type.Object({
          granted: Type.Literal(false),
          why: Type.Enum(["rate_limit", "carrier_limit"]),
          retry_at: IsoTime,
        }),
      ]),
    ),
    /** Internal: permits with which no request left, and with which none will, are free again for others. Each may be given back once. */
    giveBack: action(Strict({ permits: Type.Array(RatePermit, { minItems: 1, maxItems: MAX_GIVEN_BACK }) }), Nothing, {
      since: "0.3.0",
    }),
    /**
     * Internal: no call goes through this provider's account until then (429 with Retry-After, connection refused, a queue at the carrier). Never
     * shortens a longer back-off.
     */
    slow: action(Strict({ provider: ProviderEnum, until: IsoTime, why: Text(200) }), Nothing),
    /** Internal, after the lead's scope was checked by its owner: whether a client may join the session of this waiting lead now, by the gates that hold for sessions. `plan`: what it is led with, where it may. */
    admitSession: action(
      Strict({ lead: WaitingLead }),
      Type.Object({
        verdict: Type.Enum(["admitted", "deferred", "dropped"]),
        gate: Nullable(Type.Enum([...GATES])),
        /** Why not, for a person. */
        detail: UpTo(2000),
        outcome: Nullable(UpTo(64)),
        plan: Nullable(SessionPlan),
      }),
      { since: "0.3.0" },
    ),
    /** Internal, after the lead's scope was checked by its owner: the gates as a pass would judge them now, or at another instant. */
    explain: action(Strict({ lead: WaitingLead, at: Type.Optional(IsoTime) }), Explanation),
  },
  events: {},
};
