import type { ResultOf } from "../../../shared/bus/bus.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import type { InboundPlan } from "../../../shared/contracts/config.ts";
import type { SpendCeilings } from "../../../shared/contracts/records/spend.ts";
import type { RawCallback } from "../../../shared/contracts/dialer.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { sha256, uuidOf } from "../../../shared/ids.ts";
import { isShortNumber } from "../../../shared/numbering/short-number.ts";
import { maskPhone } from "../../../shared/process/log.ts";
import {
  callbackBase,
  type AnswerDocument,
  type CallbackKind,
  type CarrierPort,
  type InboundCall,
  type InboundDecision,
} from "../carriers/carrier-port.ts";
import { speakable } from "../../../shared/speakable/speakable-text.ts";
import type { InboundCallDoc } from "./inbound-calls.model.ts";
import { acceptedOf, connectInbound, inboundRef } from "./connect-inbound.ts";
import { admitLeg } from "../admission/leg-admission.ts";
import { reserveSpend } from "../spend/spend-admission.ts";
import { longestSeconds } from "../spend/spend-amounts.ts";
import { redirectRef } from "../spend/spend-settlement.ts";
import { blocked, judgeInbound, type InboundRuling } from "./inbound-gate.ts";
import type { DialerParts } from "../deps.ts";

/** A callback about an inbound call, its kind checked. */
export type InboundCallback = RawCallback & { kind: CallbackKind };

type Number = NonNullable<ResultOf<"numbers.called">["number"]>;

/** Another node that judged a call gets this long to answer it; after that it is taken for dead. */
const ANSWERING_MS = 10_000;

const idOf = (raw: InboundCallback, call: InboundCall): string => uuidOf(`${raw.provider}:${call.call_id}`);

/** The plan as it is kept: without what inbound calls have no use for, and what may hold names that a database can't. */
const storedPlan = (plan: InboundPlan | null): InboundPlan | null =>
  plan && {
    ...plan,
    configuration: plan.configuration && { ...plan.configuration, pre_checks: [], rate_limit_whitelist: [] },
  };

/** The spend ceilings that a call counts for; null: none. */
async function ceilingsOf(
  { bus }: DialerParts,
  { reseller_id, merchant_id }: Pick<InboundCallDoc, "reseller_id" | "merchant_id">,
): Promise<SpendCeilings | null> {
  const merchant_ids = merchant_id === null ? [] : [merchant_id];
  const reseller_ids = reseller_id === null ? [] : [reseller_id];
  const { ceilings = [] } = await bus.call("merchants.pauses", { merchant_ids, reseller_ids });
  const of = new Map(ceilings.map(({ id, spend_ceiling }) => [id, spend_ceiling]));
  const [merchant, reseller] = [of.get(merchant_id ?? ""), of.get(reseller_id ?? "")];
  return merchant || reseller ? { ...(merchant ? { merchant } : {}), ...(reseller ? { reseller } : {}) } : null;
}

/** The call's document with its route: whose number, which template. */
async function storeInboundCall(deps: DialerParts, raw: InboundCallback, call: InboundCall): Promise<InboundCallDoc> {
  const id = idOf(raw, call);
  const known = await deps.inboundCalls.find(id);
  if (known) return known;
  const number: Number | null = (
    await deps.bus.call("numbers.called", { phone_number: call.to, provider: raw.provider })
  ).number;
  const { plan } = number
    ? await deps.bus.call("config.inboundFor", {
        reseller_id: number.reseller_id,
        merchant_id: number.merchant_id,
        template_id: number.inbound_template_id,
      })
    : { plan: null };
  const tenant = {
    reseller_id: number?.reseller_id ?? plan?.reseller_id ?? null,
    merchant_id: number?.merchant_id ?? plan?.merchant_id ?? null,
  };
  const spend_ceilings = plan ? await ceilingsOf(deps, tenant) : null;
  return deps.inboundCalls.store({
    _id: id,
    provider: raw.provider,
    carrier_call_id: call.call_id,
    from: call.from,
    to: call.to,
    number_id: number?.id ?? null,
    ...tenant,
    template_id: plan?.template_id ?? null,
    plan: storedPlan(plan),
    ...(spend_ceilings ? { spend_ceilings } : {}),
    created_at: deps.clock.now(),
  });
}

async function isBlacklisted(deps: DialerParts, { plan, from }: InboundCallDoc): Promise<boolean> {
  if (!plan?.configuration?.enforce_blacklist || from === null) return false;
  return deps.peers.isBlacklisted({ reseller_id: plan.reseller_id, phone_number: from });
}

/** A ruling whose redirect is admitted as every other leg; else the call is rejected. */
async function withAdmittedRedirect(
  deps: DialerParts,
  { _id, plan, to, merchant_id, spend_ceilings }: InboundCallDoc,
  ruling: InboundRuling,
): Promise<InboundRuling> {
  const c = plan?.configuration;
  if (ruling.verdict !== "REDIRECTED" || !plan || !c || c.inbound_redirect_number === null) return ruling;
  const { enforce_blacklist, enable_international_call, inbound_redirect_number } = c;
  const leg = { from: to, reseller_id: plan.reseller_id, merchant_id, enforce_blacklist, enable_international_call };
  const reservation = { ref: redirectRef(inboundRef(_id)), seconds: longestSeconds(plan.max_call_seconds) };
  const spend = spend_ceilings ? { spend_ceilings, reservation } : {};
  const refused = await admitLeg(deps, { ...leg, ...spend, kind: "redirect", to: inbound_redirect_number });
  return refused === null ? ruling : { ...ruling, verdict: "REJECTED" };
}

/** A ruling whose acceptance is reserved under its spend ceilings; else the call is blocked. */
async function withReservation(deps: DialerParts, doc: InboundCallDoc, ruling: InboundRuling): Promise<InboundRuling> {
  const { _id, plan, reseller_id, merchant_id, spend_ceilings } = doc;
  if (ruling.verdict !== "ACCEPTED" || !plan || reseller_id === null || !spend_ceilings) return ruling;
  const leg = { ref: inboundRef(_id), to: null, seconds: longestSeconds(plan.max_call_seconds) };
  const reached = await reserveSpend(deps, { reseller_id, merchant_id, spend_ceilings, ...leg });
  return reached === null ? ruling : blocked(plan, doc.to, "spend_ceiling");
}

/** Judges a call once; later requests get the same verdict. `mine`: it was judged here and now. */
async function judgeOnce(deps: DialerParts, doc: InboundCallDoc): Promise<{ doc: InboundCallDoc; mine: boolean }> {
  if (doc.verdict !== undefined) return { doc, mine: false };
  const configuration = doc.plan?.configuration ?? null;
  const [listed, earlier] = await Promise.all([
    isBlacklisted(deps, doc),
    configuration && doc.from !== null
      ? deps.inboundCalls.countEarlier(doc, configuration.inbound_caller_window_seconds)
      : null,
  ]);
  const judged = judgeInbound({
    at: doc.created_at,
    to: doc.to,
    known: doc.number_id !== null,
    plan: doc.plan,
    listed,
    earlier,
  });
  const ruling = await withAdmittedRedirect(deps, doc, await withReservation(deps, doc, judged));
  const now = await deps.inboundCalls.judge(
    doc._id,
    ruling,
    ruling.verdict === "ACCEPTED" ? doc._id : null,
    deps.clock.now(),
  );
  if (now) {
    deps.log.info(
      {
        event: "inbound.judged",
        inbound_id: doc._id,
        from: doc.from && maskPhone(doc.from),
        to: maskPhone(doc.to),
        ...ruling,
      },
      "a call to us was judged",
    );
    return { doc: now, mine: true };
  }
  return { doc: (await deps.inboundCalls.find(doc._id)) ?? doc, mine: false };
}

/** The answer to a blocked call. */
function blockOf({ plan, verdict }: InboundCallDoc): InboundDecision {
  const c = plan?.configuration ?? null;
  const message = speakable(c?.inbound_block_message ?? "");
  const heard = { message: message === "" ? null : message, language: plan?.language ?? "en-US" };
  if (verdict === "REDIRECTED" && c?.inbound_redirect_number && !isShortNumber(c.inbound_redirect_number))
    return { kind: "redirect", to: c.inbound_redirect_number, ...heard };
  return { kind: "reject", ...heard };
}

/** The decision as it stands; one that can't be carried out becomes a block, for the caller waits. Null: the carrier needs no further answer. */
async function decisionOf(deps: DialerParts, doc: InboundCallDoc, call: InboundCall): Promise<InboundDecision | null> {
  const accepted = acceptedOf(doc);
  if (!accepted) return blockOf(doc);
  try {
    return await connectInbound(deps, accepted, call);
  } catch {
    const wanted = blocked(doc.plan, doc.to, "unavailable");
    const ruling = await withAdmittedRedirect(deps, doc, wanted).catch(() => ({
      ...wanted,
      verdict: "REJECTED" as const,
    }));
    return blockOf((await deps.inboundCalls.overrule(doc._id, ruling)) ?? { ...doc, ...ruling, reason: "unavailable" });
  }
}

async function answered(
  deps: DialerParts,
  carrier: CarrierPort,
  raw: InboundCallback,
  call: InboundCall,
): Promise<AnswerDocument> {
  const { doc, mine } = await judgeOnce(deps, await storeInboundCall(deps, raw, call));
  const nothing = (): AnswerDocument =>
    carrier.answerDocument(raw.kind, null, {
      callback_base: callbackBase(deps.env, raw.provider),
      call_ref: inboundRef(doc._id),
      path: raw.path,
    });
  const now = deps.clock.now();
  if (
    !mine &&
    doc.settled_at === undefined &&
    doc.judged_at !== undefined &&
    now < plusMs(doc.judged_at, ANSWERING_MS)
  ) {
    fail("BUSY", "This call is being answered on another node.");
  }
  // a carrier that takes commands has acted already; a document may have been lost on its way, so it is given again
  if (doc.settled_at !== undefined && carrier.continueInbound !== undefined) return nothing();
  const decision = await decisionOf(deps, doc, call);
  if (!decision) return nothing();
  try {
    const document = await carrier.answerInbound(call, decision);
    await deps.inboundCalls.markAnswered(doc._id, now);
    return document;
  } catch (error) {
    if (codeOf(error) !== "CALL_REFUSED") throw error;
    deps.log.warn(
      { call_ref: inboundRef(doc._id) },
      "the carrier does not take our answer to a call any more; the caller is gone",
    );
    return nothing();
  }
}

/**
 * An inbound call: stored first, judged once, answered. A repeated webhook gets the same answer.
 * DEPENDENCY_DOWN, BUSY: the carrier is to ask again.
 */
export async function answerInbound(
  deps: DialerParts,
  carrier: CarrierPort,
  raw: InboundCallback,
  call: InboundCall,
): Promise<AnswerDocument> {
  const id = idOf(raw, call);
  const underWay = deps.inboundAnswers.get(id);
  if (underWay) return underWay;
  const storeAndAnswer = async (): Promise<AnswerDocument> => {
    await deps.callbacks.store({
      _id: `${raw.provider}:${call.call_id}:${raw.kind}:${sha256(`${raw.path}\n${raw.body}`)}`,
      provider: raw.provider,
      kind: raw.kind,
      ref: inboundRef(id),
      carrier_call_id: call.call_id,
      ...(call.leg_id === null ? {} : { carrier_leg_id: call.leg_id }),
      progress: [],
      body: raw.body,
      received_at: deps.clock.now(),
      applied: true,
    });
    return answered(deps, carrier, raw, call);
  };
  const answer = storeAndAnswer();
  deps.inboundAnswers.set(id, answer);
  answer.catch(() => {
    deps.inboundAnswers.delete(id);
  });
  return answer;
}
