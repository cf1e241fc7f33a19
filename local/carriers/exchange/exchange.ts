import { setMaxListeners } from "node:events";
import { behaviourOf } from "../../people/behaviours.ts";
import { machineTimes, meetPerson } from "../../people/person.ts";
import type { Scripts } from "../../people/step-script.ts";
import { between } from "./seeded-random.ts";
import type { Faults } from "./faults.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { EndedBy } from "../ledger/entries.ts";
import { openLeg } from "./call-leg.ts";
import type { SimTime } from "./simulated-time.ts";
import { type Call, type CallOrder, type InboundOrder, type EndReason, type Direction, personOf } from "./call.ts";

/** What a carrier's protocol does with a call. */
export interface Protocol {
  onPhase(call: Call): void;
  /** Leads the answered call; when it resolves the carrier hangs up on behalf of the one named. */
  runAnsweredCall(call: Call): Promise<EndedBy>;
}

/** A protocol that is called by people, too. */
export interface InboundProtocol extends Protocol {
  /** Our number rings: asks the service what to do, and by its word answers (Exchange.answer) or ends the call, then or later. A rejection ends the call as failed. */
  onInbound(call: Call): Promise<void>;
}

/** Places calls and leads them through their life. */
export interface Exchange {
  place(order: CallOrder, protocol: Protocol): Call;
  /** A person calls one of our numbers. */
  dialIn(order: InboundOrder, protocol: InboundProtocol): Call;
  /** Our side picks up a person's call; false when it is not ringing (any more). */
  answer(call: Call): boolean;
  get(sid: string): Call | undefined;
  /** Ends a call now; does nothing when it is over. */
  end(call: Call, reason: EndReason, by: EndedBy, sipCode?: number): void;
  live(): number;
  close(): void;
}

/** Ended calls are forgotten beyond this many. */
const MAX_CALLS_KEPT = 100_000;
/** From request to the network, and from there to the ring, simulated ms. */
const DISPATCH_MS = 150;
const POST_DIAL_DELAY_MS = 500;
/** The longest any talk may last that nobody limits, ms. */
const MAX_ANSWERED_MS = 4 * 3_600_000;
/** How long it rings before someone answers, simulated ms. */
const RING_MS = { least: 3_000, most: 6_000 };
/** A person who calls us lets it ring this long, simulated ms, and at least so many real ones, for the service lives in real time. */
const CALLER_PATIENCE = { simMs: 30_000, realMs: 15_000 };
const SIP = { busy: 486, cancelled: 487, unavailable: 503, ok: 200 };

/** What the calls stand on. */
export interface ExchangeDeps {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  seed: string;
  scripts?: Scripts;
}

function newCall(order: CallOrder, direction: Direction, parts: ExchangeDeps, over: AbortSignal): Call {
  const { ledger, time } = parts;
  const whose = { call_sid: order.sid, to: order.to, from: order.from };
  const leg = openLeg(
    time,
    {
      heard: (heard) => {
        ledger.write({
          kind: "heard",
          ...whose,
          text: heard.text,
          interrupted: heard.interrupted,
          duration_ms: heard.durationMs,
          ...(heard.media ? { media: heard.media } : {}),
        });
      },
      said: (text, delivered) => {
        ledger.write({ kind: "said", ...whose, text, delivered });
      },
      digit: (digit, delivered) => {
        ledger.write({ kind: "dtmf", ...whose, digit, delivered });
      },
      turn: (facts) => {
        ledger.write({ kind: "turn", ...whose, ...facts });
      },
    },
    over,
  );
  return {
    order,
    direction,
    leg,
    over,
    createdAt: new Date(),
    phase: "queued",
    startedAt: null,
    answeredAt: null,
    endedAt: null,
    endReason: null,
    endedBy: null,
    sipCode: null,
    machine: null,
  };
}

/** An exchange with no calls yet. */
export const createExchange = (parts: ExchangeDeps): Exchange => new SimulatedExchange(parts);

interface CallRecord {
  call: Call;
  protocol: Protocol;
  ending: AbortController;
  answeredSimMs: number;
}

const whose = ({ order }: Call): { call_sid: string; to: string; from: string } => ({
  call_sid: order.sid,
  to: order.to,
  from: order.from,
});

class SimulatedExchange implements Exchange {
  readonly #parts: ExchangeDeps;
  readonly #calls = new Map<string, CallRecord>();
  #live = 0;

  constructor(parts: ExchangeDeps) {
    this.#parts = parts;
  }

  place(order: CallOrder, protocol: Protocol): Call {
    const record = this.#open(order, "outbound", protocol);
    this.#guard(record, this.#runOutbound(record));
    return record.call;
  }

  dialIn(order: InboundOrder, protocol: InboundProtocol): Call {
    // how long the talk may last is for the service's document to say
    const record = this.#open(
      { ...order, reference: null, ringTimeoutMs: CALLER_PATIENCE.simMs, maxAnsweredMs: MAX_ANSWERED_MS },
      "inbound",
      protocol,
    );
    this.#guard(record, this.#runInbound(record, protocol));
    return record.call;
  }

  answer(call: Call): boolean {
    const record = this.#calls.get(call.order.sid);
    if (!record || call.direction !== "inbound" || call.phase !== "ringing") return false;
    this.#guard(record, this.#runAnswered(record));
    return true;
  }

  #open(order: CallOrder, direction: Direction, protocol: Protocol): CallRecord {
    const ending = new AbortController();
    setMaxListeners(0, ending.signal); // every wait of a call listens for its end
    const call = newCall(order, direction, this.#parts, ending.signal);
    const record: CallRecord = { call, protocol, ending, answeredSimMs: 0 };
    this.#calls.set(order.sid, record);
    this.#live += 1;
    this.#evictOldest();
    this.#parts.ledger.write({
      kind: "placed",
      ...whose(call),
      account: order.account,
      reference: order.reference,
      direction,
      ...(order.withheld ? { withheld: true } : {}),
      ...order.details,
    });
    return record;
  }

  /** A call that the simulator fails on ends, and the ledger says so. */
  #guard({ call }: CallRecord, life: Promise<void>): void {
    life.catch((error: unknown) => {
      this.#parts.ledger.write({
        kind: "warning",
        ...whose(call),
        message: `the simulator failed on this call: ${error instanceof Error ? error.message : String(error)}`,
      });
      this.end(call, "failed", "carrier");
    });
  }

  get(sid: string): Call | undefined {
    return this.#calls.get(sid)?.call;
  }

  live(): number {
    return this.#live;
  }

  end(call: Call, reason: EndReason, by: EndedBy, sipCode?: number): void {
    const { ledger } = this.#parts;
    const record = this.#calls.get(call.order.sid);
    if (!record || call.phase === "ended") return;
    const answeredMs = call.phase === "answered" ? call.leg.time.elapsedMs() - record.answeredSimMs : 0;
    Object.assign(call, {
      phase: "ended",
      endReason: reason,
      endedBy: by,
      endedAt: new Date(),
      sipCode: sipCode ?? call.sipCode,
    });
    this.#live -= 1;
    record.ending.abort(); // the line reports what was heard last before the hang-up is written
    ledger.write({
      kind: "hangup",
      ...whose(call),
      status: reason,
      by,
      sip_code: call.sipCode,
      simulated_seconds: Math.round(answeredMs / 100) / 10,
    });
    record.protocol.onPhase(call);
  }

  close(): void {
    for (const { call, ending } of this.#calls.values()) if (call.phase !== "ended") ending.abort();
  }

  async #runOutbound(record: CallRecord): Promise<void> {
    if (await this.#dial(record)) await this.#runAnswered(record);
  }

  /** A person's call: it reaches our number and rings there until the service has it answered or ended, or they lose patience. */
  async #runInbound(record: CallRecord, protocol: InboundProtocol): Promise<void> {
    const { call } = record;
    const { time, ledger } = this.#parts;
    if (!(await time.wait(DISPATCH_MS, call.over))) return;
    this.#dispatch(record);
    if (!(await time.wait(POST_DIAL_DELAY_MS, call.over))) return;
    call.phase = "ringing";
    ledger.write({ kind: "status", ...whose(call), status: "ringing" }); // no "ring": that is a person's phone
    protocol.onPhase(call);
    const cancelPatience = time.after(
      CALLER_PATIENCE.simMs,
      () => {
        if (call.phase === "ringing") this.end(call, "canceled", "caller", SIP.cancelled);
      },
      CALLER_PATIENCE.realMs,
    );
    call.over.addEventListener("abort", cancelPatience, { once: true });
    await protocol.onInbound(call);
  }

  /** Somebody picked up: from here to the end. */
  async #runAnswered(record: CallRecord): Promise<void> {
    const { call, protocol } = record;
    const { time, ledger, seed, scripts } = this.#parts;
    const person = personOf(call);
    const ringSeed = `${seed}/${ledger.ringsOf(person)}`;
    record.answeredSimMs = call.leg.time.elapsedMs();
    Object.assign(call, {
      phase: "answered",
      answeredAt: new Date(),
      sipCode: SIP.ok,
      machine: call.direction === "inbound" ? null : machineTimes(person, ringSeed),
    });
    ledger.write({ kind: "answer", ...whose(call) });
    protocol.onPhase(call);
    // the limit is set by the service, which lives in real time, and so are its pauses: it is not compressed
    const cancelLimit = time.after(
      call.order.maxAnsweredMs,
      () => this.end(call, "completed", "timeout"),
      call.order.maxAnsweredMs,
    );
    call.over.addEventListener("abort", cancelLimit, { once: true });
    meetPerson({
      number: person,
      ringSeed: ringSeed,
      time: call.leg.time,
      line: call.leg,
      over: call.over,
      script: scripts?.of(person) ?? null,
      hangUp: () => this.end(call, "completed", call.direction === "inbound" ? "caller" : "callee"),
      drop: () => this.end(call, "completed", "carrier"),
    });
    this.end(call, "completed", await protocol.runAnsweredCall(call));
  }

  /** From the request to the answer; true when someone picked up. */
  async #dial(record: CallRecord): Promise<boolean> {
    const { call } = record;
    const { time, faults, seed } = this.#parts;
    const { order, over } = call;
    const behaviour = behaviourOf(order.to);
    const held = faults.take("queue_delay", order.to);
    if (!(await time.wait(held ? 0 : DISPATCH_MS, over, held ? held.seconds * 1000 : 0))) return false;
    this.#dispatch(record);
    if (!(await time.wait(POST_DIAL_DELAY_MS, over))) return false;
    if (behaviour.line === "fails") {
      this.end(call, "failed", "carrier", SIP.unavailable);
      return false;
    }
    if (behaviour.line === "busy") {
      this.end(call, "busy", "callee", SIP.busy);
      return false;
    }
    const earlierRings = this.#ring(record);
    const answersAfterMs = between(RING_MS.least, RING_MS.most, seed, order.to, earlierRings);
    const ignored = behaviour.line === "ignores" || (behaviour.line === "ignores_first" && earlierRings === 0);
    if (!ignored && answersAfterMs < order.ringTimeoutMs) return time.wait(answersAfterMs, over);
    if (await time.wait(order.ringTimeoutMs, over)) this.end(call, "no-answer", "timeout", SIP.cancelled);
    return false;
  }

  #dispatch({ call, protocol }: CallRecord): void {
    call.phase = "initiated";
    call.startedAt = new Date();
    this.#parts.ledger.write({ kind: "status", ...whose(call), status: "initiated" });
    protocol.onPhase(call);
  }

  /** The phone rings; how often it had rung before. */
  #ring({ call, protocol }: CallRecord): number {
    const { ledger } = this.#parts;
    const earlier = ledger.ringsOf(call.order.to);
    call.phase = "ringing";
    ledger.write({ kind: "ring", ...whose(call), ring: earlier + 1 });
    protocol.onPhase(call);
    return earlier;
  }

  #evictOldest(): void {
    if (this.#calls.size <= MAX_CALLS_KEPT) return;
    for (const [sid, { call }] of this.#calls) {
      if (call.phase !== "ended") continue;
      this.#calls.delete(sid);
      return;
    }
  }
}
