import type { Clock } from "../../../shared/clock.ts";
import type { Env } from "../../../shared/env.ts";
import type { ReadyTemplate } from "../session/compiled-templates.ts";
import { frameClock } from "../transport/frame-clock.ts";
import type { SessionRecordings } from "../recording/session-recordings.ts";
import type { MediaLeg, TextLeg } from "../transport/port.ts";
import { fillers } from "../providers/tts/fillers.ts";
import type { DeploymentModels } from "../providers/deployment-models.ts";
import type { SessionDoc } from "../session/sessions.model.ts";
import { ruleBasedEndpointing } from "../audio/endpointing.ts";
import { cascadeMind } from "./cascaded/cascaded-processor.ts";
import type { VoiceEngine } from "./port.ts";
import { realtimeMind } from "./realtime/realtime-processor.ts";
import { relayEngine } from "./text-relay/text-relay-pipeline.ts";
import { soundEngine, type SoundParts } from "./audio-pipeline.ts";

/** The engines of a process. Each refuses with NOT_AVAILABLE what the deployment has no models for. */
export interface Engines {
  /** The carrier does the speech. */
  text(ready: ReadyTemplate): VoiceEngine<TextLeg>;
  /** We do it, by the engine the talk was made ready for. */
  sound(ready: ReadyTemplate, doc: Pick<SessionDoc, "_id" | "engine" | "stream" | "record">): VoiceEngine<MediaLeg>;
}

/** What the realtime model's server listens with, where the deployment names no model that does. */
const REALTIME_LISTENER = "gpt-transcribe";

/** Engines with the deployment's models. */
export function engines({
  env,
  clock,
  models,
  recordings,
}: {
  env: Env;
  clock: Clock;
  models: DeploymentModels;
  recordings: Pick<SessionRecordings, "open">;
}): Engines {
  const beats = frameClock(clock);
  const judge = ruleBasedEndpointing();
  const preemptive = env.PREEMPTIVE_GENERATION;

  const mindOf = ({ template }: ReadyTemplate, engine: SessionDoc["engine"]): SoundParts["mind"] => {
    if (engine === "realtime") {
      const { base_url, key, model, voice } = models.realtime(template);
      const address = { base_url: base_url ?? "", key, model, voice, dialect: env.REALTIME_DIALECT };
      return (ground) =>
        realtimeMind({ address, transcription_model: env.STT_MODEL ?? REALTIME_LISTENER, preemptive }, ground);
    }
    const parts = { models: models.cascade(template), judge, preemptive };
    return (ground) => cascadeMind(parts, ground);
  };

  return {
    text: ({ template }) => relayEngine(models.chat(template), clock),
    sound: (ready, { _id, engine, stream, record }) =>
      soundEngine({
        clock,
        metronome: beats,
        mind: mindOf(ready, engine),
        fillers: fillers(ready.template.language),
        keys: stream?.dtmf === "command" ? "command" : "sound",
        ...(record ? { recorder: (rate: number) => recordings.open(_id, rate === 8000 ? 8000 : 16_000) } : {}),
      }),
  };
}
