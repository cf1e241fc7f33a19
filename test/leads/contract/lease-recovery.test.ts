import leads from "../../../services/leads/leads.service.ts";
import { noFacts, type AttemptFacts } from "../../../shared/contracts/records/attempt.ts";
import { fail } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { resolvesPushes } from "../../fixtures/push-resolution.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { claimSeen, dueLead, M, PHONE, R, resolvedTemplate, TEMPLATE } from "../../fixtures/leads-stage.ts";

const clock = virtualClock();
const enqueued: { lead_id: string; data: Record<string, unknown> }[] = [];
let verdict: () =>
  | { verdict: "never_dialled" }
  | { verdict: "live"; lease_seconds: number }
  | { verdict: "ended"; facts: AttemptFacts } = () => ({ verdict: "never_dialled" });
let webhookDown = false;
let dialerDown = false;
/** Calls that the dialer was told to end. */
const ended: string[] = [];
let stage: Stage;

beforeAll(async () => {
  stage = await setStage({
    clock,
    services: [
      leads,
      standIn(
        "config",
        resolvesPushes(({ template_id, payload }) => {
          if (template_id !== TEMPLATE) fail("TEMPLATE_UNKNOWN", "no such template");
          if (payload["customer_name"] === undefined) fail("PAYLOAD_INVALID", "customer_name is missing");
          return resolvedTemplate;
        }),
      ),
      standIn("blacklist", { check: ({ pairs }) => ({ listed: pairs.map((p) => p.phone_number.endsWith("99")) }) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => ({
          refusals: urls.map((url) => (url.startsWith("http") ? null : "it is not a URL")),
        }),
        enqueueMany({ reports }) {
          if (webhookDown) fail("DEPENDENCY_DOWN", "away");
          enqueued.push(...reports.map(({ lead_id, data }) => ({ lead_id, data })));
          return { delivery_ids: reports.map(({ lead_id }) => `msg_${lead_id}`) };
        },
      }),
      standIn("dialer", {
        reconcile: () => verdict(),
        hangUp: ({ call_ref }) => {
          if (dialerDown) fail("DEPENDENCY_DOWN", "away");
          ended.push(call_ref);
          return {};
        },
      }),
    ],
  });
});
afterAll(() => stage.stop());

const by = asMerchant(R, M);
const input = (over: object = {}) => ({
  request_id: "order-1",
  template_id: TEMPLATE,
  reseller_id: R,
  merchant_id: M,
  payload: { customer_mobile_number: PHONE, customer_name: "Ada" },
  ...over,
});
const push = async (over: object = {}): Promise<string> =>
  (await stage.bus.call("leads.push", { by, lead: input(over) })).lead_call_tracker_id;
const get = (lead_id: string) => stage.bus.call("leads.get", { by: asAdmin, lead_id });
const dueOf = (lead_id: string) => dueLead(stage, clock.now(), lead_id);
async function claim(lead_id: string) {
  const due = await dueOf(lead_id);
  return due ? claimSeen(stage, due) : null;
}

describe("a holder that goes silent", () => {
  async function lost(): Promise<{ id: string; claim_no: number }> {
    const id = await push();
    await clock.advance(30_000);
    const claimed = await claim(id);
    return { id, claim_no: claimed!.claim_no };
  }
  const leaseOut = () => clock.advance(31_000);
  const settled = (id: string, status: string) =>
    until(`${id} to be ${status}`, async () => {
      await clock.advance(2000);
      const l = await get(id);
      return l.status === status ? l : undefined;
    });

  test("never dialled: the lead goes back, no attempt spent", async () => {
    verdict = () => ({ verdict: "never_dialled" });
    const { id } = await lost();
    await leaseOut();
    expect(await settled(id, "BACKLOG")).toMatchObject({ attempt_count: 0 });
  });
  test("ended meanwhile: settled from the facts the dialler found", async () => {
    verdict = () => ({ verdict: "ended", facts: { ...noFacts("unknown"), started_at: clock.now().toISOString() } });
    const { id } = await lost();
    await leaseOut();
    expect(await settled(id, "FINISHED")).toMatchObject({ outcome: "PLACEMENT_UNKNOWN", attempt_count: 1 });
  });
  test("still alive: the lease goes on and nothing changes", async () => {
    let asked = 0;
    verdict = () => {
      asked++;
      return { verdict: "live", lease_seconds: 30 };
    };
    const { id, claim_no } = await lost();
    await leaseOut();
    await until("the dialler to be asked", async () => {
      await clock.advance(100);
      return asked > 0 || undefined;
    });
    expect(await get(id)).toMatchObject({ status: "PROCESSING" });
    expect(await stage.bus.call("leads.extend", { lead_id: id, claim_no, lease_seconds: 30 })).toEqual({ done: true });
  });
  test("lost three times before dialling: parked, not ended, so that it can't take worker after worker down", async () => {
    verdict = () => ({ verdict: "never_dialled" });
    const { id } = await lost();
    for (let i = 0; i < 2; i++) {
      await leaseOut();
      await settled(id, "BACKLOG");
      await claim(id);
    }
    expect(await parked()).not.toContain(id);
    await leaseOut();
    expect(await settled(id, "BACKLOG")).toMatchObject({ outcome: null, attempt_count: 0 });
    expect(await parked()).toContain(id);
    expect(await dueOf(id)).toBeUndefined();
    await clock.advance(100_000);
    expect(await dueOf(id)).toMatchObject({ faults: { code: "HOLDER_LOST", parked_at: expect.any(String) } });
  });
  const parked = async (): Promise<string[]> =>
    (await stage.bus.call("leads.list", { by: asAdmin, parked: true })).leads.map((l) => l.id);
});

test("a report that can't be handed over stays owed until it can", async () => {
  webhookDown = true;
  const id = await push({ reporting_webhook_url: "https://x.example/" });
  await stage.bus.call("leads.abort", { by, leads: [{ lead_id: id, cancellation_reason: "x" }] });
  await clock.advance(2000);
  expect(enqueued.some((e) => e.lead_id === id)).toBe(false);
  webhookDown = false;
  await until("the report", async () => {
    await clock.advance(1000);
    return enqueued.find((e) => e.lead_id === id);
  });
});

describe("an attempt that is settled while its call may be live", () => {
  test("owes the dialer the end of the call from the same write on, until the dialer knows", async () => {
    const id = await push();
    await clock.advance(30_000);
    const claimed = await claim(id);
    const claim_no = claimed!.claim_no;
    dialerDown = true;
    await stage.bus.call("leads.settle", { lead_id: id, claim_no, facts: noFacts("completed"), end_call: true });
    for (let i = 0; i < 3; i++) await clock.advance(2000);
    expect(ended).toEqual([]);
    dialerDown = false;
    await until("the dialer to know", async () => {
      await clock.advance(2000);
      return ended.length > 0 || undefined;
    });
    expect(new Set(ended)).toEqual(new Set([`${id}.${claim_no}`]));
    const times = ended.length;
    for (let i = 0; i < 3; i++) await clock.advance(2000);
    expect(ended).toHaveLength(times);
  });

  test("owes nothing where the dialer has been told", async () => {
    ended.length = 0;
    const id = await push();
    await clock.advance(30_000);
    const claimed = await claim(id);
    await stage.bus.call("leads.settle", { lead_id: id, claim_no: claimed!.claim_no, facts: noFacts("completed") });
    for (let i = 0; i < 3; i++) await clock.advance(2000);
    expect(ended).toEqual([]);
  });
});
