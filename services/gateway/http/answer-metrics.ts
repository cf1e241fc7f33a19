import type { IncomingMessage, ServerResponse } from "node:http";
import type { Metrics } from "../../../shared/metrics/metrics.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";

const STATUS_CLASS = 100;

/** Has an answer counted and timed when it is over, also one that its client did not wait for. */
export function measureAnswer(
  metrics: Pick<Metrics, "count" | "observe">,
  clock: Pick<Clock, "monotonicMs">,
  req: IncomingMessage,
  res: ServerResponse,
): void {
  const began = clock.monotonicMs();
  res.once("close", () => {
    const { statusCode: status } = res;
    metrics.count("callagent_http_requests_total", { method: req.method ?? "", status: String(status) });
    const seconds = (clock.monotonicMs() - began) / MS_PER_SECOND;
    metrics.observe("callagent_http_request_seconds", { class: `${Math.floor(status / STATUS_CLASS)}xx` }, seconds);
  });
}
