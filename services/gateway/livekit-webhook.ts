import type { ProcessDeps } from "../../shared/process/process-deps.ts";
import type { Bus } from "../../shared/bus/bus.ts";
import { recencyCache } from "../../shared/cache.ts";
import { attemptOfRoom } from "../../shared/contracts/records/session.ts";
import { fail } from "../../shared/errors.ts";
import { livekitAccount } from "../../shared/livekit/rooms.ts";
import { roomNotices } from "../../shared/livekit/webhooks.ts";
import { readBytes, textOf } from "./http/body.ts";
import { answer, type Handler, type Refuser } from "./http/exchange.ts";
import type { Limits } from "./http/request-limits.ts";

/** Where LiveKit's notices go, outside the base path. */
const LIVEKIT_PATH = "/livekit/webhook";
/** Notices that are known when they come again: the server repeats one for some seconds. */
const KNOWN = { max: 10_000, ms: 600_000 };

/** The route of LiveKit's notices: verified, told to the conversations once, and believed by nobody: they look for themselves. None where the deployment has no LiveKit. */
export function livekitWebhook(
  { env, clock }: Pick<ProcessDeps, "env" | "clock">,
  bus: Pick<Bus, "broadcast">,
  limits: Pick<Limits, "checkBadTokens">,
  refused: Refuser,
): Record<string, Handler> {
  const account = livekitAccount(env);
  if (account === null) return {};
  const noticeOf = roomNotices(account);
  const known = recencyCache<true>({ max: KNOWN.max, ttl: { ms: KNOWN.ms, clock } });
  return {
    [`POST ${LIVEKIT_PATH}`]: async (exchange) => {
      const { req, res } = exchange;
      try {
        const countBad = limits.checkBadTokens(req);
        const body = textOf(await readBytes(req)) ?? fail("VALIDATION_FAILED", "The body is not UTF-8 text.");
        const notice = await noticeOf(body, req.headers.authorization).catch((error: unknown) => {
          countBad();
          throw error;
        });
        const call_ref = attemptOfRoom(notice.room);
        if (call_ref !== null && known.get(notice.id) === undefined) bus.broadcast("room.changed", { call_ref });
        known.set(notice.id, true);
        answer(res, 200, {}, "");
      } catch (error) {
        refused(exchange, error, { answers: "plain" });
      }
    },
  };
}
