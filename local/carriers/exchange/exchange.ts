import { setMaxListeners } from "node:events";
import type { EndedBy } from "../ledger/entries.ts";
import { openLeg } from "./call-leg.ts";
import { inboundOrder, runAnswered, runInbound, runOutbound, type CallRecord, type LifeDeps } from "./call-life.ts";
import { partiesOf, type Call, type CallOrder, type Direction, type EndReason, type InboundOrder } from "./call.ts";
import type { InboundProtocol, Protocol } from "./protocol.ts";

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

/** What an exchange needs of the simulator. */
export type ExchangeDeps = Omit<LifeDeps, "end">;

function newCall(order: CallOrder, direction: Direction, deps: ExchangeDeps, over: AbortSignal): Call {
  const { ledger, time } = deps;
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
    createdAt: leg.time.clock.now(),
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
export const createExchange = (deps: ExchangeDeps): Exchange => new SimulatedExchange(deps);

class SimulatedExchange implements Exchange {
  readonly #deps: ExchangeDeps;
  readonly #life: LifeDeps;
  readonly #calls = new Map<string, CallRecord>();
  #live = 0;

  constructor(deps: ExchangeDeps) {
    this.#deps = deps;
    this.#life = { ...deps, end: (...end) => this.end(...end) };
  }

  place(order: CallOrder, protocol: Protocol): Call {
    const record = this.#open(order, "outbound", protocol);
    this.#guard(record, runOutbound(record, this.#life));
    return record.call;
  }

  dialIn(order: InboundOrder, protocol: InboundProtocol): Call {
    const record = this.#open(inboundOrder(order), "inbound", protocol);
    this.#guard(record, runInbound(record, protocol, this.#life));
    return record.call;
  }

  answer(call: Call): boolean {
    const record = this.#calls.get(call.order.sid);
    if (!record || call.direction !== "inbound" || call.phase !== "ringing") return false;
    this.#guard(record, runAnswered(record, this.#life));
    return true;
  }

  #open(order: CallOrder, direction: Direction, protocol: Protocol): CallRecord {
    const ending = new AbortController();
    setMaxListeners(0, ending.signal); // every wait of a call listens for its end
    const call = newCall(order, direction, this.#deps, ending.signal);
    const record: CallRecord = { call, protocol, ending, answeredSimMs: 0 };
    this.#calls.set(order.sid, record);
    this.#live += 1;
    this.#evictOldest();
    this.#deps.ledger.write({
      kind: "placed",
      ...partiesOf(call),
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
      this.#deps.ledger.write({
        kind: "warning",
        ...partiesOf(call),
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
    const { ledger } = this.#deps;
    const record = this.#calls.get(call.order.sid);
    if (!record || call.phase === "ended") return;
    const answeredMs = call.phase === "answered" ? call.leg.time.elapsedMs() - record.answeredSimMs : 0;
    Object.assign(call, {
      phase: "ended",
      endReason: reason,
      endedBy: by,
      endedAt: call.leg.time.clock.now(),
      sipCode: sipCode ?? call.sipCode,
    });
    this.#live -= 1;
    record.ending.abort(); // the leg reports what was heard last before the hang-up is written
    ledger.write({
      kind: "hangup",
      ...partiesOf(call),
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

  #evictOldest(): void {
    if (this.#calls.size <= MAX_CALLS_KEPT) return;
    for (const [sid, { call }] of this.#calls) {
      if (call.phase !== "ended") continue;
      this.#calls.delete(sid);
      return;
    }
  }
}
