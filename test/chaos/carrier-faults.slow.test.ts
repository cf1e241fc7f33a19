import type { Evidence } from "../../local/harness/evidence.ts";
import { ended, invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";
import { startTcpProxy, through, type TcpProxy } from "../../local/harness/tcp-proxy.ts";

const START_MS = 120_000;
const TEST_MS = 240_000;
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
  RING_TIMEOUT_SECONDS: "5",
};
const MINUTE_MS = 60_000;
/** A window must be open long enough to dial, and is waited out. */
const LEAST_OPEN_MS = 15_000;
const RETRY_AFTER_SECONDS = 6;
const HANG_SECONDS = 30;
const SHUT_MS = 4000;
/** A call without callbacks is polled after the ring time and 30 s, twice where it is called again; a lost request is looked for during 115 s. */
const SILENT_MS = 200_000;

const hourMinute = (at: Date): string => at.toISOString().slice(11, 16);
const callsOf = (id: string, { calls }: Evidence) => calls.filter((c) => c.reference?.startsWith(id));
const outcomeOf = (id: string, { leads }: Evidence) => leads.find((l) => l._id === id)?.outcome;

/** The slow faults begin first and are judged last, while the others have their time. */
describe("the carrier fails", () => {
  let product: Product;
  let pusher: Pusher;
  let carrier: TcpProxy;
  let numbers = 0;
  const slow = { silent: [] as string[], twice: [] as string[], late: [] as string[], unclear: [] as string[] };
  beforeAll(async () => {
    product = await startProduct({
      env: ENV,
      between: {
        carrier: async (url) => {
          carrier = await startTcpProxy(url);
          return through(carrier, url);
        },
      },
    });
    pusher = await startPushing(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
    await carrier?.close();
  }, START_MS);
  const next = (who: string): string => callee(numbers++, who);

  test(
    "connections to the carrier are cut and half-open in the middle of requests",
    async () => {
      const pushing = pusher.insistAll(Array.from({ length: 8 }, (_, i) => next(i % 2 ? "06" : "01")));
      for (let time = 0; time < 6; time++) {
        await after(300);
        carrier.reset();
      }
      carrier.set("down", { mode: "swallow" });
      await after(1000);
      await carrier.heal();
      expect(await pushing).toHaveLength(8);
    },
    TEST_MS,
  );

  test(
    "callbacks are lost, repeated and late, answers lost, false and late",
    async () => {
      const one = async (who: string, ...faults: Record<string, unknown>[]): Promise<string> => {
        const to = next(who);
        for (const fault of faults) await product.injectFault({ ...fault, to });
        return pusher.insist(to);
      };
      const [lose, hang] = [{ kind: "lose_callbacks" }, { kind: "hang_reply", seconds: HANG_SECONDS }];
      slow.silent = [await one("01", lose), await one("06", lose), await one("07", lose), await one("15", lose)];
      slow.twice = [await one("01", { kind: "duplicate_callbacks" }), await one("06", { kind: "duplicate_callbacks" })];
      slow.late = [
        await one("01", { kind: "delay_callbacks", seconds: 3, times: 2 }),
        await one("06", { kind: "delay_callbacks", seconds: 3, times: 1 }),
      ];
      slow.unclear = [
        await one("01", { kind: "error_after_placing" }),
        await one("01", { kind: "drop_reply" }),
        await one("01", hang),
        await one("01", hang, lose),
      ];
    },
    TEST_MS,
  );

  test(
    "F19: 429 with Retry-After is obeyed and spends no attempt",
    async () => {
      const to = next("01");
      await product.injectFault({ kind: "rate_limit", to, seconds: RETRY_AFTER_SECONDS });
      const id = await pusher.insist(to);
      const evidence = await ended(product, [id]);
      const refused = (await product.ledger()).find((l) => l.kind === "request" && l["status"] === 429);
      const [call] = callsOf(id, evidence);
      expect(Date.parse(call?.placed_at ?? "") - Date.parse(refused?.at ?? "")).toBeGreaterThanOrEqual(
        RETRY_AFTER_SECONDS * 1000 - 250,
      );
      expect(evidence.leads.find((l) => l._id === id)).toMatchObject({ outcome: "confirmed", attempt_count: 1 });
    },
    TEST_MS,
  );

  test(
    "F22: the carrier's port is closed: certainly no call, no attempt spent, dialled once it is back",
    async () => {
      await carrier.refuse(true);
      const ids = await pusher.insistAll([next("01"), next("06"), next("01")]);
      await after(SHUT_MS);
      expect((await product.ledgerCalls()).filter((c) => ids.some((id) => c.reference?.startsWith(id)))).toEqual([]);
      await carrier.refuse(false);
      const { leads } = await ended(product, ids);
      expect(ids.map((id) => leads.find((l) => l._id === id)).map((l) => [l?.outcome, l?.attempt_count])).toEqual([
        ["confirmed", 1],
        ["busy", 2],
        ["confirmed", 1],
      ]);
    },
    TEST_MS,
  );

  test(
    "F23: the carrier lets the phone ring after the window has closed: the call ends without a word",
    async () => {
      const [, template] = product.sample.templates;
      const end = new Date(Math.ceil((Date.now() + LEAST_OPEN_MS) / MINUTE_MS) * MINUTE_MS);
      const body = {
        respect_callee_timezone: false,
        call_start_time: hourMinute(new Date(end.getTime() - 5 * MINUTE_MS)),
        call_end_time: hourMinute(end),
        timezone: "UTC",
      };
      await product.admin.ask("PUT", "/configurations/{config_id}", {
        path: { config_id: template?.configuration_id ?? "" },
        body,
      });
      const to = next("01");
      await product.injectFault({
        kind: "queue_delay",
        to,
        seconds: Math.ceil((end.getTime() - Date.now()) / 1000) + 4,
      });
      const id = await pusher.insist(to, template ? { template_id: template.id } : {});
      const call = await until(
        "the call to end",
        async () => (await product.ledgerCalls()).find((c) => c.reference?.startsWith(id) && c.ended_at !== null),
        TEST_MS,
        500,
      );
      expect(Date.parse(call.ended_at ?? "")).toBeGreaterThanOrEqual(end.getTime() - 1000);
      expect((await product.ledger()).filter((l) => l.call_sid === call.sid && l.kind === "heard")).toEqual([]);
      const status = async () => (await pusher.client.ask("GET", "/leads/{lead_id}", { path: { lead_id: id } })).status;
      await until("the lead to rest", async () => (await status()) !== "PROCESSING" || undefined, TEST_MS, 500);
      await pusher.client.ask("POST", "/lead/abort", {
        body: { leads: [{ lead_id: id, cancellation_reason: "the window is over" }] },
      });
    },
    TEST_MS,
  );

  test(
    "F13, F14, F16, F17, F20, F21: all have ended as the phone did, none was called twice",
    async () => {
      const evidence = await invariants(product, [], { quietMs: SILENT_MS });
      expect(slow.silent.map((id) => outcomeOf(id, evidence))).toEqual(["confirmed", "busy", "no_answer", "failed"]);
      expect([...slow.twice, ...slow.late].map((id) => outcomeOf(id, evidence))).toEqual([
        "confirmed",
        "busy",
        "confirmed",
        "busy",
      ]);
      for (const id of slow.unclear) {
        expect(callsOf(id, evidence)).toHaveLength(1);
        expect(evidence.leads.find((l) => l._id === id)).toMatchObject({ outcome: "confirmed", attempt_count: 1 });
      }
    },
    SILENT_MS + TEST_MS,
  );
});
