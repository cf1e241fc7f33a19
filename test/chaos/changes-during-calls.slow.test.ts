import { ApiFailure } from "../../local/tools/api-client.ts";
import { gather } from "../../local/harness/evidence.ts";
import { invariants, quiet } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { after, until } from "../../local/harness/stage.ts";

const START_MS = 90_000;
const TEST_MS = 180_000;
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
};
const RACES = 120;
/** A round that both sides have won is the last one. */
const ROUNDS = 4;
const RACE_SPREAD_MS = 1500;
/** An edit wakes the leads that waited for it, which nothing else does; a call takes a moment to be placed, on a busy machine a longer one. */
const WAKE_MS = 30_000;

describe("changes by users while calls are live", () => {
  let product: Product;
  let pusher: Pusher;
  let numbers = 0;
  beforeAll(async () => {
    product = await startProduct({ env: ENV });
    pusher = await startPushing(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);
  const next = (who: string): string => callee(numbers++, who);
  const many = (n: number, who: string): string[] => Array.from({ length: n }, () => next(who));
  const liveCalls = async (): Promise<number> =>
    (await gather(product)).calls.filter((c) => c.answered_at !== null && c.ended_at === null).length;

  test(
    "F40: aborts race claims and retries over HTTP; an aborted lead is not called again",
    async () => {
      const told = new Map<string, string>();
      const race = async (i: number): Promise<void> => {
        const id = await pusher.insist(next(i % 3 === 0 ? "06" : "04"));
        await after(Math.random() * RACE_SPREAD_MS);
        const {
          leads: [answer],
        } = await pusher.client.ask("POST", "/lead/abort", {
          body: { leads: [{ lead_id: id, cancellation_reason: "raced" }] },
        });
        told.set(id, answer?.status ?? "");
      };
      const words = new Set<string>();
      // on a full machine all aborts of a round may come before the claims, or after them
      for (let round = 0; round < ROUNDS && !(words.has("success") && words.has("processing")); round++) {
        await Promise.all(Array.from({ length: RACES }, (_, i) => race(i)));
        for (const word of told.values()) words.add(word);
      }
      const { leads } = await invariants(product);
      expect([...words].filter((w) => !["success", "processing", "already_aborted"].includes(w))).toEqual([]);
      expect(words).toContain("success");
      expect(words).toContain("processing");
      for (const lead of leads)
        expect({ id: lead._id, aborted: lead.outcome === "ABORTED" }).toEqual({
          id: lead._id,
          aborted: told.get(lead._id) === "success",
        });
    },
    TEST_MS,
  );

  test(
    "F43: calling is paused while calls are live; they end normally, no other begins, and resuming takes effect at once",
    async () => {
      const config_id = product.sample.templates[0]?.configuration_id ?? "";
      const first = await pusher.insistAll(many(10, "16"));
      await until("live conversations", async () => (await liveCalls()) >= 5 || undefined, TEST_MS, 100);
      await product.admin.ask("PUT", "/configurations/{config_id}", {
        path: { config_id },
        body: { enable_calling: false },
      });
      const second = await pusher.insistAll(many(6, "01"));
      const held = await quiet(product, { waiting: new Set([...first, ...second]) });
      // of the first some were claimed before, and are dialled
      expect(held.calls.filter((c) => second.some((id) => c.reference?.startsWith(id)))).toEqual([]);
      for (const lead of held.leads.filter((l) => first.includes(l._id) && l.status === "FINISHED"))
        expect(lead.outcome).toBe("confirmed");
      await product.admin.ask("PUT", "/configurations/{config_id}", {
        path: { config_id },
        body: { enable_calling: true },
      });
      const on = Date.now();
      const { leads, calls } = await invariants(product);
      for (const id of [...first, ...second]) expect(leads.find((l) => l._id === id)?.outcome).toBe("confirmed");
      const woken = calls
        .filter((c) => second.some((id) => c.reference?.startsWith(id)))
        .map((c) => Date.parse(c.placed_at) - on);
      expect(Math.min(...woken)).toBeLessThan(WAKE_MS); // the others follow as fast as the machine can dial
    },
    TEST_MS,
  );

  test(
    "F44: a number is deleted while its calls ring: refused, or drained with force; calls end normally",
    async () => {
      const { numbers: listed } = await product.admin.ask("GET", "/numbers", { query: {} });
      const ids = await pusher.insistAll(many(20, "07").concat(many(6, "01")));
      const ringing = await until(
        "a number to be in a call",
        async () => (await gather(product)).numbers.find((n) => n.slots.length > 0),
        TEST_MS,
        50,
      );
      const drop = (force: boolean) =>
        product.admin
          .ask("DELETE", "/numbers/{number_id}", {
            path: { number_id: ringing._id },
            query: force ? { force: true } : {},
          })
          .then(
            () => 204,
            (error: unknown) => (error instanceof ApiFailure ? error.status : 0),
          );
      expect(await drop(false)).toBe(409);
      expect(await drop(true)).toBe(204);
      const { calls: before, numbers: then } = await gather(product);
      const begun = new Set([
        ...before.map(({ reference }) => reference),
        ...then.flatMap(({ slots }) => slots.map(({ holder }) => holder)),
      ]);
      const { leads, calls } = await invariants(product);
      for (const id of ids) expect(["no_answer", "confirmed"]).toContain(leads.find((l) => l._id === id)?.outcome);
      // whoever had a line of it before it went may call from it
      expect(calls.filter((c) => c.from === ringing.phone_number && !begun.has(c.reference))).toEqual([]);
      expect(listed.length).toBeGreaterThan(1);
    },
    TEST_MS,
  );
});
