import { gather } from "../../local/harness/evidence.ts";
import { invariants } from "../../local/harness/invariants.ts";
import { REPLICAS_ENV, startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../local/harness/tcp-proxy.ts";
import { IS_LONG_FORM } from "../fixtures/long-form.ts";

const START_MS = 150_000;
const TEST_MS = 300_000;
const QUIET_MS = 150_000;
/** A rate limit for the second template: so many in any such window, over all schedulers and dialers. */
const LIMIT = { rate_limit_enabled: true, rate_limit_max_calls: 12, rate_limit_window_seconds: 4 };
const LIMITED_LEADS = 24;
const LEADS = IS_LONG_FORM ? 500 : 200;
const LINES = 100;
/** Longer than the deadline between intent and request (10 s), so that a process that wakes up must not send. */
const PAUSE_MS = 12_000;
const CROWD = ["10", "06", "04", "10", "15", "10", "06", "10", "01", "10"];

describe("three schedulers, two dialers, two services for leads, two conversations", () => {
  let product: Product;
  let pusher: Pusher;
  let store: TcpProxy;
  let numbers = 0;
  beforeAll(async () => {
    product = await startProduct({
      split: true,
      env: REPLICAS_ENV,
      timeScale: 40,
      replicas: { scheduler: 3, dialer: 2, leads: 2, conversation: 2 },
      between: {
        store: async (url) => {
          store = await startTcpProxy(url);
          return through(store, url);
        },
      },
    });
    pusher = await startPushing(product);
    const { numbers: listed } = await product.admin.ask("GET", "/numbers", { query: {} });
    for (const { id } of listed)
      await product.admin.ask("PUT", "/numbers/{number_id}", {
        path: { number_id: id },
        body: { max_concurrent_calls: LINES },
      });
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
    await store?.close();
  }, START_MS);
  const crowd = (n: number): string[] =>
    Array.from({ length: n }, (_, i) => callee(numbers++, CROWD[i % CROWD.length] ?? "06"));
  const judge = () => invariants(product, [], { callsPerSecond: 0, quietMs: QUIET_MS });
  const child = (name: string) =>
    product.stack.children.get(name) ??
    (() => {
      throw new Error(`no child ${name}`);
    })();

  test(
    "F34: hundreds of leads, and a rate limit on some; each claim is won once, each attempt rings once, no window holds too many",
    async () => {
      const [, limited] = product.sample.templates;
      await product.admin.ask("PUT", "/configurations/{config_id}", {
        path: { config_id: limited?.configuration_id ?? "" },
        body: LIMIT,
      });
      const slow = await pusher.insistAll(
        Array.from({ length: LIMITED_LEADS }, () => callee(numbers++, "04")),
        limited ? { template_id: limited.id } : {},
      );
      const ids = await pusher.insistAll(crowd(LEADS));
      await until(
        "all leads to have ended",
        async () =>
          (await gather(product)).leads.filter((l) => l.status === "FINISHED").length === ids.length + slow.length ||
          undefined,
        TEST_MS,
        1000,
      );
      const { leads, calls } = await judge();
      expect(leads).toHaveLength(LEADS + LIMITED_LEADS);
      expect(calls.filter((c) => slow.some((id) => c.reference?.startsWith(id))).length).toBeGreaterThanOrEqual(
        LIMITED_LEADS,
      );
    },
    TEST_MS * 2,
  );

  test(
    "F33: a dialer stands still between intent and request, a scheduler in the middle of its work, both longer than the deadline",
    async () => {
      const isIntent = (request: Buffer): boolean =>
        request.includes("insert\u0000") && request.includes("calls\u0000");
      const held = store.holdReply(isIntent);
      const ids = await pusher.insistAll(crowd(10));
      await held;
      const still = ["dialer", "dialer-2", "scheduler"].map(child);
      for (const one of still) one.kill("SIGSTOP");
      await store.heal();
      await after(PAUSE_MS);
      const sent = new Set(product.log.filter((l) => l.event === "call.dialling").map((l) => l["call_ref"]));
      const between = (await gather(product)).attempts.filter((a) => a.state === "DIALING" && !sent.has(a._id));
      for (const one of still) one.kill("SIGCONT");
      const { leads, calls } = await judge();
      for (const id of ids) expect(leads.find((l) => l._id === id)?.status).toBe("FINISHED");
      // whatever the process says of it first when it wakes up: their time is over
      expect(between.length).toBeGreaterThan(0);
      expect(calls.filter((c) => between.some((a) => a._id === c.reference))).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "F56: every process is replaced in turn under load; no call and no report is lost",
    async () => {
      const enough = new AbortController();
      const pushed: Promise<string>[] = [];
      const load = (async () => {
        while (!enough.signal.aborted) {
          pushed.push(pusher.insist(crowd(1)[0] ?? ""));
          await after(150);
        }
      })();
      for (const name of product.stack.serviceChildren) {
        const before = child(name).pid();
        await child(name).down("SIGTERM");
        await child(name).up();
        expect(child(name).pid()).not.toBe(before);
      }
      await after(1000);
      enough.abort();
      await load;
      const ids = await Promise.all(pushed);
      const { leads } = await judge();
      for (const id of ids) expect(leads.find((l) => l._id === id)?.status).toBe("FINISHED");
      expect(leads.filter((l) => ids.includes(l._id) && l.outcome === "call_error").map((l) => l._id)).toEqual([]);
    },
    TEST_MS,
  );
});
