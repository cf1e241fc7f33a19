import { MongoClient } from "mongodb";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { after, until } from "../../local/harness/stage.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { EVENT_NAMES, EVENTS } from "../../shared/contracts/events/catalogue.ts";
import { followStream, receiveHooks, startConsumer, type Reader } from "./fixtures/event-readers.ts";

/** `npm run test:real -- nats`: every event of every lead reaches every kind of reader, whoever is killed meanwhile. EVENT_KILL_LEADS: how many leads. */
const LEADS = Number(process.env["EVENT_KILL_LEADS"] ?? 60);
/** Between two kills, so that the process killed last has begun to work again, mostly. */
const KILL_EVERY_MS = 4000;
const START_MS = 150_000;
/** What was in flight at a kill is looked for when its lease ends; a lead goes its road in seconds, and once more after a lost lease. */
const TEST_MS = 600_000 + LEADS * 1000;
const POLL_MS = 500;
const KILLED = ["leads", "nats", "webhook", "leads-2", "store", "webhook-2"] as const;
const WRITTEN = EVENT_NAMES.filter((name) => EVENTS[name].written && EVENTS[name].subject === "lead");

describe("publisher, NATS server, webhook service and store are killed again and again", () => {
  let product: Product;
  let pusher: Pusher;
  let store: MongoClient;
  let bus = "";
  const readers: Reader[] = [];
  beforeAll(async () => {
    product = await startProduct({
      split: true,
      // one bus for everybody, so that the test may read the stream
      treeOf: () => ROOT,
      replicas: { leads: 2, webhook: 2 },
      between: { bus: (url) => Promise.resolve((bus = url)) },
      env: { CALLAGENT_EVENTS: "jetstream", LEASE_SECONDS: "10", SWEEP_INTERVAL_MS: "500" },
    });
    pusher = await startPushing(product);
    const hooks = await receiveHooks();
    readers.push(hooks, await startConsumer(bus), followStream(`${product.stack.baseUrl}/events`, pusher.token));
    const { reseller_id, merchant_id } = product.sample;
    await pusher.client.ask("POST", "/webhook-endpoints", {
      body: { reseller_id, merchant_id, url: hooks.url, types: WRITTEN },
    });
    store = await MongoClient.connect(product.stack.mongoUri);
  }, START_MS);
  afterAll(async () => {
    await Promise.all(readers.map((reader) => reader.close()));
    await store?.close();
    if (product) await product.stop();
  }, START_MS);

  /** What each lead's own record says of its events: how many there are. */
  async function told(): Promise<Map<string, number>> {
    const leads = await store
      .db()
      .collection<{ _id: string; event_seq: number; status: string }>("leads")
      .find({}, { projection: { event_seq: 1, status: 1 } })
      .toArray();
    const over = leads.length >= LEADS && leads.every(({ status }) => status === "FINISHED");
    return new Map(over ? leads.map(({ _id, event_seq }) => [_id, event_seq]) : []);
  }

  test(
    "every event of every lead arrives at a webhook endpoint that fails every third, at a JetStream consumer and at a stream's reader, in order, and again only with its id",
    async () => {
      const state = { pushing: true };
      const numbers = Array.from({ length: LEADS }, (_, i) => callee(i, "01"));
      const pushed = pusher.insistAll(numbers, { report: false }).finally(() => (state.pushing = false));
      pushed.catch(() => undefined);
      for (let kills = 0; state.pushing || kills < KILLED.length; kills++) {
        await after(KILL_EVERY_MS);
        product.stack.children.get(KILLED[kills % KILLED.length] ?? "leads")?.kill("SIGKILL");
      }
      await pushed;
      await until("all to have died", async () => KILLED.every((child) => product.deaths(child) > 0) || undefined);
      // costs come last, and nothing says that they were the last: all readers have what the records say, and still a while later
      const whole = async (): Promise<Map<string, number> | undefined> => {
        const events = await told().catch(() => new Map<string, number>());
        const all = events.size > 0 && readers.every(({ missing }) => missing(events).length === 0);
        return all ? events : undefined;
      };
      const events = await until("every reader to have every event", whole, TEST_MS, POLL_MS).catch(() => told());
      expect(events.size).toBeGreaterThanOrEqual(LEADS);
      for (const { name, missing, faults } of readers)
        expect({ name, missing: missing(events).slice(0, 10), faults: faults() }).toEqual({
          name,
          missing: [],
          faults: [],
        });
    },
    TEST_MS + START_MS,
  );
});
