import mongoose from "mongoose";
import { INTENT_DEADLINE_MS } from "../../../services/dialer/call/call-deadlines.ts";
import { intent } from "../../../services/dialer/call/new-calls.ts";
import { callSchema } from "../../../services/dialer/call/calls.model.ts";
import { createCalls, type Calls } from "../../../services/dialer/call/calls.repository.ts";
import leadsService from "../../../services/leads/leads.service.ts";
import type { Bus, ParamsOf } from "../../../shared/bus/bus.ts";
import type { ClaimedLead, DueLead } from "../../../shared/contracts/records/lead.ts";
import { randomIds } from "../../../shared/ids.ts";
import { setStage, standIn } from "../../harness/stage.ts";
import { lineOf, type Figures } from "../figures.ts";
import { ownProcessor, processorOf } from "../cpu-time.ts";
import { startGraphile } from "./peer-queues.ts";
import { leadOf, seedLeads, startWorld, type Tenant, type World } from "./bench-world.ts";

/** What is measured: leads of a round, and rounds. */
export interface RateOptions {
  leads: number;
  burst: number;
  rounds: number;
  jobs: number;
}

const QUEUES = 10;
/** Schedulers side by side, each with its own queues, as two replicas would share them. */
const SCHEDULERS = 2;
const OF_A_QUEUE = 40;
const SLOTS = 500;
const AHEAD_MS = 3000;
const DEADLINE_MS = 120_000;
const POLL_MS = 50;
const LEASE_SECONDS = 300;

const wait = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
const number_id = randomIds.uuid();
const policy = { max_retry: 1, retry_offset: 60, retry_on: [] };

function orderOf(c: ClaimedLead): ParamsOf<"dialer.dialMany">["orders"][number] {
  return {
    lead_id: c.lead_id,
    claim_no: c.claim_no,
    reseller_id: c.reseller_id,
    merchant_id: c.merchant_id,
    template_id: c.template_id,
    template_version: 1,
    execution_mode: c.execution_mode,
    to: c.phone_number,
    from: "+14155550100",
    number_id,
    provider: "PROVIDER_ONE",
    payload: c.payload,
    dial_until: null,
    record: true,
    voicemail_action: "hangup",
    enforce_blacklist: false,
    max_call_seconds: 600,
    rate_limit: null,
    pre_checks: [],
    pre_check_defers: {},
  };
}

/** Claims everything due in these queues, in batches of 200, and writes each lead's intent; how many. */
async function drain(bus: Bus, calls: Calls, queues: readonly string[]): Promise<number> {
  let n = 0;
  for (;;) {
    const now = new Date();
    const { leads } = await bus.call("leads.dueOf", {
      queues: queues.map((queue) => ({ queue, limit: OF_A_QUEUE })),
      until: now.toISOString(),
    });
    if (leads.length === 0) return n;
    const items = leads.map((l: DueLead) => ({
      lead_id: l.lead_id,
      due_at: l.due_at,
      claim_no: l.claim_no,
      attempt: { number_id, provider: "PROVIDER_ONE" as const, template_version: 1, policy },
    }));
    const { claimed } = await bus.call("leads.claimMany", { lease_seconds: LEASE_SECONDS, items });
    const written = await Promise.all(
      claimed
        .filter((c) => c !== null)
        .map((c) => calls.insert(intent(orderOf(c), "bench", now, new Date(now.getTime() + INTENT_DEADLINE_MS)))),
    );
    n += written.filter(Boolean).length;
  }
}

interface Measured {
  rate: Figures;
  processor: Figures;
}

const measured = (name: string): Measured => ({
  rate: { name, rounds: [] },
  processor: { name: `${name}: processor`, rounds: [] },
});

/** The claim road alone: the leads service's own actions over JSON, the dialer's own writing of intents, nothing behind them. */
async function claims(
  world: World,
  tenant: Tenant,
  alone: Measured,
  o: RateOptions,
  other: () => Promise<void>,
): Promise<void> {
  const uri = new URL(world.stack.mongoUri);
  uri.pathname = "/claims";
  const stage = await setStage({
    services: [
      leadsService,
      ...(["auth", "config", "blacklist", "webhook", "dialer", "scheduler", "conversation"] as const).map((name) =>
        standIn(name, {}),
      ),
    ],
    env: { MONGODB_URI: uri.href },
  });
  const db = await mongoose.createConnection(uri.href).asPromise();
  const model = db.model("calls", callSchema, "calls");
  await model.init();
  const own = { ...world, leads: db.collection("leads") as unknown as World["leads"] };
  const halves = Array.from({ length: SCHEDULERS }, (_, i) =>
    tenant.queues
      .filter((__, q) => q % SCHEDULERS === i)
      .map((q) => leadOf(tenant, q.template_id, new Date(), 0).queue),
  );
  for (let i = 0; i <= o.rounds; i++) {
    // what was claimed stays in its call here, so that each round is for callees of its own
    const callees = { keep: false, first: i * o.leads };
    await seedLeads(own, tenant, o.leads, () => new Date(Date.now() - 1000), callees);
    const calls = createCalls(model as never, () => "");
    const used = (): number => ownProcessor() + processorOf(world.stack.children.get("store")?.pid());
    const [began, before] = [performance.now(), used()];
    const done = await Promise.all(halves.map((queues) => drain(stage.bus, calls, queues)));
    const perSecond = o.leads / ((performance.now() - began) / 1000);
    if (done.reduce((a, b) => a + b, 0) !== o.leads)
      throw new Error(`${done.join(" + ")} of ${o.leads} intents were written`);
    // the first round warms up
    if (i === 0) continue;
    alone.rate.rounds.push(perSecond);
    alone.processor.rounds.push((used() - before) / o.leads);
    await other();
  }
  await db.close();
  await stage.stop();
}

/** The whole product: so many leads due at one moment; from the first intent to the last. */
async function burst(world: World, tenant: Tenant, count: number): Promise<number> {
  world.recorder.clear();
  const at = new Date(Date.now() + AHEAD_MS);
  const due = await seedLeads(world, tenant, count, () => at);
  const end = Date.now() + DEADLINE_MS;
  while (world.recorder.dialled.size < count && Date.now() < end) await wait(POLL_MS);
  if (world.recorder.dialled.size < count)
    throw new Error(`only ${world.recorder.dialled.size} of ${count} leads were dialled`);
  const written = await world.calls
    .find({ created_at: { $gte: at }, lead_id: { $in: [...due.keys()] } }, { projection: { created_at: 1 } })
    .toArray();
  const last = Math.max(...written.map((c) => c.created_at.getTime()));
  return count / ((last - at.getTime()) / 1000);
}

/** Row "due -> intent written, batch claims" beside graphile-worker's default processing rate. */
export async function benchRate(o: RateOptions): Promise<void> {
  const world = await startWorld();
  const tenant = await world.tenant(QUEUES, SLOTS);
  const graphile = await startGraphile();
  console.log(graphile.version);
  const [alone, peer] = [measured("due -> intent, claims alone"), measured(graphile.name)];
  const whole: Figures = { name: "due -> intent, dialling as well", rounds: [] };
  await graphile.rate(o.jobs);
  // the world's own sweeps would take the store's time, and count as the claims'
  const services = world.stack.children.get("services");
  await services?.down("SIGTERM");
  await claims(world, tenant, alone, o, async () => {
    const { perSecond, processor } = await graphile.rate(o.jobs);
    peer.rate.rounds.push(perSecond);
    peer.processor.rounds.push(processor);
  });
  await services?.up();
  await burst(world, tenant, o.burst);
  for (let i = 0; i < o.rounds; i++) whole.rounds.push(await burst(world, tenant, o.burst));
  console.log(
    `due -> intent written: ${o.leads} due leads in ${QUEUES} queues, claims of 200, ${SCHEDULERS} schedulers; graphile-worker: ${o.jobs} jobs, 50 at a time, tasks that do nothing`,
  );
  console.log(
    [
      lineOf(peer.rate),
      lineOf(alone.rate, peer.rate),
      lineOf(whole, peer.rate),
      lineOf(peer.processor, undefined, "µs each"),
      lineOf(alone.processor, peer.processor, "µs each"),
    ].join("\n"),
  );
  await Promise.all([world.stop(), graphile.stop()]);
}
