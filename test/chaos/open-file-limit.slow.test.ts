import { connect, type Socket } from "node:net";
import { gather } from "../../local/harness/evidence.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";

const START_MS = 120_000;
const TEST_MS = 240_000;
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
};
/** Enough to run, and few enough to be used up by idle connections. */
const OPEN_FILES = 200;
const IDLE_CONNECTIONS = 300;
/** Slow enough that the starved seconds are no silence after which a person hangs up, on a busy machine too. */
const TIME_SCALE = 2;
const STARVED_MS = 5000;
const QUIET_MS = 200_000;
/** A push answers by the time that a call on the bus may take, 10 s, and what a busy machine needs besides. */
const ANSWER_MS = 30_000;

describe("the process may open no more files and sockets", () => {
  let product: Product;
  let pusher: Pusher;
  beforeAll(async () => {
    product = await startProduct({ env: ENV, openFiles: OPEN_FILES, timeScale: TIME_SCALE });
    pusher = await startPushing(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "F55: new work is refused, calls that live go on, and all recovers when there is room",
    async () => {
      const first = await pusher.insistAll(Array.from({ length: 6 }, (_, i) => callee(i, "16")));
      await until(
        "live conversations",
        async () => {
          // one that rings still would be answered into the want of sockets: its carrier can't ask what to do, and ends it
          const answered = (await gather(product)).calls.filter((c) => c.answered_at !== null);
          const live = answered.filter((c) => c.ended_at === null);
          return (answered.length === first.length && live.length >= 3) || undefined;
        },
        TEST_MS,
        50,
      );
      const { hostname, port } = new URL(product.stack.httpUrl);
      const hogs: Socket[] = Array.from({ length: IDLE_CONNECTIONS }, () =>
        connect(Number(port), hostname).on("error", () => undefined),
      );
      await after(STARVED_MS / 2);
      const asked = performance.now();
      const refused = await pusher.push(callee(100, "01")).then(
        () => "taken",
        () => "refused",
      );
      expect(performance.now() - asked).toBeLessThan(ANSWER_MS);
      expect(
        hogs.filter((h) => h.destroyed || h.readyState !== "open").length + (refused === "refused" ? 1 : 0),
      ).toBeGreaterThan(0);
      await after(STARVED_MS / 2);
      for (const hog of hogs) hog.destroy();
      const later = await pusher.insistAll([callee(200, "01"), callee(201, "06")]);
      const { leads } = await invariants(product, [], { quietMs: QUIET_MS });
      expect(product.deaths("services")).toBe(0);
      expect(product.log.filter((l) => l.level === "death")).toEqual([]);
      const others = leads.filter((l) => [...first, later[0]].includes(l._id) && l.outcome !== "confirmed");
      // with what the log says of them
      expect(others.map(({ _id, outcome }) => [outcome, product.log.filter((l) => l["lead_id"] === _id)])).toEqual([]);
    },
    TEST_MS,
  );
});
