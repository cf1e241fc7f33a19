import { startBusProxy, type BusProxy } from "../../local/harness/bus-proxy.ts";
import { gather } from "../../local/harness/evidence.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";

const START_MS = 120_000;
const TEST_MS = 180_000;
const SWEEP_MS = 500;
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: String(SWEEP_MS),
  SCHEDULER_INTERVAL_MS: "500",
};
const PEOPLE = ["01", "04", "06", "01", "08", "13", "01", "06", "01", "04", "01", "01"];
/** With every event lost, a finished lead's report is found by the sweep, twice a second here; what a busy machine needs besides. */
const REPORT_LAG_MS = 30_000;
/** How long one process's way to the bus is away. */
const PARTED_MS = 12_000;
const SHUFFLE_MS = 400;

/** That the bus is away for everybody (F29): fault-suite.slow.test.ts, bus-away. */
describe("the bus fails, two schedulers", () => {
  let product: Product;
  let pusher: Pusher;
  let bus: BusProxy | null = null;
  let numbers = 0;
  const people = (): string[] => PEOPLE.map((who) => callee(numbers++, who));
  beforeAll(async () => {
    product = await startProduct({
      split: true,
      replicas: { scheduler: 2 },
      env: ENV,
      between: { bus: (url, child) => (bus ??= startBusProxy(url)).urlFor(child) },
    });
    pusher = await startPushing(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
    await bus?.close();
  }, START_MS);
  const theBus = (): BusProxy =>
    bus ??
    (() => {
      throw new Error("no bus");
    })();

  test(
    "F30: all events lost; polls and sweeps do the work, reports come within seconds",
    async () => {
      theBus().events(() => []);
      const lost = theBus().counts().lost;
      const ids = await pusher.insistAll(people());
      const { leads, delivered } = await invariants(product);
      theBus().events(null);
      expect(theBus().counts().lost - lost).toBeGreaterThan(ids.length);
      for (const lead of leads) {
        const first = Math.min(...delivered.filter((d) => d.lead_id === lead._id).map((d) => d.at));
        expect(first - (lead.finished_at?.getTime() ?? 0)).toBeLessThanOrEqual(REPORT_LAG_MS);
      }
    },
    TEST_MS,
  );

  test(
    "F31: every event twice, and in any order; no effect",
    async () => {
      theBus().events(() => [Math.random() * SHUFFLE_MS, Math.random() * SHUFFLE_MS]);
      const before = theBus().counts().repeated;
      const ids = await pusher.insistAll(people());
      const { delivered } = await invariants(product);
      theBus().events(null);
      expect(theBus().counts().repeated).toBeGreaterThan(before);
      for (const id of ids) expect(delivered.filter((d) => d.lead_id === id)).toHaveLength(1);
    },
    TEST_MS,
  );

  test(
    "F32: one scheduler is cut off from the bus; the other goes on, and never both dial",
    async () => {
      const parted = after(PARTED_MS);
      theBus().partition("scheduler-2", true);
      await pusher.insistAll(people());
      await until(
        "calls to be placed without it",
        async () => (await gather(product)).calls.some((c) => c.ended_at === null) || undefined,
        TEST_MS,
        100,
      );
      await parted;
      theBus().partition("scheduler-2", false);
      await pusher.insistAll(people().slice(0, 4));
      await invariants(product);
    },
    TEST_MS,
  );
});
