import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { DialogueEvent, Effect } from "../dialogue/dialogue-state.ts";
import type { VoicePipeline } from "../pipelines/port.ts";
import type { WebRequester } from "../providers/web-request.ts";

/** What effects outside the conversation are carried out with. */
export interface ExternalEffectsDeps extends Pick<ServiceDeps, "bus" | "log"> {
  web: WebRequester;
  call_ref: string;
  dispatch(event: DialogueEvent): void;
}

/** The effects of a dialogue that reach other systems; their results come back as events. None throws. */
export const externalEffects = ({ bus, log, web, call_ref, dispatch }: ExternalEffectsDeps) => ({
  /** Sends a function's web request; `ended` aborts it. */
  async request(pipeline: VoicePipeline, effect: Extract<Effect, { type: "http" }>, ended: AbortSignal): Promise<void> {
    pipeline.externalWaitStarted?.();
    const { ok, result } = await web(effect, ended);
    dispatch({ type: "http_done", call_id: effect.call_id, ok, result });
  },
  /** Transfers the call once our speech has been heard. */
  async transfer(pipeline: VoicePipeline, { call_id, to }: Extract<Effect, { type: "transfer" }>): Promise<void> {
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
  /** Has the carrier send DTMF to the callee. */
  async sendDtmf(digits: string): Promise<void> {
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

/** The external effects of one conversation. */
export type ExternalEffects = ReturnType<typeof externalEffects>;
