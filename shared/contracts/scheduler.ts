import { action, IsoTime, Nothing, Nullable, Strict, Text, Type, Uuid } from "./define.ts";
import { ProviderEnum } from "./records/configuration.ts";
import { Explanation } from "./records/explanation.ts";
import { WaitingLead } from "./records/lead.ts";

/** Ringing for less than this is not worth starting; a window that closes sooner counts as closed, for the scheduler and for the dialer. */
export const SHORTEST_RING_SECONDS = 5;
/** A permit is valid for this long after its instant, by the caller's own monotonic clock. The rate windows are longer by as much. */
export const GRANT_VALID_MS = 100;

/** A configuration's rate limit, as it was when the lead was claimed. */
export const RateLimit = Strict({
  configuration_id: Uuid,
  max_calls: Type.Integer({ minimum: 1, maximum: 10_000 }),
  window_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
});

/** The scheduler: decides when each lead is called; owns the rate windows. */
export const scheduler = {
  name: "scheduler",
  actions: {
    /**
     * Internal, right before an intent: the right to place one call. `send_in_ms` counts from the reply: the request must go out no sooner than that, and no later than
     * the moment of asking + send_in_ms + GRANT_VALID_MS, or not at all. The instant lies min_wait_ms or more ahead: what
     * the asker still has to do before it can send. Waiting longer than max_wait_ms is refused, with the instant at which to ask again. Permits
     * are never returned.
     */
    grant: action(
      Strict({
        provider: ProviderEnum,
        rate_limit: Nullable(RateLimit),
        max_wait_ms: Type.Integer({ minimum: 0, maximum: 5000 }),
        min_wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 5000 })),
      }),
      Type.Union([
        Type.Object({ granted: Type.Literal(true), send_in_ms: Type.Number() }),
        Type.Object({
          granted: Type.Literal(false),
          why: Type.Enum(["rate_limit", "carrier_limit"]),
          retry_at: IsoTime,
        }),
      ]),
    ),
    /**
     * Internal: no call goes through this provider's account until then (429 with Retry-After, connection refused, a queue at the carrier). Never
     * shortens a longer back-off.
     */
    slow: action(Strict({ provider: ProviderEnum, until: IsoTime, why: Text(200) }), Nothing),
    /** Internal, after the lead's scope was checked by its owner: the gates as a pass would judge them now, or at another instant. */
    explain: action(Strict({ lead: WaitingLead, at: Type.Optional(IsoTime) }), Explanation),
  },
  events: {},
};
