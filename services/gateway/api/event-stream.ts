import type { ServerResponse } from "node:http";
import type { Bus } from "../../../shared/bus/bus.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { codeOf } from "../../../shared/errors.ts";
import { isRecord } from "../../../shared/json.ts";
import type { Clock } from "../../../shared/time/clock.ts";
import { within } from "../../../shared/time/deadline.ts";
import { answerJson, type Exchange, type Handler } from "../http/exchange.ts";
import type { Row } from "../routes/row.ts";
import { ask, givenWithoutBody, identifyAsker, type EndpointParts } from "./endpoint.ts";
import type { OpenStreams, StreamPlace } from "./open-streams.ts";
import { paramsReader } from "./params.ts";

/** Events asked for at once by a stream. */
const PAGE_EVENTS = 100;
/** A stream looks for events when a hint comes, and this often where none does; looks begin this far apart at least. */
const LOOK_MS = 2000;
const GAP_MS = 50;
/** A stream on which nothing was said for this long says so, so that neither side takes the other for gone. */
const SILENCE_MS = 15_000;
/** A reader that does not take what was sent within this is cut; its connection is closed after the second at the latest. */
const SLOW_MS = 10_000;
const FAREWELL_MS = 5000;
/** How often the token is looked at again, and how long a stream lasts. */
const IDENTIFY_MS = 30_000;
const LONGEST_MS = 3_600_000;
/** What a client is told to wait before it comes back. */
const RETRY_MS = 2000;

/** Why a stream ends; a client comes back with its last id. */
export const STREAM_ENDS = ["slow_reader", "token_ended", "unavailable", "shutdown", "time_limit"] as const;
/** One of these reasons. */
export type StreamEnd = (typeof STREAM_ENDS)[number];

/** What streams need. */
export interface StreamDeps {
  clock: Clock;
  /** Not that of a request: a stream outlasts what a request may take. */
  bus: Bus;
  streams: OpenStreams;
}

/** A page of events as the actions give it. */
interface Page {
  events: { cursor: string; event: unknown }[];
  next_cursor: string;
  more: boolean;
  expired: boolean;
}

function pageOf(answer: unknown): Page {
  const { events, next_cursor, more, expired } = isRecord(answer) ? answer : {};
  return {
    events: (Array.isArray(events) ? events : []).flatMap((item: unknown) =>
      isRecord(item) ? [{ cursor: String(item["cursor"]), event: item["event"] }] : [],
    ),
    next_cursor: String(next_cursor),
    more: more === true,
    expired: expired === true,
  };
}

/** Whether the client asks for a stream. */
export const wantsStream = (accept: string | undefined): boolean =>
  (accept ?? "").split(",").some((type) => type.split(";")[0]?.trim().toLowerCase() === "text/event-stream");

const textOf = ({ events, expired }: Page): string =>
  [
    ...(expired ? ["event: expired\ndata: {}\n\n"] : []),
    ...events.map(({ cursor, event }) => `id: ${cursor}\ndata: ${JSON.stringify(event)}\n\n`),
  ].join("");

/** Sends a text as fast as the client takes it; false: it takes nothing, or is gone. */
async function send(clock: Clock, res: ServerResponse, text: string): Promise<boolean> {
  if (res.destroyed) return false;
  if (res.write(text)) return true;
  const taken = new Promise<void>((resolve) => {
    res.once("drain", resolve);
    res.once("close", resolve);
  });
  return (await within(clock, SLOW_MS, taken)) && !res.destroyed;
}

/** Says why the stream ends, and ends it. */
function end(clock: Clock, res: ServerResponse, reason: StreamEnd): void {
  if (res.destroyed) return;
  res.end(`event: end\ndata: ${JSON.stringify({ reason })}\n\n`);
  const closed = new AbortController();
  res.once("close", () => closed.abort());
  void clock.wait(FAREWELL_MS, closed.signal).then(() => res.destroy());
}

/** One stream, from its first page on. */
interface Stream {
  res: ServerResponse;
  place: StreamPlace;
  /** Aborted when the client is gone, or the gateway goes. */
  over: AbortSignal;
  read(after: string): Promise<Page>;
  /** Throws where the token is void. */
  identify(): Promise<void>;
}

/** Sends events until something ends the stream; why it does. */
async function follow({ clock }: StreamDeps, stream: Stream, first: Page): Promise<StreamEnd> {
  const { res, place, over } = stream;
  const began = clock.monotonicMs();
  let [page, identified, said, looked] = [first, began, began, began];
  // a cursor without an event: who comes back before the first one goes on from here
  const here = page.events.length === 0 ? `id: ${page.next_cursor}\n\n` : "";
  let text = `retry: ${RETRY_MS}\n\n${here}${textOf(page)}`;
  for (;;) {
    if (text !== "" && !(await send(clock, res, text))) return "slow_reader";
    if (text !== "") said = clock.monotonicMs();
    if (!page.more) {
      await place.further(LOOK_MS, over);
      const gapMs = looked + GAP_MS - clock.monotonicMs();
      if (gapMs > 0) await clock.wait(gapMs, over);
    }
    if (over.aborted) return "shutdown";
    const now = clock.monotonicMs();
    if (now - began >= LONGEST_MS) return "time_limit";
    if (now - identified >= IDENTIFY_MS) {
      await stream.identify();
      identified = now;
    }
    looked = now;
    place.looking();
    page = await stream.read(page.next_cursor);
    text = textOf(page);
    if (text === "" && now - said >= SILENCE_MS) text = ":\n\n";
  }
}

const reasonOf = (error: unknown): StreamEnd =>
  codeOf(error) === "UNAUTHENTICATED" || codeOf(error) === "FORBIDDEN" ? "token_ended" : "unavailable";

/**
 * A row whose action gives events behind a cursor: as a page of JSON, or, where the client takes text/event-stream, as a stream that goes on with what
 * happens, from the cursor or the header Last-Event-ID.
 */
export function eventStreamEndpoint(row: Row, parts: EndpointParts, deps: StreamDeps): Handler {
  const reader = paramsReader(row);
  const { clock, bus, streams } = deps;

  async function open(exchange: Exchange, by: By, params: Record<string, unknown>): Promise<void> {
    const { req, res } = exchange;
    const place = streams.enter(by);
    try {
      const read = async (after: unknown): Promise<Page> =>
        pageOf(
          await ask(bus, row.action, { ...params, limit: PAGE_EVENTS, ...(after === undefined ? {} : { after }) }),
        );
      const first = await read(params["after"]);
      const gone = new AbortController();
      res.once("close", () => gone.abort());
      res.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" });
      const identify = async (): Promise<void> => {
        params["by"] = await parts.identifier.identify(bus, req.headers.authorization, () => () => undefined);
      };
      const stream = { res, place, over: AbortSignal.any([gone.signal, streams.closing]), read, identify };
      end(clock, res, await follow(deps, stream, first).catch(reasonOf));
    } finally {
      place.leave();
    }
  }

  return async (exchange) => {
    const { req, res } = exchange;
    try {
      const by = await identifyAsker(row, exchange, parts);
      const params = reader.withoutBody(givenWithoutBody(exchange), by);
      const last = req.headers["last-event-id"];
      if (typeof last === "string" && last !== "") params["after"] = last;
      if (by !== null && req.method === "GET" && wantsStream(req.headers.accept)) await open(exchange, by, params);
      else answerJson(res, row.success, await ask(exchange.bus, row.action, params));
    } catch (error) {
      parts.refused(exchange, error, { answers: row.answers });
    }
  };
}
