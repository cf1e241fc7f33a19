import { randomUUID } from "node:crypto";
import { ServiceBroker } from "moleculer";
import { between } from "../../carriers/exchange/seeded-random.ts";
import { after, standIn } from "../stage.ts";
import { BusTransporter } from "../../../shared/bus/bus-transporter.ts";
import { BusValidator } from "../../../shared/bus/bus-validator.ts";
import { busOf, type ActionName, type Bus, type ParamsOf, type ResultOf } from "../../../shared/bus/bus.ts";
import type { Verdict } from "../../../shared/contracts/dialer.ts";
import type { AttemptFacts, PlacedCall } from "../../../shared/contracts/records/attempt.ts";
import type { ClaimedLead } from "../../../shared/contracts/records/lead.ts";
import { codeOf } from "../../../shared/errors.ts";
import { callRef, randomIds } from "../../../shared/ids.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { VARIABLES } from "../../../shared/process/variables.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { taskSet } from "../../../shared/time/deadline.ts";
import { costOf, evaluationOf, factsOf, isShort, retriesOf, wayOf } from "./played-calls.ts";

/**
 * Scheduler, dialer and conversation in one, without carriers, people and audio: it takes leads that are due and leads each through an attempt by the requests that those services send,
 * with their leases and fences, insisting on each as they do. Ten thousand calls take a machine minutes with it, where those services take hours.
 */
export interface PlayedDialer {
  bus: Bus;
  /** Leads that it has heard of as over; one whose last answer was lost is not among them. */
  over(): number;
  /** Why requests failed, and how often. */
  failures(): Readonly<Record<string, number>>;
  stop(): Promise<void>;
}

/** How it is played. `by`: whose leads of which template they are, who also aborts some of them. */
export interface PlayedOptions {
  busUrl: string;
  seed: string;
  leaseSeconds: number;
  by: ParamsOf<"leads.abort">["by"];
  templateId: string;
  /** The lead is told of every call before its answer and its end, as a version before 0.3.0 expects. Absent: not of short ones. */
  tellsAll?: boolean;
}

const AT_ONCE = 200;
const CLAIMS = 50;
const LOOK_MS = 250;
const AGAIN_MS = 300;
/** Between two steps of an attempt. */
const STEP_MS = 400;
const RELEASED_MS = 1000;
/** A lead that is to be aborted waits long enough for it. */
const ABORTED_MS = 60_000;
const RESUME_MS = 5000;
/** What a scheduler writes down of each attempt. */
const NUMBER_ID = randomUUID();
const POLICY = { retry_offset: 1, retry_on: null };
/** As for every process of the product. */
const BROKER = { requestTimeout: 10_000, heartbeatInterval: 3, heartbeatTimeout: 10 };

/** What is known of an attempt: it is led, it is over, or it will never be dialled, as its lease was lost before we knew of it. */
type Known = "live" | "void" | { facts: AttemptFacts };

type Lease = Pick<ClaimedLead, "lead_id" | "claim_no">;

type Call = <N extends ActionName>(name: N, params: ParamsOf<N>) => Promise<ResultOf<N>>;

/** What leading an attempt needs. */
interface Stage extends Omit<PlayedOptions, "busUrl"> {
  /** Insists until the answer is there. */
  call: Call;
  attempts: Map<string, Known>;
}

/** A broker on the product's bus that answers for the dialer. */
function brokerOf(busUrl: string, attempts: Map<string, Known>, leaseSeconds: number): ServiceBroker {
  const env = readEnv({ NODE_ENV: "test", LOG_LEVEL: "silent", MONGODB_URI: "mongodb://127.0.0.1:1/none" });
  const log = rootLog(env);
  const broker = new ServiceBroker({
    ...BROKER,
    namespace: VARIABLES.NAMESPACE.default,
    nodeID: `dialer.played-${randomUUID()}`,
    transporter: new BusTransporter({ servers: new URL(busUrl).host }, { log, clock: systemClock, strict: false }),
    validator: new BusValidator(),
    logger: false,
    internalServices: false,
    transit: { serviceChangedDebounceTime: 0 } as NonNullable<ServiceBroker["options"]["transit"]>,
  });
  provideDeps(broker, { env, clock: systemClock, ids: randomIds, log, random: Math.random });
  const reconcile = ({ lead_id, claim_no }: ParamsOf<"dialer.reconcile">): Verdict => {
    const ref = callRef(lead_id, claim_no);
    const known = attempts.get(ref) ?? "void";
    // whoever hears of this attempt only now will not dial it
    attempts.set(ref, known);
    if (known === "void") return { verdict: "never_dialled" };
    return known === "live" ? { verdict: "live", lease_seconds: leaseSeconds } : { verdict: "ended", ...known };
  };
  broker.createService(standIn("dialer", { reconcile: (p) => Promise.resolve(reconcile(p)), hangUp: () => ({}) }));
  return broker;
}

/** The lead waits again, with its attempt unspent, or until its merchant aborts it; true: it is over by that. */
async function giveBack({ attempts, by, call }: Stage, of: Lease, way: "released" | "aborted"): Promise<boolean> {
  const due_at = new Date(Date.now() + (way === "aborted" ? ABORTED_MS : RELEASED_MS)).toISOString();
  await call("leads.release", { ...of, due_at, reason: "played" });
  attempts.set(callRef(of.lead_id, of.claim_no), "void");
  if (way === "released") return false;
  const { leads } = await call("leads.abort", {
    by,
    leads: [{ lead_id: of.lead_id, cancellation_reason: "played" }],
  });
  return leads.every(({ status }) => status === "success" || status === "already_aborted");
}

/** The conversation, which has the lease; false: its lead went on without it. */
async function talk(
  { call, leaseSeconds: lease_seconds }: Stage,
  of: Lease,
  placed: PlacedCall,
  pause: () => Promise<void>,
): Promise<boolean> {
  const { done } = await call("leads.extend", { ...of, lease_seconds, answered: true, placed });
  await pause();
  return done && (await call("leads.extend", { ...of, lease_seconds })).done;
}

/** Leads an attempt from its claim to its end; true: the lead is over by it. */
async function lead(stage: Stage, { lead_id, claim_no, phone_number }: ClaimedLead): Promise<boolean> {
  const { attempts, call, seed } = stage;
  const [of, ref] = [{ lead_id, claim_no }, callRef(lead_id, claim_no)];
  let steps = 0;
  const pause = (): Promise<void> => after(between(0, STEP_MS, seed, "step", ref, steps++));
  const way = wayOf(seed, phone_number, claim_no);
  await pause();
  if (way === "released" || way === "aborted") return giveBack(stage, of, way);
  const call_id = `CA-${ref}`;
  const placed: PlacedCall = { call_id, placed_at: new Date().toISOString(), ringing_at: new Date().toISOString() };
  // of a call that is answered or over soon the lead is told with that
  if (stage.tellsAll === true || !isShort(seed, ref)) {
    await call("leads.annotate", { ...of, call_id, call_initiated_time: placed.placed_at });
    await pause();
    await call("leads.annotate", { ...of, ringing: { call_id } });
  }
  await pause();
  if (way === "talk" && !(await talk(stage, of, placed, pause))) return false;
  const { now, late } = evaluationOf(seed, ref);
  const facts = factsOf(way, call_id, now);
  attempts.set(ref, { facts });
  const { status } = await call("leads.settle", { ...of, facts, placed });
  await call("leads.annotate", { ...of, cost: costOf(seed, ref) });
  if (way === "talk") {
    await call("leads.annotate", { ...of, recording_stored: { call_id } });
    if (late) await call("leads.annotate", { ...of, evaluation: late });
  }
  return status === "FINISHED";
}

/** Takes leads that are due, as many as there is room for. */
async function claimDue(bus: Bus, { leaseSeconds, seed }: PlayedOptions, room: number) {
  const until = new Date().toISOString();
  const limit = Math.min(room, CLAIMS);
  const { heads } = await bus.call("leads.heads", {
    until,
    own: false,
    after: null,
    limit: CLAIMS,
    by_reference: true,
  });
  const queues = heads.map(({ queue }) => ({ queue, limit }));
  const due = queues.length === 0 ? [] : (await bus.call("leads.dueOf", { queues, until, by_reference: true })).leads;
  const items = due.slice(0, limit).map(({ lead_id, due_at, claim_no, phone_number }) => {
    const policy = { ...POLICY, max_retry: retriesOf(seed, phone_number) };
    const attempt = { number_id: NUMBER_ID, provider: "PROVIDER_ONE" as const, template_version: 1, policy };
    return { lead_id, due_at, claim_no, attempt };
  });
  if (items.length === 0) return [];
  const { claimed } = await bus.call("leads.claimMany", { lease_seconds: leaseSeconds, items });
  return claimed.filter((one) => one !== null);
}

/** A bus that counts what fails. */
function counting(bus: Bus, failures: Map<string, number>): Bus {
  return {
    ...bus,
    call: (name, params, how) =>
      bus.call(name, params, how).catch((error: unknown) => {
        const why = `${name} ${codeOf(error)}`;
        failures.set(why, (failures.get(why) ?? 0) + 1);
        throw error;
      }),
  };
}

/** Calls that are insisted upon: again and again until they are answered, or all is over. */
function insisting(bus: Bus, over: AbortSignal): Call {
  return async (name, params) => {
    for (;;)
      try {
        return await bus.call(name, params);
      } catch (error) {
        if (over.aborted) throw error;
        await after(AGAIN_MS);
      }
  };
}

/** Joins the product's bus in place of its dialer, and calls what is due until it is stopped. */
export async function playDialer(o: PlayedOptions): Promise<PlayedDialer> {
  const attempts = new Map<string, Known>();
  const failures = new Map<string, number>();
  const ended = new AbortController();
  const broker = brokerOf(o.busUrl, attempts, o.leaseSeconds);
  await broker.start();
  await broker.waitForServices(["leads"]);
  const bus = counting(busOf(broker), failures);
  const call = insisting(bus, ended.signal);
  const stage: Stage = { ...o, attempts, call };
  const underWay = taskSet();
  let over = 0;

  const begin = (claimed: ClaimedLead): void => {
    const ref = callRef(claimed.lead_id, claimed.claim_no);
    if (attempts.has(ref)) return;
    attempts.set(ref, "live");
    const led = async (): Promise<void> => {
      if (await lead(stage, claimed)) over++;
    };
    underWay.add(led().catch(() => undefined));
  };
  const every = async (ms: number, work: () => Promise<unknown>): Promise<void> => {
    while (!ended.signal.aborted) {
      await work().catch(() => undefined);
      await after(ms);
    }
  };
  const running = Promise.all([
    every(LOOK_MS, async () => {
      const room = AT_ONCE - underWay.size;
      if (room > 0) for (const one of await claimDue(bus, o, room)) begin(one);
    }),
    // leads whose owner was silent too often are parked: an operator has them tried again
    every(RESUME_MS, () => bus.call("leads.resume", { by: o.by, template_id: o.templateId })),
  ]);
  return {
    bus,
    over: () => over,
    failures: () => Object.fromEntries(failures),
    async stop() {
      ended.abort();
      await running;
      await underWay.drain();
      await broker.stop();
    },
  };
}
