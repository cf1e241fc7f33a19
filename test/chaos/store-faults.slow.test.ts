import { MongoClient } from "mongodb";
import { ApiFailure } from "../../local/tools/api-client.ts";
import { leadOf } from "../../local/faults/judge.ts";
import { gather } from "../../local/harness/evidence.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../local/harness/tcp-proxy.ts";

const START_MS = 90_000;
const TEST_MS = 180_000;
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
};
const PEOPLE = ["01", "04", "06", "01", "13", "01", "06", "01"];
const FAIL_OVER_MS = 12_000;
/** How long nothing listens where the database was. */
const REFUSED_MS = 5000;
/** Ends of the numbers of people who confirm. */
const CONFIRMS = "01";
const NOT_WRITABLE_PRIMARY = 10_107;
const WRITES = ["insert", "update", "findAndModify", "delete", "bulkWrite"];
/** Replies lost in one test: of every kind of write on a lead's path. */
const LOST_REPLIES = 40;
/** A push answers by the time that a call on the bus may take, 10 s, and what a busy machine needs besides. */
const ANSWER_MS = 30_000;
const PILE = 40;

const isWrite = (request: Buffer): boolean =>
  ["update\u0000", "findAndModify\u0000", "insert\u0000", "bulkWrite\u0000"].some((word) => request.includes(word)) &&
  ["leads", "calls", "numbers", "deliveries"].some((word) => request.includes(`${word}\u0000`));

describe("the database fails", () => {
  let product: Product;
  let pusher: Pusher;
  let store: TcpProxy;
  let direct: MongoClient;
  let numbers = 0;
  const people = (): string[] => PEOPLE.map((who) => callee(numbers++, who));
  beforeAll(async () => {
    product = await startProduct({
      env: ENV,
      between: {
        store: async (url) => {
          store = await startTcpProxy(url);
          return through(store, url);
        },
      },
    });
    pusher = await startPushing(product);
    direct = await MongoClient.connect(product.stack.mongoUri);
  }, START_MS);
  afterAll(async () => {
    await direct?.close();
    if (product) await product.stop();
    await store?.close();
  }, START_MS);
  afterEach(async () => {
    await store.heal();
    await failPoint("off");
  });
  const failPoint = (mode: unknown, data: Record<string, unknown> = {}) =>
    direct.db("admin").command({ configureFailPoint: "failCommand", mode, ...(mode === "off" ? {} : { data }) });
  const callsUnderWay = () =>
    until(
      "calls to be under way",
      async () => (await gather(product)).calls.some((c) => c.ended_at === null) || undefined,
      TEST_MS,
      100,
    );

  /** The leads of people who confirm whose conversation is under way. */
  const conversationsUnderWay = () =>
    until(
      "conversations to be under way",
      async () => {
        const begun = new Set(product.log.filter((l) => l.event === "talk.started").map((l) => l["lead_id"]));
        const live = (await gather(product)).calls.filter((c) => c.ended_at === null && c.to.endsWith(CONFIRMS));
        const found = live.map(leadOf).filter((id) => begun.has(id));
        return found.length > 0 ? found : undefined;
      },
      TEST_MS,
      50,
    );

  test(
    "F25: writes are applied and their replies lost; no step is made twice",
    async () => {
      store.loseReplies(isWrite, LOST_REPLIES);
      const ids = await pusher.insistAll(people());
      const evidence = await invariants(product);
      expect(store.lost()).toBe(LOST_REPLIES);
      expect(evidence.leads).toHaveLength(ids.length);
    },
    TEST_MS,
  );

  test(
    "F24: no primary for 12 s in the middle of calls, then no database at all; conversations go on and are settled with what was said, and then all go on",
    async () => {
      await pusher.insistAll(people());
      const talks = await conversationsUnderWay();
      const failOver = after(FAIL_OVER_MS);
      await failPoint("alwaysOn", { failCommands: WRITES, errorCode: NOT_WRITABLE_PRIMARY });
      const refusal = await pusher.push(callee(numbers++, "01")).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ status: 500, code: "STORE_UNAVAILABLE" }); // the contract's answer of a push whose database is away
      await failOver;
      await store.refuse(true);
      await failPoint("off");
      await after(REFUSED_MS);
      await store.refuse(false);
      await pusher.insistAll(people().slice(0, 2));
      const { leads } = await invariants(product);
      expect(leads.filter(({ _id }) => talks.includes(_id)).map(({ outcome }) => outcome)).toEqual(
        talks.map(() => "confirmed"),
      );
    },
    TEST_MS,
  );

  test(
    "every connection to the database is reset again and again",
    async () => {
      const pushing = pusher.insistAll(people());
      for (let time = 0; time < 10; time++) {
        await after(500);
        store.reset();
      }
      await pushing;
      await invariants(product);
    },
    TEST_MS,
  );

  test(
    "F27: the database stands still; pushes are refused in time and do not pile up, then all recovers",
    async () => {
      const before = await pusher.insistAll(people());
      await callsUnderWay();
      store.set("down", { mode: "pause" });
      const asked = performance.now();
      const answers = await Promise.all(
        Array.from({ length: PILE }, () => pusher.push(callee(numbers++, "01")).catch((error: unknown) => error)),
      );
      expect(performance.now() - asked).toBeLessThan(ANSWER_MS);
      for (const answer of answers)
        expect(["STORE_UNAVAILABLE", "TIMEOUT", "DEPENDENCY_DOWN", "BUSY"]).toContain(
          answer instanceof ApiFailure ? answer.code : answer,
        );
      await store.heal();
      await pusher.insistAll(people().slice(0, 2));
      const { leads } = await invariants(product);
      expect(leads.filter((l) => before.includes(l._id))).toHaveLength(before.length);
    },
    TEST_MS,
  );
});
