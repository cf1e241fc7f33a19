import type { Bus } from "../../../shared/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { errorForLog, type Log } from "../../../shared/process/log.ts";
import type { DialogueEvent, Effect } from "../dialogue/dialogue-state.ts";
import type { VoicePipeline } from "../pipelines/port.ts";
import type { WebRequester } from "../providers/web-request.ts";

/** What effects outside the conversation are carried out with. */
export interface ExternalEffectsDeps {
  bus: Bus;
  log: Log;
  web: WebRequester;
  call_ref: string;
  dispatch(event: DialogueEvent): void;
}

/** The effects of a dialogue that reach other systems; their results come back as events. None throws. */
export interface ExternalEffects {
  /** Sends a function's web request; `ended` aborts it. */
  request(pipeline: VoicePipeline, effect: Extract<Effect, { type: "http" }>, ended: AbortSignal): Promise<void>;
  /** Transfers the call once our speech has been heard. */
  transfer(pipeline: VoicePipeline, effect: Extract<Effect, { type: "transfer" }>): Promise<void>;
  /** Has the carrier send DTMF to the callee. */
  sendDtmf(digits: string): Promise<void>;
}

/** The external effects of one conversation. */
export const externalEffects = ({ bus, log, web, call_ref, dispatch }: ExternalEffectsDeps): ExternalEffects => ({
  async request(pipeline, effect, ended) {
    pipeline.externalWaitStarted?.();
    const { ok, result } = await web(effect, ended);
    dispatch({ type: "http_done", call_id: effect.call_id, ok, result });
  },
  async transfer(pipeline, { call_id, to }) {
    try {
      await pipeline.playedOut();
      await bus.call("dialer.transfer", { call_ref, to });
      dispatch({ type: "transfer_done", call_id });
    } catch (error) {
      log.warn(
        { event: "talk.not_transferred", error: errorForLog(error) },
        "The call could not be transferred; the conversation goes on.",
      );
      dispatch({ type: "transfer_failed", call_id, code: codeOf(error) });
    }
  },
  async sendDtmf(digits) {
    // the digits may be a secret: they are never logged
    await bus
      .call("dialer.sendDtmf", { call_ref, digits })
      .catch((error: unknown) =>
        log.warn(
          { event: "talk.keys_not_pressed", code: codeOf(error) },
          "DTMF could not be sent; the conversation goes on.",
        ),
      );
  },
});
