import type { CallHow } from "../../../shared/bus/bus.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { XmlTurnReply } from "../../../shared/contracts/conversation.ts";
import { fail, messageOf } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { isLive, setMediaKind, rejectInbound } from "../call/call-state-machine.ts";
import { acceptInbound } from "../call/new-calls.ts";
import type { CallDoc, StoredOrder } from "../call/calls.model.ts";
import { callbackBase, type InboundCall, type InboundDecision } from "../carriers/carrier-port.ts";
import { finishCall } from "../call/close-call.ts";
import type { InboundCallDoc } from "./inbound-calls.model.ts";
import { isRecordedByUs, carrierFacts, isOwnRecording, targetOf } from "../media/media-target.ts";
import { CARRIER_LIMIT_MARGIN_SECONDS } from "../call/call-deadlines.ts";
import { logCall } from "../call/call-log.ts";
import type { DialerParts } from "../deps.ts";

/** How long the conversation waits for its media: the call exists already. */
const MEDIA_SECONDS = 60;
/** An inbound lead's only claim (services/leads). */
const CLAIM_NO = 1;

/** An accepted call with all that taking it needs. */
export interface Accepted {
  doc: InboundCallDoc;
  plan: InboundPlan;
  number_id: string;
  reseller_id: string;
  lead_id: string;
}

/** The call's name among ours. */
export const inboundRef = (id: string): string => callRef(id, CLAIM_NO);

/** Null where the document lacks something that every accepted call has. */
export function acceptedOf(doc: InboundCallDoc): Accepted | null {
  const { plan, number_id, reseller_id, lead_id } = doc;
  return doc.verdict === "ACCEPTED" && plan && number_id !== null && reseller_id !== null && lead_id !== undefined
    ? { doc, plan, number_id, reseller_id, lead_id }
    : null;
}

/** The order as an outbound call has one: `to` is the caller, `from` is our number. Inbound calls have no AMD. */
function orderOf({ doc, plan, number_id, reseller_id, lead_id }: Accepted): StoredOrder {
  return {
    lead_id,
    claim_no: CLAIM_NO,
    reseller_id,
    merchant_id: doc.merchant_id,
    template_id: plan.template_id,
    template_version: plan.version,
    execution_mode: "TELEPHONY",
    to: doc.from ?? "",
    from: doc.to,
    number_id,
    provider: doc.provider,
    dial_until: null,
    record: plan.configuration?.record_calls ?? false,
    voicemail_action: "continue",
    enforce_blacklist: plan.configuration?.enforce_blacklist ?? true,
    ...(plan.configuration?.enable_international_call === false ? { enable_international_call: false } : {}),
    ...(plan.configuration?.transfer_numbers?.length ? { transfer_numbers: plan.configuration.transfer_numbers } : {}),
    max_call_seconds: plan.max_call_seconds,
    ...(doc.spend_ceilings ? { spend_ceilings: doc.spend_ceilings } : {}),
  };
}

const isFresh = (call: CallDoc): boolean =>
  call.state === "RINGING" && call.holder === undefined && call.hang_up === undefined;

/** The lead, and the call's document; null: the conversation has begun or the call is over. */
async function storeCall(deps: DialerParts, accepted: Accepted, call: InboundCall): Promise<CallDoc | null> {
  const { doc, plan, number_id, reseller_id, lead_id } = accepted;
  await deps.bus.call("leads.receive", {
    lead_id,
    call_id: call.call_id,
    provider: doc.provider,
    number_id,
    reseller_id,
    merchant_id: doc.merchant_id,
    template_id: plan.template_id,
    template: plan.name,
    template_version: plan.version,
    from: doc.from,
    to: doc.to,
    reporting_webhook_url: plan.configuration?.inbound_webhook_url ?? null,
    lease_seconds: deps.env.LEASE_SECONDS,
  });
  const now = deps.clock.now();
  // whoever calls while we call them is not turned away
  for (const alone of [true, false]) {
    const made = acceptInbound(orderOf(accepted), call, deps.nodeId, now, alone);
    if (await deps.calls.insert(made)) {
      logCall(deps, "call.inbound", made, "somebody calls us; the call is taken");
      return made;
    }
    if (await deps.calls.find(made._id)) break;
  }
  const there = await deps.calls.find(inboundRef(lead_id));
  if (!there || there.state === "VOID") fail("NOT_AVAILABLE", "The call came back after its lead had been given up.");
  return isFresh(there) ? there : null;
}

/** The first document of an XML-driven conversation, from the node that has it. */
const greetingOf = (
  { bus }: DialerParts,
  { doc: { provider } }: Accepted,
  { call_id }: InboundCall,
  at: { call_ref: string; token: string | null },
  how?: CallHow,
): Promise<XmlTurnReply> =>
  bus.call("conversation.turn", { ...at, provider, call_id, heard: null, digits: null, follows: 0 }, how);

/** How the carrier is to connect the call to its conversation. */
async function decisionFor(
  deps: DialerParts,
  accepted: Accepted,
  call: InboundCall,
  ref: string,
): Promise<InboundDecision> {
  const { doc, plan, lead_id } = accepted;
  const { provider } = doc;
  const payload = { caller_number: doc.from, called_number: doc.to };
  const carrier = deps.carriers.of(provider);
  const record = plan.configuration?.record_calls ?? false;
  const prepared = await deps.peers.prepareConversation({
    call_ref: ref,
    lead_id,
    claim_no: CLAIM_NO,
    provider,
    template_id: plan.template_id,
    template_version: plan.version,
    payload,
    max_call_seconds: plan.max_call_seconds,
    voicemail_action: "continue",
    ...carrierFacts(carrier),
    engine: plan.configuration?.engine ?? null,
    record: isRecordedByUs(deps, record),
    ttl_seconds: MEDIA_SECONDS,
  });
  const known = await deps.calls.apply(setMediaKind(ref, prepared.kind));
  const greeting =
    prepared.kind === "text" && carrier.capabilities.speech === "turns"
      ? await greetingOf(deps, accepted, call, { call_ref: ref, token: prepared.token })
      : null;
  return {
    kind: "connect",
    call_ref: ref,
    media: targetOf(prepared),
    callback_base: callbackBase(deps.env, provider),
    record: record && !(known !== null && isOwnRecording(deps, known)),
    talk_seconds: plan.max_call_seconds + CARRIER_LIMIT_MARGIN_SECONDS,
    greeting,
  };
}

/** The webhook of a call in conversation came again: an XML-driven call gets its first document again, for that may be the one that was lost. */
async function repeatedGreeting(
  deps: DialerParts,
  accepted: Accepted,
  call: InboundCall,
  ref: string,
): Promise<InboundDecision | null> {
  const { doc, plan } = accepted;
  const there = await deps.calls.find(ref);
  if (
    !there?.holder ||
    !isLive(there) ||
    there.media === "audio" ||
    deps.carriers.of(doc.provider).capabilities.speech !== "turns"
  )
    return null;
  const greeting = await greetingOf(deps, accepted, call, { call_ref: ref, token: null }, { node: there.holder });
  return {
    kind: "connect",
    call_ref: ref,
    media: { kind: "text", url: "", token: "", language: greeting.language, voice: greeting.voice },
    callback_base: callbackBase(deps.env, doc.provider),
    record: false,
    talk_seconds: plan.max_call_seconds + CARRIER_LIMIT_MARGIN_SECONDS,
    greeting,
  };
}

/** Ends what was begun for a call that can't be taken: its lead is finished. What can't be reached is found by the sweeps. */
async function giveUp(deps: DialerParts, ref: string, error: unknown): Promise<void> {
  const over = await deps.calls.apply(
    rejectInbound(ref, { code: "INBOUND_UNAVAILABLE", message: messageOf(error) }, deps.clock.now()),
  );
  if (over) await finishCall(deps, over);
}

/**
 * Accepts a call: its lead, its document, its conversation. The decision for the carrier; null: the conversation has begun or the call is over,
 * so no answer is needed.
 * Throws when it can't be taken; then nothing of it is left waiting.
 */
export async function connectInbound(
  deps: DialerParts,
  accepted: Accepted,
  call: InboundCall,
): Promise<InboundDecision | null> {
  const ref = inboundRef(accepted.lead_id);
  try {
    const made = await storeCall(deps, accepted, call);
    return await (made ? decisionFor : repeatedGreeting)(deps, accepted, call, ref);
  } catch (error) {
    deps.log.error({ call_ref: ref, error: errorForLog(error) }, "a call to us could not be taken");
    deps.background.run("ending an inbound call that could not be taken", () => giveUp(deps, ref, error));
    throw error;
  }
}
