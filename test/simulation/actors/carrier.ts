import type { CarrierEnd } from "../../../shared/contracts/records/attempt.ts";
import { parseCallRef } from "../../../shared/ids.ts";
import type { CallProgress, CarrierCall, DialRequest } from "../../../services/dialer/carriers/carrier-port.ts";
import type { Stage } from "../engine/process.ts";
import {
  carrierRecord,
  carrierTime,
  endProgress,
  type DialDecision,
  type SimCall,
  type SimEnder,
} from "./carrier-records.ts";

/** What the person called does. */
export interface Person {
  what: "answers" | "machine" | "no_answer" | "busy" | "failed";
  after: number;
  talks: number;
}

/** How often people do what, in tenths. */
const BEHAVIOURS = [
  "answers",
  "answers",
  "answers",
  "answers",
  "answers",
  "machine",
  "no_answer",
  "no_answer",
  "busy",
  "failed",
] as const;

const VISIBLE_AFTER_MS = 3000;
const CLOCK_TOLERANCE_MS = 3000;
const QUEUED_MAX_MS = 60_000;
const LATE_MAX_MS = 120_000;
const MEDIA_CONNECT_MS = 15_000;
const OWN_NUMBERS = /^\+1415555019[0-4]$/;

/** How the carrier reaches us: by a callback to the gateway, by a media socket to the process with the media port. */
export interface CarrierReach {
  callback(call: SimCall, kind: "status" | "amd", told: number, progress: CallProgress): void;
  media(call: SimCall): void;
}

/** Whether a number is one of the account's. */
export const isHeld = (phone_number: string): boolean => OWN_NUMBERS.test(phone_number);

/** The carrier and the people behind its numbers. */
export class Carrier {
  readonly calls: SimCall[] = [];
  readonly decisions: DialDecision[] = [];
  /** Who answers the next call; null: whoever chance sends. */
  person: Person | null = null;
  reach: CarrierReach = { callback: () => undefined, media: () => undefined };
  /** Called when a call is placed and when a conversation begins, for the invariants. */
  onPlaced: (call: SimCall) => void = () => undefined;
  onTalk: (call: SimCall) => void = () => undefined;
  /** Called when a live call is to be hung up at our request. */
  onHangUp: (call: SimCall) => void = () => undefined;
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  decide(request: DialRequest, by: string): void {
    const attempt = parseCallRef(request.call_ref) ?? { lead_id: "", claim_no: 0 };
    this.decisions.push({
      ref: request.call_ref,
      ...attempt,
      to: request.to,
      from: request.from,
      at: this.#stage.world.now,
      by,
    });
    this.#stage.world.tell(by, `DIALS ${request.call_ref}`);
  }

  place(request: DialRequest): SimCall {
    const { world, faults } = this.#stage;
    const id = `CA${String(this.calls.length + 1).padStart(4, "0")}`;
    const call: SimCall = {
      id,
      ref: request.call_ref,
      lead_id: parseCallRef(request.call_ref)?.lead_id ?? "",
      to: request.to,
      from: request.from,
      created: world.now,
      ringing: null,
      answered: null,
      ended: null,
      end: null,
      ended_by: null,
      machine: null,
      ring_ms: request.ring_seconds * 1000,
      talk_ms: request.talk_seconds * 1000,
      media: request.media,
      callbacks: request.callback_base,
      leg: null,
      talked: null,
      told: 0,
      queued_ms: 0,
    };
    this.calls.push(call);
    this.#stage.count("call placed");
    this.onPlaced(call);
    world.tell("carrier", `${id} placed for ${call.ref}`);
    const person = this.person ?? this.#person();
    this.#tell(call, "status", { call_id: id, at: null, type: "queued" });
    const queues = this.#stage.strikes("carrier queues", faults.carrierQueues);
    if (queues) call.queued_ms = Math.round(world.random.between(1000, QUEUED_MAX_MS));
    world.after(call.queued_ms + world.random.between(50, 800), null, () => this.#ring(call, person));
    return call;
  }

  #person(): Person {
    const { random } = this.#stage.world;
    const what = random.pick(BEHAVIOURS);
    return { what, after: random.between(300, 14_000), talks: random.between(500, 40_000) };
  }

  #ring(call: SimCall, person: Person): void {
    const { world } = this.#stage;
    if (call.ended !== null) return;
    if (person.what === "failed") {
      this.#over(call, "failed", "carrier");
      return;
    }
    call.ringing = world.now;
    world.tell("carrier", `${call.id} rings`);
    this.#tell(call, "status", { call_id: call.id, at: carrierTime(world.now), type: "ringing" });
    const stops = world.now + call.ring_ms;
    if (person.what === "busy") {
      world.after(person.after / 10, null, () => this.#over(call, "busy", "callee"));
      return;
    }
    const answers = person.what === "answers" || person.what === "machine";
    if (answers && world.now + person.after < stops) world.after(person.after, null, () => this.#answer(call, person));
    else
      world.after(call.ring_ms, null, () => {
        if (call.answered === null) this.#over(call, "no_answer", "timeout");
      });
  }

  #answer(call: SimCall, person: Person): void {
    const { world, faults } = this.#stage;
    if (call.ended !== null) return;
    call.answered = world.now;
    world.tell("carrier", `${call.id} answered by ${person.what === "machine" ? "a machine" : "a person"}`);
    this.#tell(call, "status", { call_id: call.id, at: carrierTime(world.now), type: "answered" });
    world.after(world.random.between(500, 6000), null, () => {
      if (call.ended !== null) return;
      call.machine = person.what === "machine" ? "machine" : "human";
      this.#tell(call, "amd", { call_id: call.id, at: null, type: "machine", verdict: call.machine });
    });
    if (!this.#stage.strikes("media lost", faults.mediaLost)) {
      world.after(world.random.between(50, 600), null, () => {
        if (call.ended === null) this.reach.media(call);
      });
      world.after(MEDIA_CONNECT_MS, null, () => {
        if (call.leg === null) this.#over(call, "completed", "carrier");
      });
    }
    world.after(person.talks, null, () => {
      if (world.random.chance(0.7)) this.#over(call, "completed", "callee");
    });
    world.after(call.talk_ms, null, () => this.#over(call, "time_limit", "timeout"));
  }

  #over(call: SimCall, end: CarrierEnd, by: SimEnder): void {
    if (call.ended !== null) return;
    call.ended_by = by;
    const { world } = this.#stage;
    call.ended = world.now;
    call.end =
      call.answered === null && end === "completed"
        ? "canceled"
        : call.answered !== null && end === "time_limit"
          ? "completed"
          : end;
    if (call.talked && call.talked.to === null) call.talked.to = world.now;
    world.tell("carrier", `${call.id} is over: ${call.end}`);
    this.#tell(call, "status", endProgress(call));
    call.leg?.closedByCarrier();
  }

  #tell(call: SimCall, kind: "status" | "amd", step: CallProgress): void {
    const stage = this.#stage;
    const { world, faults } = stage;
    if (stage.strikes("callback lost", faults.callbackLost)) return;
    const late = stage.strikes("callback late", faults.callbackLate) ? world.random.between(1000, LATE_MAX_MS) : 0;
    const told = call.told++;
    const times = stage.strikes("callback twice", faults.callbackTwice) ? world.random.whole(2, 4) : 1;
    for (let i = 0; i < times; i++)
      world.after(late + world.random.between(20, 400), null, () => this.reach.callback(call, kind, told, step));
  }

  /** The media process closed the leg, or died. */
  legClosed(call: SimCall, died: boolean): void {
    const { world } = this.#stage;
    if (call.talked && call.talked.to === null && !died) call.talked.to = world.now;
    // now and then the call stays open until the carrier's own limit
    if (died && world.random.chance(0.2)) return;
    world.after(world.random.between(20, 2000), null, () =>
      this.#over(call, "completed", died ? "carrier" : "relay_end"),
    );
  }

  talkBegins(call: SimCall): void {
    if (call.ended !== null) return;
    call.talked = { from: this.#stage.world.now, to: null };
    this.#stage.count("talk");
    this.onTalk(call);
  }

  hangUp(id: string): void {
    const call = this.calls.find((c) => c.id === id);
    if (call) {
      this.#stage.world.tell("carrier", `${id} is to be hung up`);
      if (call.ended === null) this.onHangUp(call);
      this.#over(call, "completed", "api");
    }
  }

  fetch(id: string): CarrierCall | null {
    const call = this.calls.find((c) => c.id === id);
    return call ? carrierRecord(call) : null;
  }

  find({ to, from, since, until }: { to: string; from: string; since: Date; until: Date }): CarrierCall[] {
    const { now } = this.#stage.world;
    return this.calls
      .filter(
        (c) =>
          c.to === to &&
          c.from === from &&
          c.created <= now - VISIBLE_AFTER_MS &&
          c.created >= since.getTime() - CLOCK_TOLERANCE_MS &&
          c.created <= until.getTime() + CLOCK_TOLERANCE_MS,
      )
      .map((c) => carrierRecord(c));
  }

  live(): SimCall[] {
    return this.calls.filter((c) => c.ended === null);
  }
}
