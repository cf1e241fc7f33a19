import type { ServiceDeps } from "../../../shared/bus/bus.ts";
import { codeOf, messageOf, type ErrorCode } from "../../../shared/errors.ts";
import { renderedHeaders } from "../../../shared/egress/request-headers.ts";
import { secretNames } from "../../../shared/placeholders.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import type { DialogueEvent, Effect } from "../dialogue/dialogue-state.ts";
import type { VoicePipeline } from "../pipelines/port.ts";
import type { SessionDoc } from "./sessions.model.ts";
import type { WebRequester } from "../providers/web-request.ts";

/** What effects outside the conversation are carried out with. */
export interface ExternalEffectsDeps extends Pick<ServiceDeps, "bus" | "log"> {
  web: WebRequester;
  doc: Pick<SessionDoc, "_id" | "template_id">;
  dispatch(event: DialogueEvent): void;
}

/** What the dialer refuses a transfer with; its sentence names no number. */
const REFUSALS: readonly ErrorCode[] = ["INVALID_PHONE_NUMBER", "NUMBER_BLACKLISTED", "FORBIDDEN"];
const whyNot = (error: unknown): string => {
  const code = codeOf(error);
  return REFUSALS.includes(code) ? `${code}: ${messageOf(error)}` : code;
};

type Http = Extract<Effect, { type: "http" }>;

/** A function's headers, its secrets asked for now and kept by nobody; a text is the code of what keeps them from being sent. */
async function headersOf(
  { bus, log, doc: { template_id } }: Pick<ExternalEffectsDeps, "bus" | "log" | "doc">,
  { templates, sources }: NonNullable<Http["headers"]>,
): Promise<Record<string, string> | string> {
  try {
    const names = secretNames(templates);
    const { values } =
      names.length === 0 ? { values: [] } : await bus.call("config.secretValues", { template_id, names });
    const secrets = new Map(values.map(({ name, value }) => [name, value]));
    const missing = names.find((name) => !secrets.has(name));
    const headers = renderedHeaders(templates, sources, secrets);
    if (missing === undefined && typeof headers !== "string") return headers;
    log.warn(
      { event: "talk.not_requested", secret_name: missing },
      "A function's headers could not be sent; the conversation goes on.",
    );
    return missing === undefined ? "HEADER_INVALID" : "SECRET_NOT_FOUND";
  } catch (error) {
    log.warn(
      { event: "talk.not_requested", error: errorForLog(error) },
      "A function's secrets could not be read; the conversation goes on.",
    );
    return codeOf(error);
  }
}

/** The effects of a dialogue that reach other systems; their results come back as events. None throws. */
export const externalEffects = ({ bus, log, web, doc, dispatch }: ExternalEffectsDeps) => ({
  /** Sends a function's web request; `ended` aborts it. */
  async request(pipeline: Pick<VoicePipeline, "externalWaitStarted">, effect: Http, ended: AbortSignal): Promise<void> {
    pipeline.externalWaitStarted?.();
    const { call_id, method, url, body } = effect;
    const headers = effect.headers && (await headersOf({ bus, log, doc }, effect.headers));
    const { ok, result } =
      typeof headers === "string"
        ? { ok: false, result: headers }
        : await web({ method, url, body, ...(headers && { headers }) }, ended);
    dispatch({ type: "http_done", call_id, ok, result });
  },
  /** Transfers the call once our speech has been heard. */
  async transfer(
    pipeline: VoicePipeline,
    { call_id, to, from_variable }: Extract<Effect, { type: "transfer" }>,
  ): Promise<void> {
    try {
      await pipeline.playedOut();
      await bus.call("dialer.transfer", {
        call_ref: doc._id,
        to,
        ...(from_variable === true ? { from_variable } : {}),
      });
      dispatch({ type: "transfer_done", call_id });
    } catch (error) {
      log.warn(
        { event: "talk.not_transferred", error: errorForLog(error) },
        "The call could not be transferred; the conversation goes on.",
      );
      dispatch({ type: "transfer_failed", call_id, code: whyNot(error) });
    }
  },
  /** Has the carrier send DTMF to the callee. */
  async sendDtmf(digits: string): Promise<void> {
    // the digits may be a secret: they are never logged
    await bus
      .call("dialer.sendDtmf", { call_ref: doc._id, digits })
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
