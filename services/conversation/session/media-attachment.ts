import type { Clock } from "../../../shared/time/clock.ts";
import type { PipelineFactory } from "../pipelines/port.ts";
import type { CompiledTemplate } from "./compiled-templates.ts";
import { NO_TEXT_EVENTS, type MediaLeg, type TextLeg } from "../transport/port.ts";
import type { MediaAttachment } from "./live-conversations.ts";

/** The carrier gets this long to close a leg without a conversation. */
const DISMISS_MS = 3000;

const ignore = (): void => undefined;

/** A leg with the pipeline of its conversation. `farewell`: ends the leg politely and handles only `closed`. */
const attachLeg = <Leg extends { close(): void }>(
  leg: Leg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<Leg>,
  clock: Clock,
  farewell: (closed: () => void) => void,
): MediaAttachment => ({
  openPipeline(template) {
    const open = pipeline(template);
    return (host) => open(leg, host);
  },
  async dismiss() {
    const gone = new AbortController();
    farewell(() => gone.abort());
    await clock.wait(DISMISS_MS, gone.signal);
    leg.close();
  },
});

/** A text leg, for the pipeline of its conversation. */
export const attachTextLeg = (
  leg: TextLeg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<TextLeg>,
  clock: Clock,
): MediaAttachment =>
  attachLeg(leg, pipeline, clock, (closed) => {
    leg.listen({ ...NO_TEXT_EVENTS, closed });
    leg.end();
  });

/** An audio leg, for the pipeline of its conversation. */
export const attachAudioLeg = (
  leg: MediaLeg,
  pipeline: (template: CompiledTemplate) => PipelineFactory<MediaLeg>,
  clock: Clock,
): MediaAttachment =>
  attachLeg(leg, pipeline, clock, (closed) => {
    leg.listen({ ready: ignore, audio: ignore, digit: ignore, mark: ignore, fault: ignore, closed });
    leg.close();
  });
