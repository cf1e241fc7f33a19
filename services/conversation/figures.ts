import type { ServiceDeps } from "../../shared/bus/bus.ts";
import type { Log } from "../../shared/process/log.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import { MS_PER_SECOND } from "../../shared/time/clock.ts";
import type { PipelineHost } from "./pipelines/port.ts";

/** Writes the figures of a conversation to the log and the metrics. */
export const sessionFigures = (
  log: Log,
  metrics: Pick<Metrics, "count" | "observe">,
): Pick<PipelineHost, "recordLatency" | "recordAnswer" | "recordError"> => ({
  recordLatency(turn) {
    const { voice_to_voice_ms } = turn;
    if (voice_to_voice_ms !== null) metrics.observe("callagent_turn_seconds", {}, voice_to_voice_ms / MS_PER_SECOND);
    log.info({ event: "talk.turn_timed", ...turn }, "A turn has been answered.");
  },
  recordAnswer({ text, calls, ...figures }) {
    metrics.observe("callagent_model_first_token_seconds", {}, figures.first_token_ms / MS_PER_SECOND);
    log.info({ event: "talk.thought", ...figures, chars: text.length, calls: calls.length }, "The model has answered.");
  },
  recordError(code) {
    metrics.count("callagent_conversation_faults_total", { code });
    log.warn({ event: "talk.fault", code }, "An error of the conversation's media or models.");
  },
});

/** Tells the metrics of the conversations of this process: those under way, how many more it takes, and the recordings that wait to be handed over. */
export function measureConversations(
  { metrics, draining }: Pick<ServiceDeps, "metrics" | "draining">,
  conversations: { calls(): number },
  recordings: { waiting(): number },
  most: number,
): void {
  metrics.gauge("callagent_conversations", () => [
    { labels: { state: "live" }, value: conversations.calls() },
    { labels: { state: "free" }, value: draining.aborted ? 0 : Math.max(0, most - conversations.calls()) },
  ]);
  metrics.gauge("callagent_recordings_waiting", () => [{ labels: {}, value: recordings.waiting() }]);
}
