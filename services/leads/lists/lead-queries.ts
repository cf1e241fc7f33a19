import type { Bus, ParamsOf, ResultOf, ServiceDeps } from "../../../shared/bus/bus.ts";
import { scopeOf, type By } from "../../../shared/contracts/records/identity.ts";
import { recordAudit } from "../../../shared/audit.ts";
import { timedCache, type Cache } from "../../../shared/cache.ts";
import { fail } from "../../../shared/errors.ts";
import { isUuid } from "../../../shared/ids.ts";
import { readPage } from "../../../shared/page.ts";
import { parseFilter } from "./lead-filters.ts";
import { explainLeftOut } from "../push/playground-override.ts";
import { explainInbound } from "../attempts/inbound-lead.ts";
import { toRecord, toSummary, toWaiting } from "./lead-views.ts";
import type { LeadDoc } from "../leads.model.ts";
import type { LeadsRepository } from "../leads.repository.ts";
import type { LeadCounters } from "../retention/lead-counters.repository.ts";
import { GROUPING, MAX_GROUPS, periodOf, summaryOf, type Group } from "./lead-summary.ts";
import { timelineOf } from "./lead-timeline.ts";

/** Of an asker that reads no further pages. */
const MAX_LEADS_AT_ONCE = 1000;
const SUMMARY_MAX_MS = 15_000;
/** MongoDB's MaxTimeMSExpired. */
const TOOK_TOO_LONG = 50;

const notFound = (): never => fail("LEAD_NOT_FOUND", "no lead with this id was found");

/** Characters of carriers' call ids; any other text is no call id. */
const CALL_ID = /^[\x21-\x7e]{1,200}$/;
/** A recording on its way is asked for again after this long. */
const NOT_READY_SECONDS = 15;

/** The location of a recording, or why there is none. RECORDING_NOT_FOUND, RECORDING_NOT_READY, RECORDING_FAILED. */
export function readable({
  state,
  key,
  content_type,
  bytes,
  where,
}: NonNullable<ResultOf<"dialer.recordingOf">["recording"]>): ResultOf<"leads.recording"> {
  if (key !== null && content_type !== null && bytes !== null && where !== null)
    return { key, content_type, bytes, where };
  if (state === "failed")
    fail("RECORDING_FAILED", "the carrier did not give this call's recording, however often it was asked for");
  if (state !== "wanted" && state !== "fetching") fail("RECORDING_NOT_FOUND", "this call was not recorded");
  return fail(
    "RECORDING_NOT_READY",
    "the call is being recorded, or its recording is on its way; ask again a little later",
    { retry_after_seconds: NOT_READY_SECONDS },
  );
}

/** What queries need of the service. */
export interface QueryDeps extends Pick<ServiceDeps, "clock" | "env"> {
  leads: LeadsRepository;
}

/** A lead of the asker's scope. LEAD_NOT_FOUND. */
export async function leadFor({ leads }: Pick<QueryDeps, "leads">, by: By, lead_id: string): Promise<LeadDoc> {
  return (isUuid(lead_id) ? await leads.byId(scopeOf(by), lead_id.toLowerCase()) : null) ?? notFound();
}

/** One lead of the asker's scope. */
export const get = async (deps: QueryDeps, { by, lead_id }: ParamsOf<"leads.get">): Promise<ResultOf<"leads.get">> =>
  toRecord(await leadFor(deps, by, lead_id));

/** The leads of a request_id: a page of them, or the newest. */
export async function byRequest(
  { leads }: QueryDeps,
  { by, request_id, limit, cursor }: ParamsOf<"leads.byRequest">,
): Promise<ResultOf<"leads.byRequest">> {
  const { items, next_cursor } = await readPage(
    { limit: limit ?? MAX_LEADS_AT_ONCE, cursor },
    (after, size) => leads.byRequest(scopeOf(by), request_id, after, size),
    toSummary,
  );
  if (items.length === 0 && cursor === undefined) fail("LEAD_NOT_FOUND", "no lead with this request_id was found");
  return { request_id, count: items.length, leads: items, ...(limit === undefined ? {} : { next_cursor }) };
}

/** A page of leads, newest first. */
export async function list(
  { leads }: QueryDeps,
  { by, limit, cursor, ...asked }: ParamsOf<"leads.list">,
): Promise<ResultOf<"leads.list">> {
  const filter = parseFilter(asked);
  const { items, next_cursor } = await readPage(
    { limit, cursor },
    (after, size) => leads.page(scopeOf(by), filter, after, size),
    toSummary,
  );
  return { count: items.length, leads: items, next_cursor };
}

/** Everything recorded of a lead, by every service. */
export async function timeline(
  { leads }: QueryDeps,
  bus: Bus,
  { by, lead_id }: ParamsOf<"leads.timeline">,
): Promise<ResultOf<"leads.timeline">> {
  const lead = (isUuid(lead_id) ? await leads.withHistory(scopeOf(by), lead_id.toLowerCase()) : null) ?? notFound();
  const [calls, { deliveries }] = await Promise.all([
    bus.call("dialer.history", { lead_id: lead._id }),
    bus.call("webhook.deliveries", { lead_id: lead._id }),
  ]);
  const events = timelineOf({ lead, calls, deliveries });
  return { lead_id: lead._id, count: events.length, events };
}

/** No lead has this id: it is read to see whether the database answers. */
const NO_LEAD = "-";

/** Answers where the database does, and says the time. STORE_UNAVAILABLE. */
export async function reachable({
  leads,
  clock,
  storeClock,
}: { leads: LeadsRepository } & Pick<ServiceDeps, "clock" | "storeClock">): Promise<ResultOf<"leads.reachable">> {
  await leads.existing([NO_LEAD]);
  const held = storeClock.held();
  return {
    now: clock.now().toISOString(),
    ...(storeClock.known() ? {} : { clock_unknown: true }),
    ...(held ? { clock_ahead_ms: held.ahead_ms } : {}),
  };
}

/** Parked leads counted for the readiness of a deployment, which is asked for often. */
const MAX_PARKED_COUNTED = 10_000;

/** How many leads are parked, and the commonest code of their faults. */
export async function parked({ leads }: { leads: LeadsRepository }): Promise<ResultOf<"leads.parked">> {
  const codes = await leads.parkedByCode(MAX_PARKED_COUNTED);
  const [commonest] = codes.toSorted((a, b) => b.count - a.count);
  return { count: codes.reduce((sum, { count }) => sum + count, 0), code: commonest?.code ?? null };
}

/** Figures of the leads of a period: of those that there are, and of those that have ended. TIMEOUT where there are too many of them. */
export async function summary(
  { clock, counters, env, leads }: QueryDeps & { counters: Pick<LeadCounters, "figures"> },
  { by, from, to, ...owned }: ParamsOf<"leads.summary">,
): Promise<ResultOf<"leads.summary">> {
  const period = periodOf(
    { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) },
    clock.now(),
  );
  const [scope, filter] = [scopeOf(by), { ...owned, ...period }];
  const groups = await Promise.all([
    leads.figures<Group>(scope, filter, GROUPING, SUMMARY_MAX_MS),
    counters.figures(scope, filter, MAX_GROUPS + 1, SUMMARY_MAX_MS),
  ]).catch((error: unknown) => {
    if (error instanceof Error && "code" in error && error.code === TOOK_TOO_LONG)
      return fail(
        "TIMEOUT",
        "there are too many leads in the period to sum up in time; ask for a shorter one, or for one template",
      );
    throw error;
  });
  return summaryOf(groups.flat(), period, env.COST_CURRENCY);
}

/** Why a lead has not been called yet. */
export async function explain(
  deps: QueryDeps,
  bus: Bus,
  { by, lead_id, at }: ParamsOf<"leads.explain">,
): Promise<ResultOf<"leads.explain">> {
  const doc = await leadFor(deps, by, lead_id);
  if (doc.call_direction === "INBOUND") return explainInbound(doc, at ?? deps.clock.now().toISOString());
  const lead = toWaiting(doc);
  const asked = { lead, ...(at === undefined ? {} : { at }) };
  const judged = explainLeftOut(await bus.call("scheduler.explain", asked), doc.meta);
  const { configurations } = await bus
    .call("config.listConfigurations", { by, template_id: doc.template_id, limit: 1 })
    // why a lead waits is known without them
    .catch(() => ({ configurations: [] }));
  const warnings = configurations[0]?.warnings;
  return warnings === undefined ? judged : { ...judged, warnings };
}

/** Who downloaded what lately: a player asks for a recording piece by piece, which is one entry of the audit log. */
export interface Downloads {
  log: ServiceDeps["log"];
  downloads: Cache<true>;
}

/** Downloads of the last ten minutes, of which one more by the same asker is no new entry. */
export const recentDownloads = (): Downloads["downloads"] => timedCache({ ttlSeconds: 600, max: 10_000 });

async function noteDownload(
  { log, downloads }: Downloads,
  bus: Bus,
  by: By,
  call_sid: string,
  { _id, reseller_id, merchant_id }: LeadDoc,
): Promise<void> {
  const key = `${by.id} ${call_sid}`;
  if (downloads.get(key)) return;
  downloads.set(key, true);
  const entry = { by, action: "recording.downloaded", subject: call_sid, reseller_id, merchant_id };
  await recordAudit({ log }, bus, { ...entry, details: { lead_id: _id } });
}

const LIKE_A_LEAD =
  ", which looks like a lead's id: a recording is asked for by the lead's call_id, which GET /leads/{lead_id} shows";

/** Where the recording of a call is. Who asked for it is in the audit log. */
export async function recording(
  deps: QueryDeps & Downloads,
  bus: Bus,
  { by, call_sid }: ParamsOf<"leads.recording">,
): Promise<ResultOf<"leads.recording">> {
  const { recording: found } = CALL_ID.test(call_sid)
    ? await bus.call("dialer.recordingOf", { call_id: call_sid })
    : { recording: null };
  const lead = found && (await deps.leads.byId(scopeOf(by), found.lead_id));
  if (!lead)
    return fail("RECORDING_NOT_FOUND", `No call of yours has this call_id${isUuid(call_sid) ? LIKE_A_LEAD : ""}.`);
  const where = readable(found);
  await noteDownload(deps, bus, by, call_sid, lead);
  return where;
}
