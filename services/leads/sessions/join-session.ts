import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { isSessionMode } from "../../../shared/contracts/records/lead.ts";
import type { SessionAccess, SessionPlan } from "../../../shared/contracts/records/session.ts";
import { fail } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { errorForLog } from "../../../shared/process/log.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { LeadDeps } from "../deps.ts";
import type { LeadDoc } from "../leads.model.ts";
import { leadFor } from "../lists/lead-queries.ts";
import { toWaiting } from "../lists/lead-views.ts";
import * as machine from "../rules/lead-state-machine.ts";

/** What joining a session needs. */
export type SessionDeps = LeadDeps & Pick<ServiceDeps, "env">;
type Joined = ResultOf<"leads.join">;

/** Nobody is called, so nobody is called again. */
const NEVER_RETRIED = { max_retry: 0, retry_offset: 0, retry_on: [] };
/** Another client is joining at this moment. */
const AGAIN_SECONDS = 1;

/** Refuses a lead whose mode or state has no session to join. WRONG_MODE, SESSION_OVER. */
export function refuse({ execution_mode, status, outcome }: LeadDoc): void {
  if (!isSessionMode(execution_mode))
    fail(
      "WRONG_MODE",
      `A lead of mode ${execution_mode} is dialled; only sessions (RTC, RTC_TEST, RTC_STREAM) are joined.`,
    );
  if (status === "FINISHED") fail("SESSION_OVER", `The lead is finished${outcome === null ? "" : ` (${outcome})`}.`);
}

/** Ends a lead that may not be joined any more, as the scheduler ends those that it dials. */
async function dropped(
  { clock, leads, onFinished }: SessionDeps,
  lead: LeadDoc,
  { gate, outcome, detail }: ResultOf<"scheduler.admitSession">,
): Promise<never> {
  const seen = { lead_id: lead._id, due_at: null };
  const ended = await leads.transition(machine.drop(seen, lead, outcome ?? "failed", detail, clock.now()));
  if (ended) onFinished(ended);
  return fail(gate === "blacklist" ? "NUMBER_BLACKLISTED" : "SESSION_OVER", `The lead is over: ${detail}.`);
}

/** What the session is led with, if the gates let it begin. SESSION_HELD, NUMBER_BLACKLISTED, SESSION_OVER. */
async function admit(deps: SessionDeps, bus: Bus, lead: LeadDoc): Promise<SessionPlan> {
  const ruling = await bus.call("scheduler.admitSession", { lead: toWaiting(lead) });
  if (ruling.plan) return ruling.plan;
  return ruling.verdict === "dropped" ? dropped(deps, lead, ruling) : fail("SESSION_HELD", ruling.detail);
}

/** Who joins. `holder`: the hash of the secret of the tab that does. `via`: the one way in which its media can travel. */
interface JoinedBy {
  holder?: string;
  via?: "websocket";
}
const viaOf = ({ via }: JoinedBy) => (via === undefined ? {} : { via });

/** The claimed lead's session, waiting for its client; where that can't be had, the claim is released. */
async function open(deps: SessionDeps, bus: Bus, lead: LeadDoc, plan: SessionPlan, by: JoinedBy): Promise<Joined> {
  const { clock, leads, log } = deps;
  const lease = { lead_id: lead._id, claim_no: lead.claim_no + 1 };
  const { reseller_id, merchant_id, template_id, execution_mode, payload } = lead;
  const whose = { reseller_id, merchant_id, template_id, execution_mode };
  try {
    const access = await bus.call("dialer.openSession", { ...lease, ...whose, payload, ...viaOf(by), ...plan });
    log.info({ event: "session.opened", ...lease, mode: execution_mode }, "a client may join the lead's session");
    return joinedBy(access);
  } catch (error) {
    const now = clock.now();
    const claimed = { ...lead, attempt_count: lead.attempt_count + 1 };
    await leads.transition(machine.release(lease, claimed, now, "session_not_opened", now));
    log.warn({ event: "session.not_opened", ...lease, error: errorForLog(error) }, "a session could not be opened");
    throw error;
  }
}

const joinedBy = ({ transport = "websocket", ...access }: SessionAccess): Joined => ({ transport, ...access });

/** Claims a lead for its session, or lets a client into the one that waits or is under way. */
export async function enterSession(deps: SessionDeps, bus: Bus, lead: LeadDoc, by: JoinedBy = {}): Promise<Joined> {
  refuse(lead);
  if (lead.status === "PROCESSING") {
    const call_ref = callRef(lead._id, lead.claim_no);
    return joinedBy(await bus.call("dialer.rejoinSession", { call_ref, ...viaOf(by) }));
  }
  return beginSession(deps, bus, lead, await admit(deps, bus, lead), by);
}

/** Claims an admitted lead for its session, and opens it. BUSY; what opening is refused with: then the lead waits on. */
export async function beginSession(
  deps: SessionDeps,
  bus: Bus,
  lead: LeadDoc,
  plan: SessionPlan,
  by: JoinedBy,
): Promise<Joined> {
  const { clock, leads, env } = deps;
  const now = clock.now();
  const attempt = {
    number_id: null,
    provider: null,
    template_version: plan.template_version,
    policy: NEVER_RETRIED,
    claimed_at: now,
  };
  const lease_until = plusSeconds(now, env.LEASE_SECONDS);
  const claimed = await leads.transition(machine.join(lead, attempt, lease_until, now, by.holder));
  if (!claimed)
    fail("BUSY", "Another client is joining this session at this moment; try again.", {
      retry_after_seconds: AGAIN_SECONDS,
    });
  return open(deps, bus, lead, plan, by);
}

/** POST /leads/{lead_id}/join. */
export const joinSession = async (
  deps: SessionDeps,
  bus: Bus,
  { by, lead_id }: ParamsOf<"leads.join">,
): Promise<Joined> => enterSession(deps, bus, await leadFor(deps, by, lead_id));

/** POST /leads/{lead_id}/tts-speak: has a text spoken in a session that its client leads. */
export async function speakInSession(
  deps: Pick<SessionDeps, "leads">,
  bus: Bus,
  { by, lead_id, ...request }: ParamsOf<"leads.speak">,
): Promise<ResultOf<"leads.speak">> {
  const lead = await leadFor(deps, by, lead_id);
  if (lead.execution_mode !== "RTC_STREAM")
    fail(
      "WRONG_MODE",
      `Only the client of a lead of mode RTC_STREAM has texts spoken; this one is ${lead.execution_mode}.`,
    );
  refuse(lead);
  if (lead.status !== "PROCESSING") fail("SESSION_NOT_LIVE", "Nobody has joined the session yet.");
  return bus.call("dialer.speak", { call_ref: callRef(lead._id, lead.claim_no), ...request });
}

/** Session leads that are ended in one pass. */
const BATCH = 100;

/** One pass over session leads that nobody joined in time: they end EXPIRED. True when there were as many as one pass takes. */
export async function expireUnjoined({ clock, leads, onFinished }: LeadDeps): Promise<boolean> {
  const now = clock.now();
  const late = await leads.unjoined(now, BATCH);
  if (late.length === 0) return false;
  const ended = await leads.transitionMany(
    late.map((lead) =>
      machine.drop({ lead_id: lead._id, due_at: null }, lead, "EXPIRED", "no client joined in time", now),
    ),
  );
  for (const lead of ended) if (lead) onFinished(lead);
  return late.length === BATCH;
}
