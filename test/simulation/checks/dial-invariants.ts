import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { callingClocks } from "../../../shared/time/calling-clocks.ts";
import { windowState } from "../../../shared/calling-window.ts";
import { zonesOf } from "../../../shared/numbering/callee-zones.ts";
import type { DialDecision } from "../actors/carrier-records.ts";
import type { Deeds } from "../actors/operators.ts";
import { DO_NOT_CALL } from "../../../shared/contracts/records/attempt.ts";
import { isRecord } from "../../../shared/json.ts";
import { decisionOf, type Platform, type Said } from "../actors/platform.ts";
import type { Scene } from "../engine/scene.ts";

/** An invariant and what broke it. */
export interface Finding {
  invariant: string;
  what: string;
}

/** A claim may be made by what was read this long ago: a pass, the memory of plans, the way to the dialler. Pauses of processes come on top. */
const STALE_MS = 60_000;
/** Clocks of processes differ by up to this. */
const SKEW_MS = 1000;

/** Whether a state held at any instant of a span. */
function heldWithin<T>(
  said: readonly Said<T>[] | undefined,
  from: number,
  to: number,
  holds: (v: T) => boolean,
): boolean {
  if (!said || said.length === 0) return false;
  return said.some((s, i) => s.at <= to && (said[i + 1]?.at ?? Infinity) >= from && holds(s.said));
}

/** `ms` before an instant, not counting spans in which a process stood still. */
function instantBefore(scene: Scene, at: number, ms: number): number {
  let since = at - ms;
  for (const { from, to } of [...scene.stage.pauses].sort((a, b) => b.to - a.to))
    if (to >= since && from < since + ms) since = Math.min(since, from - ms);
  return since;
}

/** I5: the window on every clock that counts, the switches and the pauses, as they were when the attempt was prepared. */
function windowViolations(scene: Scene, platform: Platform, d: DialDecision, lead: LeadDoc, call?: CallDoc): Finding[] {
  const found: Finding[] = [];
  const since = instantBefore(scene, d.at, STALE_MS);
  const about = [d.at, d.at - SKEW_MS, d.at + SKEW_MS].map((ms) => new Date(ms));
  const open = heldWithin(platform.configurations.get(lead.template_id), since, d.at, (c) => {
    const windows = callingClocks(c, zonesOf(d.to)).map((clock) => clock.window);
    return c.enable_calling && about.some((at) => windows.every((window) => windowState(window, at).open));
  });
  if (!open) found.push({ invariant: "I5", what: `${d.ref} was dialled outside the window, or while calling was off` });
  if (call?.dial_until && call.dial_until.getTime() + SKEW_MS < d.at)
    found.push({ invariant: "I5", what: `${d.ref} was dialled after ${call.dial_until.toISOString()}` });
  for (const id of ["", lead.merchant_id ?? ""]) {
    const said = platform.paused.get(id);
    if (said && said.length > 0 && (said[0]?.at ?? 0) < since && !heldWithin(said, since, d.at, (paused) => !paused))
      found.push({ invariant: "I5", what: `${d.ref} was dialled during a pause` });
  }
  return found;
}

/** I10: the callee was listed before the claim. */
function blacklistViolations(platform: Platform, d: DialDecision, lead: LeadDoc | undefined): Finding[] {
  const listed = platform.listed.get(d.to);
  const claimed = lead?.history
    ?.find((h) => h.event === "claimed" && h.details["claim_no"] === d.claim_no)
    ?.at.getTime();
  if (listed === undefined || claimed === undefined || listed >= claimed - SKEW_MS) return [];
  const what = `${d.ref} dialled ${d.to}, listed ${Math.round(claimed - listed)} ms before its claim`;
  return [{ invariant: "I10", what }];
}

function slidingViolations(
  decisions: readonly DialDecision[],
  most: number,
  windowMs: number,
  whose: string,
): Finding[] {
  const times = decisions.map((d) => d.at).sort((a, b) => a - b);
  return times.flatMap((t, i) => {
    const earlier = times[i - most];
    if (earlier === undefined || t - earlier >= windowMs) return [];
    const what = `${most + 1} dials within ${Math.round(t - earlier)} ms; ${whose} allows ${most} in ${windowMs} ms`;
    return [{ invariant: "I6", what }];
  });
}

/** I6: the rate limits of configurations and of the carrier's account. */
function rateViolations(scene: Scene, platform: Platform, leads: ReadonlyMap<string, LeadDoc>): Finding[] {
  const { callsPerSecond, carrier } = scene;
  const byTemplate = Map.groupBy(carrier.decisions, (d) => leads.get(d.lead_id)?.template_id ?? "");
  const ofConfigurations = [...byTemplate].flatMap(([template_id, decisions]) => {
    const c = platform.configurations.get(template_id)?.[0]?.said;
    if (!c?.rate_limit_enabled || c.rate_limit_max_calls === null) return [];
    const windowMs = c.rate_limit_window_seconds * 1000;
    return slidingViolations(decisions, c.rate_limit_max_calls, windowMs, `configuration of ${template_id}`);
  });
  const ofAccount =
    callsPerSecond > 0 ? slidingViolations(carrier.decisions, callsPerSecond, 1000, "carrier account") : [];
  return [...ofConfigurations, ...ofAccount];
}

/** I15: an attempt before this one ended with a word that its conversation decided, and retry_on does not name it. */
function decisionViolations(platform: Platform, d: DialDecision, lead: LeadDoc | undefined): Finding[] {
  const retry_on = platform.tenants.find((t) => t.template.id === lead?.template_id)?.template.retry_on ?? [];
  const word = decisionOf(platform, lead?.template_id);
  const decided = lead?.history?.find(
    ({ details: { claim_no, outcome, talk } }) =>
      typeof claim_no === "number" && claim_no < d.claim_no && isRecord(talk) && outcome === word,
  );
  if (word === undefined || decided === undefined || retry_on.includes(word)) return [];
  return [{ invariant: "I15", what: `${d.ref} was dialled although an attempt before had decided ${word}` }];
}

/** I20: before the claim, an attempt of the same merchant was settled whose callee, of this number, had asked not to be called again. */
function wishViolations(leads: ReadonlyMap<string, LeadDoc>, d: DialDecision, lead: LeadDoc | undefined): Finding[] {
  const claimed = lead?.history?.find((h) => h.event === "claimed" && h.details["claim_no"] === d.claim_no)?.at;
  if (!lead || !claimed) return [];
  const asked = [...leads.values()].find(
    (l) =>
      l.merchant_id === lead.merchant_id &&
      l.phone_number === d.to &&
      l.outcome === DO_NOT_CALL &&
      (l.finished_at?.getTime() ?? Infinity) < claimed.getTime() - SKEW_MS,
  );
  return asked ? [{ invariant: "I20", what: `${d.ref} was dialled although ${asked._id} had heard not to call` }] : [];
}

/** What broke the invariants of single dials: windows and pauses (I5), limits (I6), aborts (I8), the blacklist (I10), decisions (I15), wishes (I20). */
export function dialViolations(scene: Scene, platform: Platform, deeds: Deeds): Finding[] {
  const leads = new Map(scene.database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  const calls = new Map(scene.database.docs<CallDoc>("calls").map((c) => [c._id, c]));
  const found = scene.carrier.decisions.flatMap((d) => {
    const lead = leads.get(d.lead_id);
    const inWindow = lead ? windowViolations(scene, platform, d, lead, calls.get(d.ref)) : [];
    const aborted = deeds.aborted.get(d.lead_id);
    const late = aborted !== undefined && d.at > aborted ? Math.round(d.at - aborted) : null;
    const what = `${d.ref} was dialled ${late} ms after its abort was answered with success`;
    return [
      ...inWindow,
      ...blacklistViolations(platform, d, lead),
      ...decisionViolations(platform, d, lead),
      ...wishViolations(leads, d, lead),
      ...(late === null ? [] : [{ invariant: "I8", what }]),
    ];
  });
  return [...found, ...rateViolations(scene, platform, leads)];
}
