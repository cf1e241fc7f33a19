import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import type { NumberDoc } from "../../../services/numbers/numbers.model.ts";
import type { DeliveryDoc } from "../../../services/webhook/deliveries/deliveries.model.ts";
import { DECISION_CODES } from "../../../shared/contracts/records/attempt.ts";
import { callRef } from "../../../shared/ids.ts";
import { isRecord } from "../../../shared/json.ts";
import type { SimCall } from "../actors/carrier-records.ts";
import type { Deeds } from "../actors/operators.ts";
import type { Platform } from "../actors/platform.ts";
import type { Scene } from "../engine/scene.ts";
import { calleeCapViolations } from "./callee-caps.ts";
import { numberOwnerViolations } from "./number-owners.ts";
import { otherCallViolations } from "./other-calls.ts";
import { spendCeilingViolations, spendLedgerViolations } from "./spend-ceilings.ts";
import { dialViolations, type Finding } from "./dial-invariants.ts";

/** An invariant of docs/reliability.md that did not hold, and when, in ms since the run began. */
export interface Violation extends Finding {
  at: number;
}

/** Outcomes that are decided without dialling. */
const DECIDED = new Set(["ABORTED", "EXPIRED", "BLACKLISTED", "INTERNATIONAL_BLOCKED", "NUMBER_UNAVAILABLE", "PRECHECK_FAILED", "INVALID_NUMBER"]); // prettier-ignore
/** How long a process that stood still may take to answer again, ms. */
const STILL_MS = 15_000;
/** The deployment's time is so right at least, ms. */
const SIGNED_WITHIN_MS = 5000;

/** Checks a run by the ledgers of the carrier and the receiver, the database, and what clients were answered. */
export class InvariantChecker {
  readonly violations: Violation[] = [];
  readonly #scene: Scene;
  readonly #platform: Platform;

  constructor(scene: Scene, platform: Platform) {
    this.#scene = scene;
    this.#platform = platform;
    scene.carrier.onTalk = (call) => this.#oneTalk(call);
    scene.carrier.onPlaced = (call) => {
      this.#slots(call);
      this.#all(otherCallViolations(scene, call));
    };
    scene.receiver.onSent = (id, ahead_ms) => {
      if (Math.abs(ahead_ms) > SIGNED_WITHIN_MS) this.broken("I18", `${id} is signed ${Math.round(ahead_ms)} ms ahead`);
    };
    scene.database.onPut = (collection, doc, old) => {
      if (collection !== "numbers") return;
      // the collection is the numbers service's
      this.#all(numberOwnerViolations(scene, doc as unknown as NumberDoc, old as unknown as NumberDoc | null));
    };
    scene.carrier.onHangUp = (call) => this.#cut(call);
  }

  broken(invariant: string, what: string): void {
    const { world } = this.#scene.stage;
    this.violations.push({ invariant, what, at: world.elapsed });
    world.tell("JUDGE", `${invariant} ${what}`);
  }

  #all(found: readonly Finding[]): void {
    for (const { invariant, what } of found) this.broken(invariant, what);
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

  /** I7, while calls live. Strays, whose attempt ended before they came to be, don't count; they are hung up when they show. */
  #slots(placed: SimCall): void {
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

  /** Checks single dials: windows, limits, aborts, the blacklist. */
  dials(deeds: Deeds): void {
    this.#all(dialViolations(this.#scene, this.#platform, deeds));
    this.#all([...calleeCapViolations(this.#scene, this.#platform), ...spendCeilingViolations(this.#scene)]);
  }

  /** I13. An owner that stood still a moment ago could not say that it lives. */
  #cut(call: SimCall): void {
    const { stage, processes } = this.#scene;
    if (this.#calls().get(call.ref)?.hang_up !== "conversation_lost" || call.leg?.alive !== true) return;
    const owner = processes.find(({ name }) => name === call.leg?.process);
    if (!owner || owner.pausedUntil > stage.world.now - STILL_MS) return;
    this.broken("I13", `${call.ref} is hung up while ${owner.name} leads its conversation`);
  }

  /** Checks what can be checked when nothing is left to do. */
  final(deeds: Deeds): void {
    this.#rings();
    this.#accepted(deeds);
    this.#reports(deeds);
    this.dials(deeds);
    for (const call of this.#calls().values()) {
      if (call.joined_at && call.dial_until && call.joined_at >= call.dial_until)
        this.broken("I5", `the call ${call._id} was joined by a conversation after the window had closed`);
    }
    this.#counts();
    this.#all(spendLedgerViolations(this.#scene));
    this.#undialled();
    this.#enders();
    const now = new Date(this.#scene.stage.world.now);
    for (const n of this.#scene.database.docs<NumberDoc>("numbers")) {
      const taken = n.slots.filter((s) => s.until > now);
      if (taken.length > 0)
        this.broken("I7", `${n.phone_number} still has slots of ${taken.map((s) => s.holder).join(" ")}`);
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

  /** I14. */
  #undialled(): void {
    for (const lead of this.#leads().values()) {
      const code = [lead.meta["errors"]]
        .flat()
        .flatMap((e) => (isRecord(e) ? [String(e["code"])] : []))
        .at(-1);
      const decided =
        DECIDED.has(lead.outcome ?? "") ||
        (lead.outcome === "failed" && (lead.meta["drop_reason"] !== undefined || DECISION_CODES.includes(code ?? "")));
      if (lead.status === "FINISHED" && lead.attempt_count === 0 && !decided)
        this.broken("I14", `lead ${lead._id} ended ${lead.outcome} (${code ?? "no error"}) and was never dialled`);
    }
  }

  /** I16. */
  #enders(): void {
    const placed = Map.groupBy(this.#scene.carrier.calls, (c) => c.ref);
    for (const lead of this.#leads().values())
      for (const { details } of lead.history ?? []) {
        const call = placed.get(callRef(lead._id, Number(details["claim_no"])))?.[0];
        const source = details["hangup_source"];
        const by = isRecord(source) ? String(source["by"]) : "";
        if (!call || call.answered === null || call.ended_by === "callee") continue;
        if (by === "callee" || details["outcome"] === "customer_hangup")
          this.broken("I16", `${call.ref} is ${String(details["outcome"])}, by ${by}; ${call.ended_by} ended it`);
      }
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
