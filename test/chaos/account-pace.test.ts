import { REPLICAS_ENV, startProduct, type Product } from "../../local/harness/product.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";

const START_MS = 120_000;
const TEST_MS = 180_000;
const PER_SECOND = 5;
const LEADS = 60;
const LINES = 100;
/** So many calls are placed before a dialer dies, each time. */
const CALLS_PER_LIFE = 12;
const DEATHS = 3;

describe("an account of five calls a second, two dialers", () => {
  let product: Product;
  let pusher: Pusher;
  beforeAll(async () => {
    product = await startProduct({
      split: true,
      replicas: { dialer: 2 },
      timeScale: 40,
      env: { ...REPLICAS_ENV, PROVIDER_ONE_CALLS_PER_SECOND: String(PER_SECOND) },
    });
    pusher = await startPushing(product);
    const { numbers } = await product.admin.ask("GET", "/numbers", { query: {} });
    for (const { id } of numbers)
      await product.admin.ask("PUT", "/numbers/{number_id}", {
        path: { number_id: id },
        body: { max_concurrent_calls: LINES },
      });
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  test(
    "dialers are killed again and again and callbacks come late: the ledger never has six calls in a second",
    async () => {
      await product.injectFault({ kind: "delay_callbacks", seconds: 2 });
      await pusher.insistAll(Array.from({ length: LEADS }, (_, i) => callee(i, "06")));
      for (let i = 1; i <= DEATHS; i++) {
        await until("some calls", async () => (await product.ledgerCalls()).length >= i * CALLS_PER_LIFE || undefined);
        product.stack.children.get(i % 2 === 0 ? "dialer-2" : "dialer")?.kill("SIGKILL");
        await after(500);
      }
      await product.injectFault(null);
      const { calls } = await invariants(product, [], { callsPerSecond: PER_SECOND });
      expect(calls.length).toBeGreaterThanOrEqual(LEADS);
      expect(product.deaths("dialer") + product.deaths("dialer-2")).toBe(DEATHS);
    },
    TEST_MS,
  );
});
