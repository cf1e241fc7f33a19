import type { IncomingMessage, ServerResponse } from "node:http";
import { BASE_PATH } from "../../../shared/base-path.ts";
import type { Metrics } from "../../../shared/metrics/metrics.ts";
import type { Log } from "../../../shared/process/log.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";

/** What watching needs. `all`: every answer goes to the log, not only those to pushes. */
export interface AnswerWatch {
  metrics: Pick<Metrics, "count" | "observe">;
  log: Pick<Log, "info">;
  clock: Pick<Clock, "monotonicMs">;
  all: boolean;
}

const STATUS_CLASS = 100;
const PUSH_PATHS: ReadonlySet<string> = new Set([`${BASE_PATH}/leads`, `${BASE_PATH}/leads/bulk`]);
/** Words of our paths, and ids of records; what else stands in a path may be a secret, as in a join link. */
const SHOWN = /^(?:[a-z][a-z0-9._-]{0,31}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.\d+)?|PROVIDER_[A-Z]+)$/;
const KEYED = /^\/r\//;

/** A path fit for the log: without its query, and without what may be a secret in it. */
export function shownPath(url: string): string {
  const path = url.split("?")[0] ?? "";
  if (KEYED.test(path)) return "/r/…";
  return path
    .split("/")
    .map((segment) => (segment === "" || SHOWN.test(segment) ? segment : "…"))
    .join("/");
}

/** What came of a push, or of the rows of a bulk push: the first lead by its id and the client's own name for it, and how many there are. */
interface PushNote {
  lead_id?: string;
  order_id?: string;
  queued: number;
  refused: number;
}
const pushes = new WeakMap<ServerResponse, PushNote>();

/** Notes what came of a push, or of some of a bulk push's rows, for the line of its answer. */
export function notePushed(res: ServerResponse, outcomes: readonly Record<string, unknown>[]): void {
  const note: PushNote = { ...(pushes.get(res) ?? { queued: 0, refused: 0 }) };
  for (const { lead_call_tracker_id: lead_id, order_id } of outcomes)
    if (typeof lead_id !== "string") note.refused += 1;
    else {
      if (note.queued === 0) Object.assign(note, { lead_id, order_id });
      note.queued += 1;
    }
  pushes.set(res, note);
}

/** Has an answer counted, timed and, where it is one to a push or all are wanted, logged when it is over; also one that its client did not wait for. */
export function watchAnswer(
  { metrics, log, clock, all }: AnswerWatch,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const began = clock.monotonicMs();
  const { method = "", url = "" } = req;
  const request_id = req.headers["x-request-id"];
  const isPush = method === "POST" && PUSH_PATHS.has(url.split("?")[0] ?? "");
  res.once("close", () => {
    const { statusCode: status } = res;
    const ms = clock.monotonicMs() - began;
    metrics.count("callagent_http_requests_total", { method, status: String(status) });
    const of = `${Math.floor(status / STATUS_CLASS)}xx`;
    metrics.observe("callagent_http_request_seconds", { class: of }, ms / MS_PER_SECOND);
    if (!all && !isPush) return;
    const cut = res.writableFinished ? {} : { cut: true };
    log.info(
      {
        event: "http.answered",
        request_id,
        method,
        path: shownPath(url),
        status,
        ms: Math.round(ms),
        ...pushes.get(res),
        ...cut,
      },
      "a request was answered",
    );
  });
}
