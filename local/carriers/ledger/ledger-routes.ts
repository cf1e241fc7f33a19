import type { ServerResponse } from "node:http";
import { BEHAVIOURS } from "../../people/behaviours.ts";
import type { Scripts } from "../../people/step-script.ts";
import type { Faults } from "../exchange/faults.ts";
import { isScale, type SettableTime } from "../exchange/simulated-time.ts";
import type { Reply, Request } from "../http/messages.ts";
import type { Ledger } from "./ledger.ts";
import type { Entry } from "./entries.ts";

/** What the simulator's own pages show. */
export interface Pages {
  ledger: Ledger;
  faults: Faults;
  scripts: Scripts;
  time: SettableTime;
  liveCalls(): number;
}

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;
const HEARTBEAT_MS = 15_000;
/** A reader of the stream that falls further behind than this is cut off; it may come back with Last-Event-ID. */
const MAX_UNREAD_BYTES = 32_000_000;

const whole = (text: string | null, byDefault: number): number =>
  text !== null && /^\d{1,12}$/.test(text) ? Number(text) : byDefault;

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** What was made, or what is wrong with the request. */
const madeReply = (made: object | string): Reply =>
  typeof made === "string" ? { status: 400, body: { message: made } } : { status: 201, body: made };

function setTime(time: SettableTime, asked: unknown): Reply {
  const scale: unknown = typeof asked === "object" && asked !== null ? Reflect.get(asked, "scale") : undefined;
  if (!isScale(scale)) return { status: 400, body: { message: "scale must be above 0 and at most 10000" } };
  time.setScale(scale);
  return { status: 200, body: { scale } };
}

/** Answers /ledger, /ledger/calls, /faults, /people, /time and /health. */
export function answerLedger(
  { ledger, faults, scripts, time, liveCalls }: Pages,
  { method, path, query, body }: Request,
): Reply {
  switch (`${method} ${path}`) {
    case "GET /ledger":
      return {
        status: 200,
        body: ledger.read(whole(query.get("since"), 0), Math.min(whole(query.get("limit"), DEFAULT_LIMIT), MAX_LIMIT)),
      };
    case "GET /ledger/calls":
      return { status: 200, body: { calls: ledger.calls().filter((row) => row.to.endsWith(query.get("to") ?? "")) } };
    case "DELETE /ledger":
      ledger.clear();
      return { status: 204 };
    case "GET /faults":
      return { status: 200, body: { faults: faults.list() } };
    case "POST /faults":
      return madeReply(faults.add(jsonOf(body)));
    case "DELETE /faults":
      faults.clear();
      return { status: 204 };
    case "GET /people":
      return { status: 200, body: { people: BEHAVIOURS } };
    case "POST /people":
      return madeReply(scripts.set(jsonOf(body)));
    case "DELETE /people":
      scripts.clear();
      return { status: 204 };
    case "PUT /time":
      return setTime(time, jsonOf(body));
    case "GET /health":
      return { status: 200, body: { status: "ok", live_calls: liveCalls() } };
    default:
      return {
        status: 404,
        body: {
          message: `nothing here at ${method} ${path}: try /ledger, /ledger/calls, /ledger/stream, /faults, /inbound, /people, /time, /health or the Twilio API under /2010-04-01/`,
        },
      };
  }
}

/** Sends the ledger as server-sent events: what is there after `since` (or Last-Event-ID), then what comes. */
export function streamLedger(ledger: Ledger, { query, headers }: Request, response: ServerResponse): void {
  const last = headers["last-event-id"];
  let next = whole(query.get("since") ?? (typeof last === "string" ? last : null), 0);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  const send = (entry: Entry): void => {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else response.write(`id: ${entry.seq}\nevent: ${entry.kind}\ndata: ${JSON.stringify(entry)}\n\n`);
  };
  for (let page = ledger.read(next, MAX_LIMIT); page.entries.length > 0; page = ledger.read(next, MAX_LIMIT)) {
    for (const entry of page.entries) send(entry);
    next = page.next;
  }
  const unfollow = ledger.follow(send);
  const heartbeat = setInterval(() => response.write(": alive\n\n"), HEARTBEAT_MS);
  response.on("close", () => {
    clearInterval(heartbeat);
    unfollow();
  });
}
