import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MongoClient, type Collection } from "mongodb";
import type { Client } from "../../tools/api-client.ts";
import { openFolder } from "../../tools/stack/data-folder.ts";
import { freePort } from "../../tools/stack/ports.ts";
import { localSecrets } from "../../tools/stack/secrets.ts";
import { sampleTemplates } from "../../tools/sample/templates.ts";
import { seed } from "../../tools/sample/seed.ts";
import { startStack, type Stack, type StackOptions } from "../../tools/stack/stack.ts";
import type { CallDoc } from "../../../services/dialer/call/calls.model.ts";
import { documentOf } from "../../../services/leads/push/lead-document.ts";
import type { LeadDoc } from "../../../services/leads/leads.model.ts";
import { calleeNumber } from "../callees.ts";
import { startRecorder, type Recorder } from "./carrier-recorder.ts";

/** A merchant with lines of its own and templates, each of which is a queue. */
export interface Tenant {
  reseller_id: string;
  merchant_id: string;
  queues: { template_id: string; configuration_id: string }[];
}

/** The product under measurement: real services, the embedded store as its own process, a carrier that only takes notes. */
export interface World {
  stack: Stack;
  client: Client;
  recorder: Recorder;
  leads: Collection<LeadDoc>;
  calls: Collection<CallDoc>;
  tenant(queues: number, slots: number, more?: Record<string, unknown>): Promise<Tenant>;
  stop(): Promise<void>;
}

/** How a world is started. `onDeath` hears of processes that die. */
export interface WorldOptions extends Partial<Pick<StackOptions, "replicas" | "treeOf">> {
  split?: boolean;
  env?: Record<string, string>;
  onDeath?: (said: string) => void;
}

const SLOTS_PER_NUMBER = 50;
const SEED_BATCH = 1000;
const SEEDS_AT_ONCE = 4;
const ERRORS_SHOWN = 5;
const MS_PER_SECOND = 1000;
const TEMPLATE = { version: 1, name: "order-confirmation", max_age_seconds: 1_000_000 };

let numbers = 0;
const nextNumber = (): string => `+1415555${String(1000 + numbers++).padStart(4, "0")}`;

/** Makes a reseller, a merchant, their numbers and `queues` templates, each with a configuration. */
async function makeTenant(
  client: Client,
  queues: number,
  slots: number,
  more: Record<string, unknown> = {},
): Promise<Tenant> {
  const { id: reseller_id } = await client.ask("POST", "/resellers", {
    body: { name: `Bench ${randomUUID().slice(0, 8)}` },
  });
  const { id: merchant_id } = await client.ask("POST", "/merchants", {
    body: { name: "Bench", reseller_id, contact_email: "bench@bench.example" },
  });
  const scope = { reseller_id, merchant_id };
  for (let left = slots; left > 0; left -= SLOTS_PER_NUMBER) {
    await client.ask("POST", "/numbers", {
      body: {
        phone_number: nextNumber(),
        provider: "PROVIDER_ONE",
        status: "AVAILABLE",
        channel: "voice",
        max_concurrent_calls: Math.min(left, SLOTS_PER_NUMBER),
        ...scope,
      },
    });
  }
  const made: Tenant["queues"] = [];
  const [template] = sampleTemplates;
  for (let i = 0; i < queues; i++) {
    const { id: template_id } = await client.ask("POST", "/templates", {
      body: { ...scope, ...template, name: `bench-${i}` } as never,
    });
    const { id: configuration_id } = await client.ask("POST", "/configurations", {
      body: {
        template_id,
        initial_offset: 0,
        retry_offset: 60,
        call_start_time: "00:00",
        call_end_time: "00:00",
        max_retry: 0,
        calling_provider: "PROVIDER_ONE",
        ...more,
      } as never,
    });
    made.push({ template_id, configuration_id });
  }
  return { ...scope, queues: made };
}

/** Starts a world in a folder of its own. */
export async function startWorld({
  split = false,
  env = {},
  replicas,
  treeOf,
  onDeath,
}: WorldOptions = {}): Promise<World> {
  const path = mkdtempSync(join(tmpdir(), "callagent-bench-"));
  const folder = openFolder(path, false);
  let errors = 0;
  const secrets = localSecrets(folder);
  const recorder = await startRecorder(secrets.twilio_account_sid, secrets.twilio_auth_token);
  const stack = await startStack({
    folder,
    split,
    httpPort: await freePort(),
    mediaPort: await freePort(),
    carrierPort: await freePort(),
    timeScale: 1,
    seed: "bench",
    ...(replicas ? { replicas } : {}),
    ...(treeOf ? { treeOf } : {}),
    between: { carrier: () => Promise.resolve(recorder.url) },
    env: {
      LOG_LEVEL: "warn",
      API_RATE_LIMIT_PER_MINUTE: "0",
      PROVIDER_ONE_CALLS_PER_SECOND: "0",
      SCHEDULER_BATCH: "200",
      ...env,
    },
    onLog: (line) => {
      if (line.level === "error" && errors++ < ERRORS_SHOWN) console.error(JSON.stringify(line).slice(0, 400));
    },
    onDeath: onDeath ?? ((said) => console.error(said)),
  });
  const { client } = await seed(stack, folder, { initial_offset: 0, retry_offset: 1 });
  const mongo = await MongoClient.connect(stack.mongoUri);

  return {
    stack,
    client,
    recorder,
    tenant: (queues, slots, more) => makeTenant(client, queues, slots, more),
    leads: mongo.db().collection<LeadDoc>("leads"),
    calls: mongo.db().collection<CallDoc>("calls"),
    async stop() {
      await mongo.close();
      await stack.stop();
      await recorder.close();
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The lead that a push of the `n`-th callee leaves behind, due when it is said, and with its first event in the log: what the leads service itself makes, or its sweeps would make it so beside the measurement. */
export function leadOf({ reseller_id, merchant_id }: Tenant, template_id: string, due_at: Date, n: number): LeadDoc {
  const now = new Date();
  const phone_number = calleeNumber(n);
  const payload = {
    customer_mobile_number: phone_number,
    customer_name: "Ada",
    order_id: `A-${n}`,
    amount: "42.00",
    delivery_date: "Monday, June 9",
  };
  const pushed = { request_id: `bench-${n}`, template_id, reseller_id, merchant_id, payload };
  const initial_offset = (due_at.getTime() - now.getTime()) / MS_PER_SECOND;
  const template = { ...TEMPLATE, template_id, reseller_id, merchant_id, initial_offset };
  const { outbox: _outbox, outbox_at: _at, ...lead } = documentOf(randomUUID(), merchant_id, pushed, template, phone_number, now); // prettier-ignore
  return lead;
}

/** Writes `count` leads straight into the database, spread over the tenant's queues, for the callees from number `first` on; what was written, when `keep`. */
export async function seedLeads(
  { leads }: World,
  tenant: Tenant,
  count: number,
  dueOf: (n: number) => Date,
  { keep = true, first = 0 } = {},
): Promise<Map<string, number>> {
  const due = new Map<string, number>();
  let next = 0;
  await Promise.all(
    Array.from({ length: SEEDS_AT_ONCE }, async () => {
      for (let from = next; from < count; from = next) {
        next += SEED_BATCH;
        const docs = Array.from({ length: Math.min(SEED_BATCH, count - from) }, (_, i) =>
          leadOf(
            tenant,
            tenant.queues[(from + i) % tenant.queues.length]?.template_id ?? "",
            dueOf(from + i),
            first + from + i,
          ),
        );
        if (keep) for (const doc of docs) due.set(doc._id, doc.due_at?.getTime() ?? 0);
        await leads.insertMany(docs, { ordered: false });
      }
    }),
  );
  return due;
}
