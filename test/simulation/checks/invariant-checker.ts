import { windowState } from "../../../shared/calling-window.ts";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { NumberDoc } from "../../../services/numbers/numbers.model.ts";
import type { DeliveryDoc } from "../../../services/webhook/deliveries/deliveries.model.ts";
import type { Decision, SimCall } from "../actors/carrier.ts";
import type { Deeds } from "../actors/operators.ts";
import type { Platform, Said } from "../actors/platform.ts";
import type { Scene } from "../engine/scene.ts";

/** An invariant of reliability.md 2 that did not hold. */
export interface Violation {
  invariant: string;
  what: string;
  at: number;
}

/** A claim may be made by what was read this long ago: a pass, the memory of plans, the way to the dialer. Stand-stills come on top. */
const STALE_MS = 60_000;
/** Clocks of processes differ by up to this. */
const SKEW_MS = 1000;

/** Whether something held at any instant of a span. */
function heldWithin<T>(
  said: readonly Said<T>[] | undefined,
  from: number,
  to: number,
  holds: (v: T) => boolean,
): boolean {
  if (!said || said.length === 0) return false;
  return said.some((s, i) => s.at <= to && (said[i + 1]?.at ?? Infinity) >= from && holds(s.said));
}

/** Watches a run and judges it by the ledgers of the carrier and the receiver, the database, and what clients were told. */
export class Judge {
  readonly violations: Violation[] = [];
  readonly #scene: Scene;
  readonly #platform: Platform;

  constructor(scene: Scene, platform: Platform) {
    this.#scene = scene;
    this.#platform = platform;
    scene.carrier.onTalk = (call) => this.#oneTalk(call);
    scene.carrier.onPlaced = (call) => this.#lines(call);
  }

  broken(invariant: string, what: string): void {
    const { world } = this.#scene.stage;
    this.violations.push({ invariant, what, at: world.elapsed });
    world.tell("JUDGE", `${invariant} ${what}`);
  }

  #calls(): Map<string, CallDoc> {
    return new Map(this.#scene.database.docs<CallDoc>("calls").map((c) => [c._id, c]));
  }
  #leads(): Map<string, LeadDoc> {
    return new Map(this.#scene.database.docs<LeadDoc>("leads").map((l) => [l._id, l]));
  }

  /** I2. */
  #oneTalk(call: SimCall): void {
    const other = this.#scene.carrier.calls.find(
      (c) => c !== call && c.lead_id === call.lead_id && c.ended === null && c.talked !== null && c.talked.to === null,
    );
    if (other)
      this.broken(
        "I2",
        `lead ${call.lead_id} talks on ${other.id} (${other.ref}) and ${call.id} (${call.ref}) at once`,
      );
  }

  /** I7, while calls live: strays, whose attempt was given up before they came to be, don't count; they are hung up when they show. */
  #lines(placed: SimCall): void {
    const docs = this.#calls();
    const number = this.#scene.database.docs<NumberDoc>("numbers").find((n) => n.phone_number === placed.from);
    const counts = (c: SimCall): boolean => {
      const ended = docs.get(c.ref)?.ended;
      return ended !== "unknown" && ended !== "not_dialled" && docs.get(c.ref)?.state !== "VOID";
    };
    if (!number || !counts(placed)) return;
    const live = this.#scene.carrier.live().filter((c) => c.from === placed.from && counts(c));
    if (live.length > number.max_concurrent_calls)
      this.broken(
        "I7",
        `${number.phone_number} has ${live.length} live calls, ${number.max_concurrent_calls} allowed: ${live.map((c) => c.ref).join(" ")}`,
      );
  }

  /** True once nothing is left to do. */
  quiet(deeds: Deeds): boolean {
    return this.unfinished(deeds) === null;
  }

  /** What is not done yet; null: nothing. */
  unfinished(deeds: Deeds): string | null {
    const leads = this.#leads();
    for (const { id } of deeds.accepted) {
      const lead = leads.get(id);
      if (lead && lead.status !== "FINISHED")
        return `lead ${id} is ${lead.status}, due ${lead.due_at?.toISOString() ?? "never"}, lease ${lead.lease_until?.toISOString() ?? "none"}`;
    }
    for (const lead of leads.values()) {
      if (lead.status !== "FINISHED") return `lead ${lead._id} is ${lead.status}`;
      if (lead.report_due_at) return `the report of ${lead._id} is owed`;
    }
    const [live] = this.#scene.carrier.live();
    if (live) return `call ${live.id} is live`;
    for (const call of this.#calls().values())
      if (call.state !== "VOID" && !call.closed_at) return `call ${call._id} is ${call.state} and not closed`;
    for (const d of this.#scene.database.docs<DeliveryDoc>("deliveries"))
      if (d.state === "pending") return `delivery ${d._id} is pending until ${d.next_try_at?.toISOString() ?? "never"}`;
    return null;
  }

  /** All that can be told when all is quiet. */
  final(deeds: Deeds): void {
    this.#rings();
    this.#accepted(deeds);
    this.#reports(deeds);
    for (const decision of this.#scene.carrier.decisions) {
      this.#inWindow(decision);
      this.#notListed(decision);
      const aborted = deeds.aborted.get(decision.lead_id);
      if (aborted !== undefined && decision.at > aborted)
        this.broken(
          "I8",
          `${decision.ref} was dialled ${Math.round(decision.at - aborted)} ms after its abort was answered with success`,
        );
    }
    for (const call of this.#calls().values()) {
      if (call.joined_at && call.dial_until && call.joined_at >= call.dial_until)
        this.broken("I5", `the baton of ${call._id} was handed to a talk after the window had closed`);
    }
    this.#rates();
    this.#counts();
    const now = new Date(this.#scene.stage.world.now);
    for (const n of this.#scene.database.docs<NumberDoc>("numbers")) {
      const taken = n.slots.filter((s) => s.until > now);
      if (taken.length > 0)
        this.broken("I7", `${n.phone_number} still has lines of ${taken.map((s) => s.holder).join(" ")}`);
    }
  }

  /** I1. */
  #rings(): void {
    for (const [ref, of] of Map.groupBy(this.#scene.carrier.calls, (c) => c.ref))
      if (of.length > 1) this.broken("I1", `${ref} is in the carrier's ledger ${of.length} times`);
    for (const [ref, of] of Map.groupBy(this.#scene.carrier.decisions, (d) => d.ref))
      if (of.length > 1) this.broken("I1", `the carrier was asked ${of.length} times for ${ref}`);
  }

  /** I3. */
  #accepted(deeds: Deeds): void {
    const leads = this.#leads();
    for (const { id, tenant } of deeds.accepted) {
      const lead = leads.get(id);
      if (!lead) this.broken("I3", `lead ${id} was accepted and is nowhere`);
      else if (lead.reseller_id !== tenant.reseller_id) this.broken("I11", `lead ${id} is of another tenant`);
    }
    for (const lead of leads.values()) {
      this.#scene.stage.count(`outcome ${lead.outcome}`);
      if (lead.status !== "FINISHED" || lead.outcome === null || lead.due_at || lead.lease_until)
        this.broken(
          "I3",
          `lead ${lead._id}: status ${lead.status}, outcome ${lead.outcome}, due ${String(lead.due_at)}, lease ${String(lead.lease_until)}`,
        );
      const ends = (lead.history ?? []).filter(
        (h) => h.event === "finished" || h.event === "aborted" || h.event === "dropped" || h.event === "expired",
      );
      if (ends.length !== 1)
        this.broken("I3", `lead ${lead._id} has ended ${ends.length} times: ${ends.map((e) => e.event).join(", ")}`);
    }
  }

  /** I4. */
  #reports(deeds: Deeds): void {
    const deliveries = Map.groupBy(this.#scene.database.docs<DeliveryDoc>("deliveries"), (d) => d.lead_id);
    for (const { id, url } of deeds.accepted) {
      const own = deliveries.get(id) ?? [];
      if (own.length !== (url === null ? 0 : 1)) this.broken("I4", `lead ${id} has ${own.length} deliveries`);
      for (const d of own) {
        const got = this.#scene.receiver.received.get(d._id);
        if (d.state === "delivered" && (got?.taken ?? 0) === 0)
          this.broken("I4", `${d._id} counts as delivered and was not taken`);
        if (got && (got.bodies.size !== 1 || !got.bodies.has(d.body)))
          this.broken("I4", `${d._id} came with ${got.bodies.size} different bodies`);
      }
    }
  }

  /** `ms` before an instant, not counting spans in which somebody stood still. */
  #before(at: number, ms: number): number {
    let since = at - ms;
    for (const { from, to } of [...this.#scene.stage.pauses].sort((a, b) => b.to - a.to))
      if (to >= since && from < since + ms) since = Math.min(since, from - ms);
    return since;
  }

  /** I5: the window and the switches, as they were when the attempt was made ready. */
  #inWindow(d: Decision): void {
    const lead = this.#leads().get(d.lead_id);
    const call = this.#calls().get(d.ref);
    if (!lead) return;
    const at = new Date(d.at);
    const since = this.#before(d.at, STALE_MS);
    const open = heldWithin(
      this.#platform.configurations.get(lead.template_id),
      since,
      d.at,
      (c) =>
        c.enable_calling &&
        [at, new Date(d.at - SKEW_MS), new Date(d.at + SKEW_MS)].some(
          (t) => windowState({ start: c.call_start_time, end: c.call_end_time, zone: c.timezone }, t).open,
        ),
    );
    if (!open) this.broken("I5", `${d.ref} was dialled outside the window, or while calling was off`);
    if (call?.dial_until && call.dial_until.getTime() + SKEW_MS < d.at)
      this.broken("I5", `${d.ref} was dialled after ${call.dial_until.toISOString()}`);
    for (const id of ["", lead.merchant_id ?? ""]) {
      const said = this.#platform.paused.get(id);
      if (said && said.length > 0 && (said[0]?.at ?? 0) < since && !heldWithin(said, since, d.at, (paused) => !paused))
        this.broken("I5", `${d.ref} was dialled during a pause`);
    }
  }

  /** I10: listed before the claim. */
  #notListed(d: Decision): void {
    const listed = this.#platform.listed.get(d.to);
    const claimed = this.#leads()
      .get(d.lead_id)
      ?.history?.find((h) => h.event === "claimed" && h.details["claim_no"] === d.claim_no)
      ?.at.getTime();
    if (listed !== undefined && claimed !== undefined && listed < claimed - SKEW_MS)
      this.broken("I10", `${d.ref} dialled ${d.to}, listed ${Math.round(claimed - listed)} ms before its claim`);
  }

  /** I6. */
  #rates(): void {
    const leads = this.#leads();
    const byTemplate = Map.groupBy(this.#scene.carrier.decisions, (d) => leads.get(d.lead_id)?.template_id ?? "");
    for (const [template_id, decisions] of byTemplate) {
      const [first] = this.#platform.configurations.get(template_id) ?? [];
      const { rate_limit_enabled, rate_limit_max_calls, rate_limit_window_seconds } = first?.said ?? {
        rate_limit_enabled: false,
        rate_limit_max_calls: null,
        rate_limit_window_seconds: 0,
      };
      if (rate_limit_enabled && rate_limit_max_calls !== null)
        this.#sliding(
          decisions,
          rate_limit_max_calls,
          rate_limit_window_seconds * 1000,
          `configuration of ${template_id}`,
        );
    }
    const { callsPerSecond } = this.#scene;
    if (callsPerSecond > 0) this.#sliding(this.#scene.carrier.decisions, callsPerSecond, 1000, "carrier account");
  }

  #sliding(decisions: readonly Decision[], most: number, windowMs: number, whose: string): void {
    const times = decisions.map((d) => d.at).sort((a, b) => a - b);
    times.forEach((t, i) => {
      const earlier = times[i - most];
      if (earlier !== undefined && t - earlier < windowMs)
        this.broken(
          "I6",
          `${most + 1} dials within ${Math.round(t - earlier)} ms; ${whose} allows ${most} in ${windowMs} ms`,
        );
    });
  }

  /** I9. */
  #counts(): void {
    const calls = Map.groupBy(this.#calls().values(), (c) => c.lead_id);
    const placed = Map.groupBy(this.#scene.carrier.calls, (c) => c.lead_id);
    for (const lead of this.#leads().values()) {
      const counted = (calls.get(lead._id) ?? []).filter((c) => c.state !== "VOID" && c.ended !== "not_dialled").length;
      if (lead.attempt_count !== counted)
        this.broken("I9", `lead ${lead._id} counts ${lead.attempt_count} attempts, its intents are ${counted}`);
      const rang = (placed.get(lead._id) ?? []).length;
      if (rang > lead.attempt_count)
        this.broken("I9", `lead ${lead._id} counts ${lead.attempt_count} attempts, the carrier has ${rang} calls`);
      const max = this.#platform.configuration(lead.template_id).max_retry + 1;
      if (lead.attempt_count > max)
        this.broken("I9", `lead ${lead._id} was tried ${lead.attempt_count} times, ${max} allowed`);
    }
  }
}
