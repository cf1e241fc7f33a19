import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { ServiceBroker } from "moleculer";
import leads from "../../../services/leads/leads.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { provideDeps } from "../../../shared/process/process-deps.ts";
import { randomIds } from "../../../shared/ids.ts";
import { rootLog } from "../../../shared/process/log.ts";
import { brokerOptions, asAdmin, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { configurationRecord } from "../fixtures/configuration-record.ts";
import { played } from "../../fixtures/long-form.ts";

const T = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const LEADS = played(200, 500);
const LINES = 1500;
const BATCH = 50;
const orders: ParamsOf<"dialer.dialMany">["orders"] = [];
let stage: Stage;
let second: ServiceBroker;

beforeAll(async () => {
  stage = await setStage({
    env: { PROVIDER_ONE_CALLS_PER_SECOND: "0", SCHEDULER_INTERVAL_MS: "200" },
    services: [
      leads,
      numbers,
      scheduler,
      standIn("config", {
        plans: ({ template_ids }) => ({
          plans: template_ids.map((template_id) => ({
            template_id,
            version: 1,
            is_active: true,
            max_age_seconds: 3600,
            max_call_seconds: 120,
            retry_on: null,
            configuration: configurationRecord(template_id, new Date().toISOString(), {}),
          })),
        }),
        resolveForPush: ({ template_id, reseller_id }) => ({
          template_id,
          version: 1,
          name: "t",
          reseller_id,
          merchant_id: "m",
          initial_offset: 1,
          max_age_seconds: 3600,
        }),
        resolveManyForPush: ({ pushes }) => ({
          results: pushes.map(({ template_id, reseller_id }) => ({
            resolved: {
              template_id,
              version: 1,
              name: "t",
              reseller_id,
              merchant_id: "m",
              initial_offset: 1,
              max_age_seconds: 3600,
            },
            refusal: null,
          })),
        }),
      }),
      standIn("merchants", {
        pauses: () => ({ deployment: null, merchants: [] }),
        lookup: () => ({ reseller: true, merchant: true }),
      }),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map(() => false) }) }),
      standIn("dialer", {
        dialMany: (p) => {
          orders.push(...p.orders);
          return { taken: p.orders.map(() => true) };
        },
        holdsNumber: () => ({ held: true }),
        reconcile: () => ({ verdict: "live", lease_seconds: 3600 }),
      }),
      standIn("auth", { record: () => ({}) }),
      standIn("webhook", {}),
    ],
  });
  // the other replica: a process of its own as far as the bus knows, with the same database
  const options = brokerOptions({ url: "Fake", namespace: stage.broker.namespace }, "replica-2");
  second = new ServiceBroker({ ...options, registry: { ...options.registry, preferLocal: false } });
  provideDeps(second, {
    env: stage.env,
    clock: systemClock,
    ids: randomIds,
    log: rootLog(stage.env),
    random: Math.random,
  });
  second.createService(scheduler);
  await second.start();
  await stage.bus.call("numbers.create", {
    by: asAdmin,
    phone_number: "+14155550100",
    provider: "PROVIDER_ONE",
    max_concurrent_calls: LINES,
  });
});
afterAll(async () => {
  await second.stop();
  await stage.stop();
});

test("two schedulers at once: every lead is claimed once and handed over once, and no slot leaks", async () => {
  const push = (of: number) =>
    stage.bus.call("leads.pushMany", {
      by: asAdmin,
      rows: Array.from({ length: of }, (_, i) => ({
        request_id: randomUUID(),
        template_id: T,
        reseller_id: "r",
        merchant_id: "m",
        payload: { customer_mobile_number: `+1415556${String(i).padStart(4, "0")}` },
      })),
    });
  const client = await MongoClient.connect(stage.uri);
  const holders = async () => {
    const [number] = await client.db().collection<{ slots: { holder: string }[] }>("numbers").find().toArray();
    return (number?.slots ?? []).map((slot) => slot.holder);
  };
  try {
    let pushed = 0;
    const pushAll = async (leads: number): Promise<string[]> => {
      for (; pushed < leads; pushed += BATCH) await push(BATCH);
      await until(`${leads} orders`, () => orders.length >= leads || undefined);
      // what a loser took is given back right after its pass
      return until(`${leads} lines in use`, async () => {
        const all = await holders();
        return all.length === leads ? all : undefined;
      });
    };
    let slots = await pushAll(LEADS);
    const schedulers = () => new Set(slots.map((holder) => holder.split("~")[1])).size;
    // where the database writes a batch as a whole, one scheduler wins all of it: leads come until both have won some
    for (let more = LEADS + BATCH; schedulers() < 2 && more <= LINES; more += BATCH) slots = await pushAll(more);
    const refs = orders.map((o) => `${o.lead_id}.${o.claim_no}`);
    expect(new Set(refs).size).toBe(pushed);
    expect(refs).toHaveLength(pushed);
    expect(
      await client.db().collection("leads").countDocuments({ status: "PROCESSING", claim_no: 1, attempt_count: 1 }),
    ).toBe(pushed);
    expect(new Set(slots.map((holder) => holder.split("~")[0])).size).toBe(pushed);
    expect(schedulers()).toBe(2);
  } finally {
    await client.close();
  }
});
