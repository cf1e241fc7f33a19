import type { CrashPoint } from "../../shared/process/crash.ts";
import type { LeadDoc } from "../../services/leads/leads.model.ts";
import { gather, type Evidence } from "../../local/harness/evidence.ts";
import { ended, invariants } from "../../local/harness/invariants.ts";
import { startProduct, type Product } from "../../local/harness/product.ts";
import { callee, startPushing, type Pusher } from "../../local/harness/lead-pusher.ts";
import { until } from "../../local/harness/stage.ts";
import { IS_LONG_FORM } from "../fixtures/long-form.ts";

const START_MS = 120_000;
const POINT_MS = 120_000;
/** Intent deadline, answer time and grace of a call that the carrier never got (services/dialer/call/call-deadlines.ts), and some more. */
const GIVEN_UP_MS = 150_000;
const DEATH_MS = 60_000;
/** A repeated report comes after its first. */
const SETTLED_MS = 60_000;
const POLL_MS = 100;
/** Leases are short here, so that a lost holder is noticed within the test's time; the rules are the same. */
const ENV = {
  LEASE_SECONDS: "5",
  PLACEMENT_GRACE_SECONDS: "10",
  SWEEP_INTERVAL_MS: "500",
  SCHEDULER_INTERVAL_MS: "500",
};

/** Where a process dies, which one, who is called, and the lead's required outcome beyond the invariants. */
interface Row {
  point: CrashPoint;
  child: string;
  who: string;
  fault: string;
  judge(lead: LeadDoc, evidence: Evidence): void;
  /** In the long form only: the point before or after it shows the same. */
  long?: true;
}

const callsOf = (lead: LeadDoc, { calls }: Evidence) => calls.filter((c) => c.reference?.startsWith(lead._id));

/** The attempt was lost before anybody was asked to dial: dialled once, later, and no attempt is spent on the loss. */
const dialledOnce = (lead: LeadDoc, evidence: Evidence): void => {
  expect(callsOf(lead, evidence)).toHaveLength(1);
  expect(lead).toMatchObject({ outcome: "confirmed", attempt_count: 1 });
};
/**
 * The call that the dialer died over is found again and is the attempt's only one. Where the restart took so long that whoever answered was joined by nobody, the line
 * was dropped before a decision, and one more attempt is what the lead is owed: each rings once.
 */
const foundAgain =
  (least: number) =>
  (lead: LeadDoc, evidence: Evidence): void => {
    const calls = callsOf(lead, evidence);
    expect(calls.length).toBeGreaterThanOrEqual(least);
    expect(calls.length).toBeLessThanOrEqual(lead.attempt_count);
    expect(lead.attempt_count).toBeLessThanOrEqual(2);
    expect(new Set(calls.map((c) => c.reference)).size).toBe(calls.length);
  };
const reportedAgain = (lead: LeadDoc, { delivered }: Evidence): void => {
  expect(lead.outcome).toBe("confirmed");
  expect(delivered.filter((d) => d.lead_id === lead._id).length).toBeGreaterThanOrEqual(2);
};

const ROWS: Row[] = [
  { point: "K1", child: "scheduler", who: "01", fault: "F02", judge: dialledOnce },
  { long: true, point: "K2", child: "scheduler", who: "01", fault: "F03", judge: dialledOnce },
  { long: true, point: "K3", child: "dialer", who: "01", fault: "F04", judge: dialledOnce },
  { point: "K5", child: "dialer", who: "01", fault: "F06", judge: foundAgain(0) },
  { point: "K6", child: "dialer", who: "01", fault: "F07", judge: foundAgain(1) },
  {
    long: true,
    point: "K7",
    child: "dialer",
    who: "07",
    fault: "F08",
    judge: (lead) => {
      expect(lead.outcome).toBe("no_answer");
    },
  },
  {
    point: "K8",
    child: "conversation",
    who: "16",
    fault: "F09",
    judge: (lead) => {
      expect(lead).toMatchObject({
        outcome: "call_error",
        meta: { call_ended_by: "error", transcription: expect.any(Array) },
      });
    },
  },
  {
    long: true,
    point: "K9",
    child: "dialer",
    who: "06",
    fault: "F10",
    judge: (lead) => {
      expect(lead.outcome).toBe("busy");
    },
  },
  {
    point: "K10",
    child: "leads",
    who: "01",
    fault: "F11",
    judge: (lead) => {
      expect(lead.outcome).toBe("confirmed");
    },
  },
  { point: "K11", child: "webhook", who: "01", fault: "F12", judge: reportedAgain },
];

describe("SIGKILL at every point of a lead's path, one process per service", () => {
  let product: Product;
  let pusher: Pusher;
  let numbers = 0;
  let unsent = "";
  beforeAll(async () => {
    product = await startProduct({ split: true, env: ENV });
    pusher = await startPushing(product);
  }, START_MS);
  afterAll(async () => {
    if (product) await product.stop();
  }, START_MS);

  /** The process is restarted so that it dies at this point, once. */
  const arm = async (child: string, point: CrashPoint): Promise<void> => {
    const process = product.stack.children.get(child);
    await process?.down("SIGTERM");
    await process?.up({ CRASH_AT: point });
  };
  const died = (child: string, before: number): Promise<true> =>
    until(`${child} to die`, () => product.deaths(child) > before || undefined, DEATH_MS, POLL_MS);
  const leadIn = (id: string, { leads }: Evidence): LeadDoc =>
    leads.find((l) => l._id === id) ??
    (() => {
      throw new Error(`lead ${id} is gone`);
    })();

  test(
    "K4 of the dialer: it dies between intent and request",
    async () => {
      const before = product.deaths("dialer");
      await arm("dialer", "K4");
      unsent = await pusher.insist(callee(numbers++, "01"));
      await died("dialer", before);
    },
    POINT_MS,
  );

  test(
    "K0 (F01): the lead is stored without an answer; pushing it again makes a second one, with an Idempotency-Key it does not",
    async () => {
      const before = product.deaths("leads");
      await arm("leads", "K0");
      const to = callee(numbers++, "01");
      await until(
        "a push to kill the service",
        async () => {
          await pusher.push(to, { request_id: "without-key" }).catch(() => undefined);
          return product.deaths("leads") > before || undefined;
        },
        DEATH_MS,
        POLL_MS,
      );
      await pusher.insist(to, { request_id: "without-key-again" });
      await arm("leads", "K0");
      const keyed = await pusher.insist(callee(numbers++, "01"), { request_id: "with-key" });
      expect(product.deaths("leads")).toBe(before + 2);
      const evidence = await ended(product, [keyed]);
      expect(evidence.leads.filter((l) => l.request_id === "without-key")).toHaveLength(1);
      expect(evidence.leads.filter((l) => l.request_id === "with-key").map((l) => l._id)).toEqual([keyed]);
    },
    POINT_MS,
  );

  test.each(ROWS.filter(({ long }) => IS_LONG_FORM || long !== true))(
    "$point of the $child ($fault): no callee is called twice, nothing is lost",
    async ({ point, child, who, judge }) => {
      const before = product.deaths(child);
      let wrong: unknown = null;
      await arm(child, point);
      const id = await pusher.insist(callee(numbers++, who));
      await died(child, before);
      await ended(product, [id]);
      await until(
        "the lead to have become what it must",
        async () => {
          const evidence = await gather(product);
          try {
            judge(leadIn(id, evidence), evidence);
            return true;
          } catch (error) {
            wrong = error;
            return undefined;
          }
        },
        SETTLED_MS,
        POLL_MS * 5,
      ).catch(() => {
        throw wrong;
      });
      expect(product.deaths(child)).toBe(before + 1);
    },
    POINT_MS,
  );

  test(
    "F54: a lead that takes its worker down three times is parked, not ended; others go on, and it is called when it is resumed",
    async () => {
      const before = product.deaths("scheduler");
      await arm("scheduler", "K1");
      const id = await pusher.insist(callee(numbers++, "01"));
      for (let time = 1; time <= 3; time++) {
        await died("scheduler", before + time - 1);
        if (time < 3) await arm("scheduler", "K1");
      }
      const [other = ""] = await pusher.insistAll([callee(numbers++, "01")]);
      await until(
        "the lead to be parked",
        async () =>
          (await pusher.client.ask("GET", "/leads", { query: { parked: true } })).leads.some((l) => l.id === id) ||
          undefined,
        DEATH_MS,
        POLL_MS * 5,
      );
      const before_it = await ended(product, [other]);
      expect(leadIn(id, before_it)).toMatchObject({
        status: "BACKLOG",
        recoveries: 3,
        attempt_count: 0,
        faults: { code: "HOLDER_LOST" },
      });
      expect(leadIn(other, before_it).outcome).toBe("confirmed");
      expect(await pusher.client.ask("POST", "/leads/resume", { body: { lead_ids: [id] } })).toEqual({
        resumed: 1,
        more: false,
      });
      const evidence = await ended(product, [id]);
      dialledOnce(leadIn(id, evidence), evidence);
    },
    POINT_MS,
  );

  test(
    "K4 (F05): the carrier never got the call; it is polled until the deadline, and the attempt counts",
    async () => {
      const evidence = await invariants(product, [], { quietMs: GIVEN_UP_MS });
      expect(callsOf(leadIn(unsent, evidence), evidence)).toEqual([]);
      expect(leadIn(unsent, evidence)).toMatchObject({ outcome: "PLACEMENT_UNKNOWN", attempt_count: 1 });
    },
    GIVEN_UP_MS + POINT_MS,
  );
});
