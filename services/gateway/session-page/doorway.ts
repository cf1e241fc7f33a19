import type { IncomingMessage, ServerResponse } from "node:http";
import type { Bus, ResultOf } from "../../../shared/bus/bus.ts";
import { cached, timedCache } from "../../../shared/cache.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { MAX_DOOR_CALLS_PER_HOUR, MAX_DOOR_VARIABLES_BYTES } from "../../../shared/contracts/records/session.ts";
import { fail } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import { jsonValue, readBytes } from "../http/body.ts";
import { answer, answerJson, type Handler, type Refuser } from "../http/exchange.ts";
import { fixedWindowLimiter } from "../http/rate-limiter.ts";
import { MAX_ADDRESSES, type Limits } from "../http/request-limits.ts";
import { pathOf } from "../http/moleculer-web.ts";

type Door = NonNullable<ResultOf<"config.doorByKey">["door"]>;

const DOOR_PATH = "/r/call/";
const KEY = /^[A-Za-z0-9_-]{24}$/;
/** Largest body: the variables, and room for how they are written. */
const BODY_BYTES = MAX_DOOR_VARIABLES_BYTES * 2;
/** What is known of doors: one that was withdrawn is found to be by whoever begins the session. */
const KNOWN = { ttlSeconds: 5, max: 10_000 };
const HOUR_MS = 3_600_000;
const PREFLIGHT_SECONDS = 600;
const METHODS = "OPTIONS, POST";

/** Whether a request is one at a door, whose own origins alone may read the answer. */
export const isDoorPath = (req: Pick<IncomingMessage, "url">): boolean => (req.url ?? "").startsWith(DOOR_PATH);

/** Where visitors of websites call in. */
export interface Doorway {
  handlers: Record<string, Handler>;
  /** Answers what a browser asks before a request of another origin. */
  preflight(exchange: { req: IncomingMessage; res: ServerResponse }): Promise<void>;
}

/** Lets the page read the answer. */
function letRead(res: ServerResponse, origin: string): void {
  res.setHeader("Access-Control-Allow-Origin", origin);
  res.setHeader("Access-Control-Expose-Headers", "Retry-After, X-Request-Id");
}

/** The variables that a page gives. VALIDATION_FAILED, MALFORMED_JSON. */
function variablesIn(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {};
  const body = jsonValue(bytes);
  const { variables = {}, ...others } = isRecord(body) ? body : { variables: null };
  return isRecord(variables) && Object.keys(others).length === 0
    ? variables
    : fail("VALIDATION_FAILED", "The body is {variables}, an object, or nothing.");
}

/** Finds doors by their keys, and lets their pages read the answer. */
function openings(bus: Bus, limits: Pick<Limits, "checkBadTokens">) {
  const known = timedCache<Door>(KNOWN);
  const find = async (key: string): Promise<Door | null> =>
    KEY.test(key)
      ? cached<Door, null>(known, key, async () => (await bus.call("config.doorByKey", { key })).door)
      : null;
  /** DOOR_NOT_FOUND, FORBIDDEN, RATE_LIMITED for who guesses keys. */
  return async (req: IncomingMessage, res: ServerResponse, key: string): Promise<Door & { origin: string }> => {
    res.setHeader("Vary", "Origin");
    const countBad = limits.checkBadTokens(req);
    const door = await find(key);
    if (door === null) {
      countBad();
      return fail("DOOR_NOT_FOUND", "There is no such door.");
    }
    const { origin } = req.headers;
    if (origin === undefined || !door.origins.includes(origin))
      return fail("FORBIDDEN", "Calls are not taken from this website.");
    letRead(res, origin);
    return { ...door, origin };
  };
}

/** Counts calls by the client's address, which is kept in memory, for the hour, and nowhere else. */
function callCounter(clock: Clock, limits: Pick<Limits, "addressOf">) {
  const visitors = fixedWindowLimiter(MAX_DOOR_CALLS_PER_HOUR, HOUR_MS, MAX_ADDRESSES);
  /** RATE_LIMITED. */
  return (req: IncomingMessage, key: string, perHour: number): void => {
    const visitor = `${key} ${limits.addressOf(req)}`;
    const { allowed, reset_seconds } = visitors.acquirePermit(visitor, clock.monotonicMs(), 1, perHour);
    if (!allowed)
      fail("RATE_LIMITED", `Too many calls from this address; try again in ${reset_seconds} seconds.`, {
        retry_after_seconds: reset_seconds,
      });
  };
}

/** Doors: no token is asked for, the origins of a door alone may use it, and only so often from one address. */
export function doorway(
  bus: Bus,
  clock: Clock,
  limits: Pick<Limits, "checkBadTokens" | "addressOf">,
  refused: Refuser,
): Doorway {
  const opened = openings(bus, limits);
  const count = callCounter(clock, limits);
  return {
    async preflight({ req, res }) {
      try {
        await opened(req, res, pathOf(req).slice(DOOR_PATH.length));
        const allow = {
          "Access-Control-Allow-Methods": "POST",
          "Access-Control-Allow-Headers": "Content-Type",
          "Access-Control-Max-Age": String(PREFLIGHT_SECONDS),
        };
        answer(res, 204, { Allow: METHODS, ...allow }, "");
      } catch (error) {
        refused({ req, res, request_id: String(req.headers["x-request-id"]) }, error, { answers: "plain" });
      }
    },
    handlers: {
      [`POST ${DOOR_PATH}:key`]: async (exchange) => {
        const { req, res, path } = exchange;
        const key = path["key"] ?? "";
        try {
          const { origin, calls_per_address_hour } = await opened(req, res, key);
          count(req, key, calls_per_address_hour);
          const variables = variablesIn(await readBytes(req, BODY_BYTES));
          const called = await exchange.bus.call("leads.callByDoor", { key, origin, variables });
          res.setHeader("Cache-Control", "no-store");
          answerJson(res, 201, called);
        } catch (error) {
          refused(exchange, error, { answers: "plain" });
        }
      },
    },
  };
}
