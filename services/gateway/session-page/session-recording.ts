import { codeOf, fail } from "../../../shared/errors.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { bearerOf } from "../api/bearer.ts";
import { withHead, type Handler, type Refuser } from "../http/exchange.ts";
import { fixedWindowLimiter } from "../http/rate-limiter.ts";
import { MAX_ADDRESSES, type Limits } from "../http/request-limits.ts";
import type { RecordingSender } from "../recording-download.ts";

/** A page asks every two seconds for a minute, and again where its person says so; a recording is long. */
const MAX_ASKED_PER_HOUR = 120;
const HOUR_MS = 3_600_000;
/** Longest link and secret. */
const MAX_CHARS = 64;

/** The recording of a session for the tab that held it, whose secret is the bearer token: addresses are written into logs. */
export function sessionRecording(
  clock: Pick<Clock, "monotonicMs">,
  limits: Pick<Limits, "checkBadTokens">,
  refused: Refuser,
  send: RecordingSender,
): Record<string, Handler> {
  const asked = fixedWindowLimiter(MAX_ASKED_PER_HOUR, HOUR_MS, MAX_ADDRESSES);
  /** RATE_LIMITED. */
  const count = (link: string): void => {
    const { allowed, reset_seconds } = asked.acquirePermit(link, clock.monotonicMs());
    if (!allowed)
      fail("RATE_LIMITED", `This recording was asked for too often; try again in ${reset_seconds} seconds.`, {
        retry_after_seconds: reset_seconds,
      });
  };
  return withHead("/r/:link/recording", async (exchange) => {
    const { req, res, bus, path } = exchange;
    res.setHeader("Cache-Control", "no-store");
    try {
      const countBad = limits.checkBadTokens(req);
      const [link, resume] = [path["link"] ?? "", bearerOf(req.headers.authorization)];
      if (link.length > MAX_CHARS || resume.length > MAX_CHARS) fail("LEAD_NOT_FOUND", "There is no such session.");
      const { call_id, ...kept } = await bus.call("leads.recordingByLink", { link, resume }).catch((error: unknown) => {
        if (codeOf(error) === "LEAD_NOT_FOUND") countBad();
        throw error;
      });
      count(link);
      await send(exchange, kept, call_id);
    } catch (error) {
      refused(exchange, error, { answers: "plain" });
    }
  });
}
