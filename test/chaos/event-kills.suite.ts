import { randomUUID } from "node:crypto";
import { MongoClient } from "mongodb";
import { between, choose } from "../../local/carriers/exchange/seeded-random.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { after, asMerchant, until } from "../../local/harness/stage.ts";
import { ROOT } from "../../local/tools/stack/project-root.ts";
import { EVENT_NAMES, EVENTS } from "../../shared/contracts/events/catalogue.ts";
import { followStream, receiveHooks, startConsumer, type Reader } from "./fixtures/event-readers.ts";
import { pushPaced } from "./fixtures/paced-pushes.ts";
import { playDialer, type PlayedDialer } from "../../local/harness/played/played-dialer.ts";

/** `npm run test:real -- nats`: every event of every lead reaches every kind of reader, whoever is killed meanwhile. */
const LEADS = Number(process.env["EVENT_KILL_LEADS"] ?? 60);
/**
 * More leads than these are called by the test itself, over the bus, with the requests of scheduler, dialer and conversation: what the product makes of
 * carriers, people and audio takes a machine of two processors hours for ten thousand calls, and has no part in events.
 */
const MOST_CALLED = 200;
const PLAYED = LEADS > MOST_CALLED;
const LEASE_SECONDS = 10;
/** Who is killed when. */
const SEED = process.env["EVENT_KILL_SEED"] ?? randomUUID();
/**
 * Between two kills: of many leads so long that most is well again before the next, else they would wait for time limits for hours. A process that came back twenty times in
 * a row, and lived for less than 30 s each time, is left dead by the harness: the six are killed every 40 s each in the mean, or more seldom.
 */
const [SOON_MS, LATE_MS] = PLAYED ? [5000, 35_000] : [2000, 12_000];
const START_MS = 150_000;
/** What was in flight at a kill is looked for when its lease ends; a lead goes its road in seconds, and once more after a lost lease. */
const TEST_MS = 600_000 + LEADS * 1000;
const POLL_MS = 500;
/** Pushes at a time: while a process is away each waits for a time limit. */
const PUSHES = 48;
/** Kills go on until so many of the leads are over. */
const MOST = 0.9;
const TELL_MS = 30_000;
/** What the test does itself for many leads. */
const PLAYED_CHILDREN = ["scheduler", "dialer", "conversation", "carrier", "models"] as const;
const KILLED = ["leads", "nats", "webhook", "leads-2", "store", "webhook-2"] as const;
/** Who answers: most lines are busy, which makes a second attempt and costs the machine least; some hang up at once, and one in eight has a whole conversation. */
const PEOPLE = ["01", "06", "06", "04", "06", "06", "04", "06"] as const;

const WRITTEN = EVENT_NAMES.filter((name) => EVENTS[name].subject === "lead");

describe("publisher, NATS server, webhook service and store are killed again and again", () => {
  let product: Product;
  let pusher: Pusher;
  let store: MongoClient;
  let played: PlayedDialer | null = null;
  let bus = "";
  const readers: Reader[] = [];
  beforeAll(async () => {
    product = await startProduct({
      split: true,
      // one bus for everybody, so that the test may read the stream
      treeOf: () => ROOT,
      replicas: { leads: 2, webhook: 2 },
      between: { bus: (url) => Promise.resolve((bus = url)) },
      env: {
        CALLAGENT_EVENTS: "jetstream",
        LEASE_SECONDS: String(LEASE_SECONDS),
        SWEEP_INTERVAL_MS: "500",
        // the lines of so many leads would fill the memory of the test
        LOG_LEVEL: "warn",
      },
    });
    pusher = await startPushing(product);
    const hooks = await receiveHooks();
    readers.push(hooks, await startConsumer(bus), followStream(`${product.stack.baseUrl}/events`, pusher.token));
    const { reseller_id, merchant_id } = product.sample;
    await pusher.client.ask("POST", "/webhook-endpoints", {
      body: { reseller_id, merchant_id, url: hooks.url, types: WRITTEN },
    });
    store = await MongoClient.connect(product.stack.mongoUri);
    if (!PLAYED) return;
    for (const child of PLAYED_CHILDREN) await product.stack.children.get(child)?.down("SIGKILL");
    played = await playDialer({
      busUrl: bus,
      seed: SEED,
      leaseSeconds: LEASE_SECONDS,
      by: asMerchant(reseller_id, merchant_id),
      templateId: product.sample.templates[0]?.id ?? "",
    });
  }, START_MS);
  afterAll(async () => {
    await played?.stop();
    await Promise.all(readers.map((reader) => reader.close()));
    await store?.close();
    if (product) await product.stop();
  }, START_MS);

  const leads = () => store.db().collection<{ _id: string; event_seq: number; status: string }>("leads");
  /** How many leads are over; 0 while the store is away. */
  const over = (): Promise<number> =>
    leads()
      .countDocuments({ status: "FINISHED" })
      .catch(() => 0);

  /** What each lead's own record says of its events: how many there are. Empty while a lead is not over. */
  async function told(): Promise<Map<string, number>> {
    if ((await over()) < LEADS || (await leads().countDocuments({ status: { $ne: "FINISHED" } })) > 0) return new Map();
    const all = await leads()
      .find({}, { projection: { event_seq: 1 } })
      .toArray();
    return new Map(all.map(({ _id, event_seq }) => [_id, event_seq]));
  }

  /** Kills one after the other, until most leads are over and each has died. */
  async function killAll(pushing: () => boolean): Promise<void> {
    for (let kills = 0; ; kills++) {
      await after(between(SOON_MS, LATE_MS, SEED, "when", kills));
      const alive = KILLED.filter((child) => product.deaths(child) === 0);
      const most = !pushing() && (await over()) >= MOST * LEADS;
      if (most && alive.length === 0) return;
      const child = choose(most ? alive : KILLED, SEED, "who", kills);
      product.stack.children.get(child)?.kill("SIGKILL");
    }
  }

  /** Where the run is, for who waits for a long one. */
  async function tellProgress(began: number): Promise<void> {
    const [seconds, finished] = [Math.round((performance.now() - began) / 1000), await over()];
    const read = readers.map(({ name, count }) => `${name} ${count()}`).join(", ");
    const died = KILLED.map((child) => `${child} ${product.deaths(child)}`).join(", ");
    const refused = played === null ? "" : `; insisted on ${JSON.stringify(played.failures())}`;
    process.stderr.write(
      `${seconds} s, seed ${SEED}: ${finished} of ${LEADS} over; ${read}; died: ${died}${refused}\n`,
    );
  }

  /** Pushes all leads: one by one as clients do, or by the hundred, no faster than they are called. */
  function pushAll(): Promise<unknown> {
    const numbers = Array.from({ length: LEADS }, (_, i) => callee(i, PEOPLE[i % PEOPLE.length] ?? "01"));
    if (played === null) return pusher.insistAll(numbers, { report: false }, { parallel: PUSHES, insistMs: TEST_MS });
    const { reseller_id, merchant_id } = product.sample;
    return pushPaced(product, played, asMerchant(reseller_id, merchant_id), numbers, readers);
  }

  test(
    "every event of every lead arrives at a webhook endpoint that fails every third, at a JetStream consumer and at a stream's reader, in order, and again only with its id",
    async () => {
      const began = performance.now();
      const telling = setInterval(() => void tellProgress(began), TELL_MS);
      let pushing = true;
      const pushed = pushAll().finally(() => (pushing = false));
      pushed.catch(() => undefined);
      await killAll(() => pushing);
      await pushed;
      // costs come last, and nothing says that they were the last: all readers have what the records say, and still a while later
      const whole = async (): Promise<Map<string, number> | undefined> => {
        const events = await told().catch(() => new Map<string, number>());
        const all = events.size > 0 && readers.every(({ missing }) => missing(events).length === 0);
        return all ? events : undefined;
      };
      const events = await until("every reader to have every event", whole, TEST_MS, POLL_MS).catch(() => told());
      clearInterval(telling);
      await tellProgress(began);
      expect(events.size).toBeGreaterThanOrEqual(LEADS);
      for (const { name, missing, faults } of readers)
        expect({ name, missing: missing(events).slice(0, 10), faults: faults() }).toEqual({
          name,
          missing: [],
          faults: [],
        });
    },
    2 * TEST_MS + START_MS,
  );
});
