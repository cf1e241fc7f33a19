import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { MEDIA_TOKEN_SECONDS, type SessionPlan } from "../../../shared/contracts/records/session.ts";
import { unstorableIn } from "../../../shared/database/storable.ts";
import { codeOf, fail } from "../../../shared/errors.ts";
import { sha256 } from "../../../shared/ids.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { LeadDoc, NewLead } from "../leads.model.ts";
import { toWaiting } from "../lists/lead-views.ts";
import { documentOf, PHONE } from "../push/lead-document.ts";
import * as machine from "../rules/lead-state-machine.ts";
import { LINK_BYTES, SECRET_BYTES, type LinkDeps } from "./join-link.ts";
import { beginSession } from "./join-session.ts";

type Door = ResultOf<"config.resolveDoor">;

/** Variables that say whom we call and where we report: never a visitor's to give. */
const NOT_A_VISITORS = [PHONE, "reporting_webhook_url"] as const;

/** What a visitor is told of everything that holds a session: nothing of the tenant. */
const held = (): never => fail("SESSION_HELD", "Calls are not taken at the moment.");

/** PAYLOAD_INVALID for variables that no page may give. */
function refuseVariables(variables: Record<string, unknown>): void {
  const name = NOT_A_VISITORS.find((one) => Object.hasOwn(variables, one));
  const issue = name
    ? { path: `variables.${name}`, message: "is not a variable that a page may give" }
    : unstorableIn(variables, "variables");
  if (issue) fail("PAYLOAD_INVALID", `${issue.path} ${issue.message}.`, { errors: [issue] });
}

/** The lead of a visitor: inbound, with as much time to be joined as a media token has. */
function visitorsLead(
  { ids, clock }: LinkDeps,
  { door_id, merchant_id, template, reporting_webhook_url }: Door,
  { origin, variables }: ParamsOf<"leads.callByDoor">,
  link: string,
): NewLead {
  const now = clock.now();
  const pushed = {
    reseller_id: template.reseller_id,
    template_id: template.template_id,
    request_id: `door:${door_id}`,
    payload: variables,
    execution_mode: "RTC" as const,
    ...(reporting_webhook_url === null ? {} : { reporting_webhook_url }),
  };
  return {
    ...documentOf(ids.uuid(), merchant_id, pushed, template, null, now),
    call_direction: "INBOUND",
    join_by: plusSeconds(now, MEDIA_TOKEN_SECONDS),
    link_hash: sha256(link),
    meta: { door: { id: door_id, origin } },
  };
}

/** What the session is led with, if the gates let it begin. SESSION_HELD. */
async function admitted({ log }: LinkDeps, bus: Bus, lead: LeadDoc, door_id: string): Promise<SessionPlan> {
  const { plan, gate, detail } = await bus.call("scheduler.admitSession", { lead: toWaiting(lead) });
  if (plan) return plan;
  log.info({ event: "door.held", door_id, gate, detail }, "a visitor's call is not taken");
  return held();
}

/** Ends a lead whose session could not begin: its visitor was told so, and nobody waits. */
async function notBegun({ clock, leads, onFinished }: LinkDeps, lead: LeadDoc, error: unknown): Promise<never> {
  const why = `the session could not begin: ${codeOf(error)}`;
  const ended = await leads.transition(
    machine.drop({ lead_id: lead._id, due_at: null }, lead, "failed", why, clock.now()),
  );
  if (ended) onFinished(ended);
  // a ceiling that leaves no room is the tenant's own affair
  if (codeOf(error) === "SESSION_HELD") return held();
  throw error;
}

/** A visitor of a website calls through a door. DOOR_NOT_FOUND, FORBIDDEN, PAYLOAD_INVALID, RATE_LIMITED, SESSION_HELD, BUSY, NOT_AVAILABLE, STORE_UNAVAILABLE. */
export async function callByDoor(
  deps: LinkDeps,
  bus: Bus,
  call: ParamsOf<"leads.callByDoor">,
): Promise<ResultOf<"leads.callByDoor">> {
  const { key, origin, variables } = call;
  refuseVariables(variables);
  const door = await bus.call("config.resolveDoor", { key, origin, payload: variables });
  const [link, resume] = [deps.ids.base64url(LINK_BYTES), deps.ids.base64url(SECRET_BYTES)];
  const lead = visitorsLead(deps, door, call, link);
  const plan = await admitted(deps, bus, lead, door.door_id);
  await bus.call("config.countDoor", { door_id: door.door_id, origin });
  const [written] = await deps.leads.insert([lead]);
  if (written !== "written") fail("STORE_UNAVAILABLE", "The call could not be written; try again.");
  await beginSession(deps, bus, lead, plan, { holder: sha256(resume) }).catch((error: unknown) =>
    notBegun(deps, lead, error),
  );
  deps.log.info({ event: "lead.called_in", lead_id: lead._id, door_id: door.door_id }, "a visitor calls: lead made");
  return {
    url: `${deps.env.PUBLIC_HTTP_URL}/r/${link}`,
    expires_at: (lead.join_by ?? deps.clock.now()).toISOString(),
    resume,
  };
}
