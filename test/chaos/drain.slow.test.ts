import { leadByApi, leadOf, ringsTwice, unfinished, type Witnesses } from "../../local/faults/judge.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { campaignOf, startProduct, type LedgerCall, type Product } from "../../local/harness/product.ts";
import { until } from "../../local/harness/stage.ts";
import { phrasesFor } from "../../shared/phrases.ts";
import type { Provider } from "../../shared/contracts/records/configuration.ts";

const START_MS = 120_000;
const TEST_MS = 180_000;
const PATIENCE_MS = 90_000;
const POLL_MS = 100;
const CALLS_EACH = 3;
/** By the one media are led over a socket, by the other a document after each turn. */
const MEDIA: Provider = "PROVIDER_ONE";
const XML: Provider = "PROVIDER_TWO";

let product: Product;
let pusher: Pusher;
let numbers = 0;
beforeAll(async () => {
  product = await startProduct({
    split: true,
    timeScale: 4,
    providers: [MEDIA, XML],
    env: {
      LEASE_SECONDS: "5",
      SWEEP_INTERVAL_MS: "500",
      SCHEDULER_INTERVAL_MS: "300",
      SHUTDOWN_GRACE_SECONDS: "120",
    },
  });
  pusher = await startPushing(product);
}, START_MS);
afterAll(async () => {
  if (product) await product.stop();
}, START_MS);

const push = (provider: Provider): Promise<string[]> =>
  pusher.insistAll(
    Array.from({ length: CALLS_EACH }, () => callee(numbers++, "01")),
    { template_id: campaignOf(product, provider) },
  );
const child = (name: string) => product.stack.children.get(name);
const begun = (): Set<unknown> =>
  new Set(product.log.filter(({ event }) => event === "talk.started").map((line) => line["lead_id"]));

/** The calls of these leads whose conversation is under way. */
const underWay = async (ids: readonly string[]): Promise<LedgerCall[]> =>
  (await product.ledgerCalls()).filter((c) => c.ended_at === null && ids.includes(leadOf(c)) && begun().has(leadOf(c)));

/** Waits until some conversations of each kind are under way; then nothing is claimed, dialled or led here any more. */
async function shutDown(
  ids: readonly string[],
  count: number,
): Promise<{ calls: LedgerCall[]; gone: Promise<unknown> }> {
  const calls = await until(
    "conversations",
    async () => {
      const found = await underWay(ids);
      return found.length >= count ? found : undefined;
    },
    PATIENCE_MS,
    POLL_MS,
  );
  const gone = Promise.all(["conversation", "dialer"].map((name) => child(name)?.down("SIGTERM")));
  return { calls, gone };
}
const comeBack = (env: Record<string, string>): Promise<unknown> =>
  Promise.all(["conversation", "dialer"].map((name) => child(name)?.up(env)));

/** What is seen from outside once every lead has ended and every call is over. */
async function ended(ids: readonly string[]): Promise<Witnesses> {
  const look = async () => ({
    calls: (await product.ledgerCalls()).filter((c) => ids.includes(leadOf(c))),
    leads: await Promise.all(ids.map((id) => leadByApi(pusher.client, id))),
    reported: new Set<string>(),
  });
  await until(
    "quiet",
    async () => (unfinished(await look()).length === 0 ? true : undefined),
    PATIENCE_MS,
    POLL_MS,
  ).catch(() => undefined);
  return look();
}

test(
  "SIGTERM of conversation and dialer in the middle of conversations cuts none, whether media or documents lead them; then they are gone, and what waited is called by their successors",
  async () => {
    const ids = (await Promise.all([MEDIA, XML].map(push))).flat();
    const { calls, gone } = await shutDown(ids, 4);
    await gone;
    const left = (await product.ledgerCalls()).filter((c) => c.ended_at === null);
    expect(left).toEqual([]);
    const leads = await Promise.all(calls.map((c) => leadByApi(pusher.client, leadOf(c))));
    expect(leads.map(({ outcome }) => outcome)).toEqual(calls.map(() => "confirmed"));
    await comeBack({ SHUTDOWN_GRACE_SECONDS: "6" });
    const seen = await ended(ids);
    expect([...unfinished(seen), ...ringsTwice(seen)]).toEqual([]);
    expect(seen.calls.map(leadOf).sort()).toEqual([...ids].sort());
  },
  TEST_MS,
);

test(
  "with a grace that is too short, those under way hear a goodbye in their language; every lead is settled, and nobody has two calls at once",
  async () => {
    await until(
      "a start that says so",
      () =>
        product.log.find(
          (l) => l.event === "shutdown.grace_short" && l["grace_seconds"] === 6 && l["longest_call_seconds"] === 14_400,
        ),
      PATIENCE_MS,
      POLL_MS,
    );
    const ids = (await Promise.all([MEDIA, XML].map(push))).flat();
    const { calls, gone } = await shutDown(ids, 2 * CALLS_EACH);
    await gone;
    const goodbye = phrasesFor("en").trouble;
    const heard = (await product.ledger()).filter((entry) => entry.kind === "heard");
    const lastWords = calls.map(({ sid }) => String(heard.findLast((entry) => entry.call_sid === sid)?.["text"]));
    // whose conversation came to its end within the grace has heard its own, and is confirmed
    expect(lastWords.filter((text) => !text.endsWith("Goodbye!"))).toEqual([]);
    expect(lastWords).toContain(goodbye);
    expect((await underWay(ids)).map(({ sid }) => sid)).toEqual([]);
    await comeBack({});
    const seen = await ended(ids);
    const whole = calls.filter((_, i) => lastWords[i] !== goodbye).map(leadOf);
    expect(seen.leads.filter(({ lead_id }) => whole.includes(lead_id)).map(({ outcome }) => outcome)).toEqual(
      whole.map(() => "confirmed"),
    );
    expect([...unfinished(seen), ...ringsTwice(seen)]).toEqual([]);
  },
  TEST_MS,
);
