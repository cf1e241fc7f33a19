import type { RawCallback } from "../../../shared/contracts/dialer.ts";
import { crashPoint } from "../../../shared/process/crash.ts";
import { fail } from "../../../shared/errors.ts";
import { parseCallRef, sha256 } from "../../../shared/ids.ts";
import {
  callbackBase,
  CALLBACK_KINDS,
  type AnswerDocument,
  type CallbackKind,
  type CarrierPort,
} from "../carriers/carrier-port.ts";
import { INBOUND_REFS } from "../carriers/signed-request.ts";
import type { CarrierEventDoc } from "./carrier-events.model.ts";
import { answerInbound } from "../inbound/answer-inbound.ts";
import { applyCallback } from "./apply-callback.ts";
import { nextXmlReply } from "../media/document-turn.ts";
import type { DialerParts } from "../deps.ts";

const isKind = (kind: string): kind is CallbackKind => CALLBACK_KINDS.some((k) => k === kind);

/**
 * A carrier's callback: verified, put into our words, stored, answered; it is applied from the document afterwards.
 * SIGNATURE_INVALID and VALIDATION_FAILED store nothing; STORE_UNAVAILABLE makes the carrier try again.
 */
export async function receiveCallback(deps: DialerParts, raw: RawCallback): Promise<AnswerDocument> {
  const carrier = deps.carriers.of(raw.provider);
  if (!carrier.verify(raw, deps.clock.now())) {
    fail(
      "SIGNATURE_INVALID",
      "The callback's signature does not match PUBLIC_HTTP_URL, this path and this body: check the auth token and PUBLIC_HTTP_URL.",
    );
  }
  const { kind } = raw;
  if (!isKind(kind))
    fail("VALIDATION_FAILED", `There is no callback "${kind}"; known are ${CALLBACK_KINDS.join(", ")}.`);
  if (!INBOUND_REFS.has(raw.ref) && !parseCallRef(raw.ref))
    fail("VALIDATION_FAILED", "The callback's address names no attempt: it must end with <lead_id>.<claim_no>.");
  const inbound = INBOUND_REFS.has(raw.ref) && (kind === "inbound" || kind === "event") ? carrier.inbound(raw) : null;
  if (inbound) return answerInbound(deps, carrier, { ...raw, kind }, inbound);
  return receiveOfCall(deps, carrier, { ...raw, kind });
}

/** A callback that could not be stored when it came. */
async function storeAndApply(deps: DialerParts, event: CarrierEventDoc): Promise<void> {
  if (await deps.callbacks.store(event)) await applyCallback(deps, event);
}

/** A callback of a known call, or of a past one. */
async function receiveOfCall(
  deps: DialerParts,
  carrier: CarrierPort,
  given: RawCallback & { kind: CallbackKind },
): Promise<AnswerDocument> {
  const { kind } = given;
  const { call_id, leg_id, sequence, progress, turn, recording, cost } = carrier.translate(kind, given);
  const raw = INBOUND_REFS.has(given.ref)
    ? { ...given, ref: (await deps.calls.refOfCarrier(given.provider, call_id)) ?? given.ref }
    : given;
  await carrier.continueInbound?.(raw);
  const event: CarrierEventDoc = {
    _id: `${raw.provider}:${call_id}:${kind}:${sequence ?? sha256(`${raw.path}\n${raw.body}`)}`,
    provider: raw.provider,
    kind,
    ref: raw.ref,
    carrier_call_id: call_id,
    ...(leg_id === null ? {} : { carrier_leg_id: leg_id }),
    progress,
    ...(recording === null ? {} : { recording }),
    ...(cost === null ? {} : { cost }),
    body: turn === null ? raw.body : "", // speech and DTMF belong to the conversation alone
    received_at: deps.clock.now(),
    applied: progress.length === 0 && recording === null && cost === null,
  };
  const first = await deps.callbacks.store(event).catch((error: unknown) => {
    // refused, so that the carrier sends it again; not every carrier does
    if (!event.applied) deps.unwritten.keep(event.ref, `a callback of kind ${kind}`, () => storeAndApply(deps, event));
    throw error;
  });
  if (!event.applied) crashPoint(deps.env, "K9");
  if (first && !event.applied) deps.background.run("applying a carrier's callback", () => applyCallback(deps, event));
  const reply = turn === null ? null : await nextXmlReply(deps, raw, call_id, turn);
  return carrier.answerDocument(kind, reply, {
    callback_base: callbackBase(deps.env, raw.provider),
    call_ref: raw.ref,
    path: raw.path,
  });
}
