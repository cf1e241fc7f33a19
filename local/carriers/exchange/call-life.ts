import { behaviourOf } from "../../people/behaviours.ts";
import { machineTimes, meetPerson } from "../../people/person.ts";
import type { Scripts } from "../../people/step-script.ts";
import type { EndedBy } from "../ledger/entries.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { partiesOf, personOf, type Call, type CallOrder, type EndReason, type InboundOrder } from "./call.ts";
import type { Faults } from "./faults.ts";
import type { InboundProtocol, Protocol } from "./protocol.ts";
import { between } from "./seeded-random.ts";
import type { SimTime } from "./simulated-time.ts";

/** From request to the network, and from there to the ring, simulated ms. */
const DISPATCH_MS = 150;
const POST_DIAL_DELAY_MS = 500;
/** The longest a call without a limit may be answered, ms. */
const MAX_ANSWERED_MS = 4 * 3_600_000;
/** How long it rings before someone answers, simulated ms. */
const RING_MS = { least: 3_000, most: 6_000 };
/** A person who calls us lets it ring this long, simulated ms, and at least so many real ones, for the service lives in real time. */
const CALLER_PATIENCE = { simMs: 30_000, realMs: 15_000 };
const SIP = { busy: 486, cancelled: 487, unavailable: 503, ok: 200 };

/** What calls need of the simulator. */
export interface LifeDeps {
  time: SimTime;
  ledger: Ledger;
  faults: Faults;
  /** Same seed, same people. */
  seed: string;
  scripts?: Scripts;
  /** People's patience with the service; absent: as in life. */
  patience?: number;
  /** Ends a call now; does nothing when it is over. */
  end(call: Call, reason: EndReason, by: EndedBy, sipCode?: number): void;
}

/** A call with the protocol that leads it. */
export interface CallRecord {
  call: Call;
  protocol: Protocol;
  ending: AbortController;
  answeredSimMs: number;
}

/** A person's call as the exchange takes it: how long it may last is for the service's document to say. */
export const inboundOrder = (order: InboundOrder): CallOrder => ({
  ...order,
  reference: null,
  ringTimeoutMs: CALLER_PATIENCE.simMs,
  maxAnsweredMs: MAX_ANSWERED_MS,
});

/** A call of the service's, from the request to its end. */
export async function runOutbound(record: CallRecord, deps: LifeDeps): Promise<void> {
  if (await dial(record, deps)) await runAnswered(record, deps);
}

/** A person's call: it reaches our number and rings there until the service has it answered or ended, or they lose patience. */
export async function runInbound(record: CallRecord, protocol: InboundProtocol, deps: LifeDeps): Promise<void> {
  const { call } = record;
  const { time, ledger, end } = deps;
  if (!(await time.wait(DISPATCH_MS, call.over))) return;
  dispatch(record, deps);
  if (!(await time.wait(POST_DIAL_DELAY_MS, call.over))) return;
  call.phase = "ringing";
  ledger.write({ kind: "status", ...partiesOf(call), status: "ringing" }); // no "ring": that is a person's phone
  protocol.onPhase(call);
  const losePatience = (): void => {
    if (call.phase === "ringing") end(call, "canceled", "caller", SIP.cancelled);
  };
  const cancelPatience = time.after(CALLER_PATIENCE.simMs, losePatience, CALLER_PATIENCE.realMs);
  call.over.addEventListener("abort", cancelPatience, { once: true });
  await protocol.onInbound(call);
}

/** The call is picked up: from here to its end. */
export async function runAnswered(record: CallRecord, deps: LifeDeps): Promise<void> {
  const { call, protocol } = record;
  const { time, ledger, seed, scripts, patience = 1, end } = deps;
  const person = personOf(call);
  const ringSeed = `${seed}/${ledger.ringsOf(person)}`;
  record.answeredSimMs = call.leg.time.elapsedMs();
  Object.assign(call, {
    phase: "answered",
    answeredAt: time.clock.now(),
    sipCode: SIP.ok,
    machine: call.direction === "inbound" ? null : machineTimes(person, ringSeed),
  });
  ledger.write({ kind: "answer", ...partiesOf(call) });
  protocol.onPhase(call);
  // the limit is set by the service, which lives in real time, and so are its pauses: it is not compressed
  const { maxAnsweredMs } = call.order;
  const cancelLimit = time.after(maxAnsweredMs, () => end(call, "completed", "timeout"), maxAnsweredMs);
  call.over.addEventListener("abort", cancelLimit, { once: true });
  meetPerson({
    number: person,
    ringSeed,
    time: call.leg.time,
    line: call.leg,
    over: call.over,
    patience,
    script: scripts?.of(person) ?? null,
    hangUp: () => end(call, "completed", call.direction === "inbound" ? "caller" : "callee"),
    drop: () => end(call, "completed", "carrier"),
  });
  end(call, "completed", await protocol.runAnsweredCall(call));
}

/** From the request to the answer; true when someone picked up. */
async function dial(record: CallRecord, deps: LifeDeps): Promise<boolean> {
  const { call } = record;
  const { time, faults, seed, end } = deps;
  const { order, over } = call;
  const behaviour = behaviourOf(order.to);
  const delayed = faults.take("queue_delay", order.to);
  if (!(await time.wait(delayed ? 0 : DISPATCH_MS, over, delayed ? delayed.seconds * 1000 : 0))) return false;
  dispatch(record, deps);
  if (!(await time.wait(POST_DIAL_DELAY_MS, over))) return false;
  if (behaviour.line === "fails") {
    end(call, "failed", "carrier", SIP.unavailable);
    return false;
  }
  if (behaviour.line === "busy") {
    end(call, "busy", "callee", SIP.busy);
    return false;
  }
  const earlierRings = ring(record, deps);
  const answersAfterMs = between(RING_MS.least, RING_MS.most, seed, order.to, earlierRings);
  const ignored = behaviour.line === "ignores" || (behaviour.line === "ignores_first" && earlierRings === 0);
  if (!ignored && answersAfterMs < order.ringTimeoutMs) return time.wait(answersAfterMs, over);
  if (await time.wait(order.ringTimeoutMs, over)) end(call, "no-answer", "timeout", SIP.cancelled);
  return false;
}

function dispatch({ call, protocol }: CallRecord, { ledger }: LifeDeps): void {
  call.phase = "initiated";
  call.startedAt = call.leg.time.clock.now();
  ledger.write({ kind: "status", ...partiesOf(call), status: "initiated" });
  protocol.onPhase(call);
}

/** The phone rings; how often it had rung before. */
function ring({ call, protocol }: CallRecord, { ledger }: LifeDeps): number {
  const earlier = ledger.ringsOf(call.order.to);
  call.phase = "ringing";
  ledger.write({ kind: "ring", ...partiesOf(call), ring: earlier + 1 });
  protocol.onPhase(call);
  return earlier;
}
