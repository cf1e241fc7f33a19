import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import type { VoiceModel } from "../audio/port.ts";
import type { CompiledTemplate } from "../session/compiled-templates.ts";
import type { FrameClock } from "../transport/frame-clock.ts";
import type { SessionRecordings } from "../recording/session-recordings.ts";
import type { MediaLeg, TextLeg } from "../transport/port.ts";
import { phrasesFor } from "../../../shared/phrases.ts";
import type { DeploymentModels } from "../providers/deployment-models.ts";
import type { PlannedSession } from "../session/sessions.model.ts";
import { cascadedProcessor } from "./cascaded/cascaded-processor.ts";
import type { PipelineFactory } from "./port.ts";
import { realtimeListener } from "../providers/addresses.ts";
import { realtimeProcessor } from "./realtime/realtime-processor.ts";
import { textRelayPipeline } from "./text-relay/text-relay-pipeline.ts";
import { audioPipeline, type AudioPipelineOptions } from "./audio-pipeline.ts";

/** What pipelines are made with. */
export interface PipelinesDeps extends Pick<ServiceDeps, "env" | "clock"> {
  models: DeploymentModels;
  /** Tells voices from noises in every call; absent: their pitch does. */
  voices?: VoiceModel | undefined;
  recordings: Pick<SessionRecordings, "record">;
  /** Of all calls of the process. */
  beats: FrameClock;
}

/** The pipelines of a process. Each refuses with NOT_AVAILABLE what the deployment has no models for. */
export function pipelines({ env, clock, models, voices, recordings, beats }: PipelinesDeps) {
  const preemptive = env.PREEMPTIVE_GENERATION;

  const processorOf = (
    { template }: CompiledTemplate,
    engine: PlannedSession["engine"],
  ): AudioPipelineOptions["processor"] => {
    if (engine === "realtime") {
      const { base_url, key, model, voice } = models.realtime(template);
      const address = { base_url: base_url ?? "", key, model, voice, dialect: env.REALTIME_DIALECT };
      return (context) =>
        realtimeProcessor({ address, transcription_model: realtimeListener(env), preemptive, voices }, context);
    }
    const parts = { models: models.cascade(template), preemptive, voices };
    return (context) => cascadedProcessor(parts, context);
  };

  return {
    /** The carrier does the speech. */
    textRelay: ({ template }: CompiledTemplate): PipelineFactory<TextLeg> =>
      textRelayPipeline(models.chat(template), clock),
    /** We do the speech, by the pipeline the conversation was prepared for. */
    audio: (compiled: CompiledTemplate, { _id, engine, stream, record }: PlannedSession): PipelineFactory<MediaLeg> =>
      audioPipeline({
        clock,
        frameClock: beats,
        processor: processorOf(compiled, engine),
        fillers: phrasesFor(compiled.template.language).fillers,
        dtmf: stream?.dtmf === "command" ? "command" : "tones",
        ...(record ? { recorder: (rate: number) => recordings.record(_id, rate === 8000 ? 8000 : 16_000) } : {}),
      }),
  };
}
