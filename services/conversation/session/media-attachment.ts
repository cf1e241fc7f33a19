import type { Clock } from "../../../shared/time/clock.ts";
import type { PipelineFactory } from "../pipelines/port.ts";
import type { CompiledTemplate } from "./compiled-templates.ts";
import { NO_TEXT_EVENTS, type MediaLeg, type TextLeg } from "../transport/port.ts";
import { DISMISS_MS, endInSound, endInWords, troubleIn, type FarewellSpeech } from "../pipelines/goodbyes.ts";
import type { MediaAttachment } from "./live-conversations.ts";

const FALLBACK_LANGUAGE = "en";

const ignore = (): void => undefined;

/** A leg with the pipeline of its conversation. `refuse`: ends the leg at once and handles only `closed`; `say`: says a sentence on it and ends it. */
const attachLeg = <Leg extends { close(): void }>(
  leg: Leg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<Leg>,
  clock: Clock,
  refuse: (closed: () => void) => void,
  say: (sentence: string, template: CompiledTemplate | null) => Promise<void>,
): MediaAttachment => ({
  openPipeline(template) {
    const open = pipeline(template);
    return (host) => open(leg, host);
  },
  async dismiss() {
    const gone = new AbortController();
    refuse(() => gone.abort());
    await clock.wait(DISMISS_MS, gone.signal);
    leg.close();
  },
  farewell: (template) => say(troubleIn(template?.template.language ?? FALLBACK_LANGUAGE), template),
});

/** A text leg, for the pipeline of its conversation. */
export const attachTextLeg = (
  leg: TextLeg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<TextLeg>,
  clock: Clock,
): MediaAttachment =>
  attachLeg(
    leg,
    pipeline,
    clock,
    (closed) => {
      leg.listen({ ...NO_TEXT_EVENTS, closed });
      leg.end();
    },
    (sentence) => endInWords(leg, sentence, clock),
  );

/** An audio leg, for the pipeline of its conversation. `speech`: what a template's conversation is spoken with; null: nothing synthesises speech. */
export const attachAudioLeg = (
  leg: MediaLeg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<MediaLeg>,
  clock: Clock,
  speech: (template: CompiledTemplate) => FarewellSpeech | null,
): MediaAttachment =>
  attachLeg(
    leg,
    pipeline,
    clock,
    (closed) => {
      leg.listen({ ready: ignore, audio: ignore, digit: ignore, mark: ignore, fault: ignore, refused: ignore, closed });
      leg.close();
    },
    (sentence, template) => endInSound(leg, sentence, clock, template && speech(template)),
  );
