import * as fc from "fast-check";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import config from "../../../services/config/config.service.ts";
import leads from "../../../services/leads/leads.service.ts";
import merchants from "../../../services/merchants/merchants.service.ts";
import numbers from "../../../services/numbers/numbers.service.ts";
import scheduler from "../../../services/scheduler/scheduler.service.ts";
import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { asAdmin, setStage, standIn, until, type Stage } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { played } from "../../fixtures/long-form.ts";

// Rings are judged by the database's clock, so the virtual one begins with it; it moves only when told to, and the scheduler's passes with it.
const clock = virtualClock(new Date());
const HOUR_MS = 3_600_000;
let stage: Stage;
let orders: ParamsOf<"dialer.dialMany">["orders"] = [];

beforeAll(async () => {
  stage = await setStage({
    clock,
    env: { PROVIDER_ONE_CALLS_PER_SECOND: "0", PROVIDER_TWO_CALLS_PER_SECOND: "200" },
    services: [
      leads,
      config,
      merchants,
      numbers,
      blacklist,
      scheduler,
      standIn("dialer", {
        dialMany: (p) => {
          orders.push(...p.orders);
          return { taken: p.orders.map(() => true) };
        },
        holdsNumber: () => ({ held: true }),
        reconcile: () => ({ verdict: "live", lease_seconds: 20_000 }),
        history: () => ({ calls: [], carrier_events: [] }),
      }),
      standIn("auth", { record: () => ({}) }),
      standIn("webhook", {
        checkAddresses: ({ urls }) => ({ refusals: urls.map(() => null) }),
        enqueueMany: () => ({ delivery_ids: [] }),
        deliveries: () => ({ deliveries: [] }),
      }),
    ],
  });
});
afterAll(() => stage.stop());

const hhmm = (offset_ms: number): string => new Date(clock.now().getTime() + offset_ms).toISOString().slice(11, 16);
const call = <N extends Parameters<Stage["bus"]["call"]>[0]>(name: N, params: ParamsOf<N>) =>
  stage.bus.call(name, params);

/** What a lead meets on its way. */
interface World {
  paused: "deployment" | "merchant" | null;
  active: boolean;
  configured: boolean;
  calling: boolean;
  window: "day" | "open" | "shut";
  number: "free" | "taken" | "none" | "abroad";
  enforce: boolean;
  listed: boolean;
  abroad_allowed: boolean;
  limit: "none" | "room" | "full" | "full, whitelisted";
  closed: boolean;
  due: "now" | "later";
  lead: "waiting" | "aborted" | "no number" | "expired" | "rtc";
  own: boolean;
}
/** Mostly the usual, so that most worlds hold a lead for one or two reasons, and many for none. */
const often = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 9 }, { arbitrary: fc.constantFrom(...others), weight: 1 });
const anyWorld: fc.Arbitrary<World> = fc.record({
  paused: often<World["paused"]>(null, "deployment", "merchant"),
  active: often(true, false),
  configured: often(true, false),
  calling: often(true, false),
  window: often<World["window"]>("day", "open", "shut"),
  number: often<World["number"]>("free", "taken", "none", "abroad"),
  enforce: fc.boolean(),
  listed: often(false, true),
  abroad_allowed: fc.boolean(),
  limit: often<World["limit"]>("none", "room", "full", "full, whitelisted"),
  closed: often(false, true),
  due: often<World["due"]>("now", "later"),
  lead: often<World["lead"]>("waiting", "aborted", "no number", "expired", "rtc"),
  own: fc.boolean(),
});

/** Nothing holds the lead here. */
const USUAL: World = {
  paused: null,
  active: true,
  configured: true,
  calling: true,
  window: "day",
  number: "free",
  enforce: true,
  listed: false,
  abroad_allowed: true,
  limit: "none",
  closed: false,
  due: "now",
  lead: "waiting",
  own: false,
};
/** Worlds of every run, whatever chance adds: some in which the lead is eligible, some in which it is so later. */
const EXAMPLES: [World][] = [
  [USUAL],
  [{ ...USUAL, due: "later" }],
  [{ ...USUAL, own: true }],
  [{ ...USUAL, window: "shut" }],
];

let serial = 0;

interface Made {
  lead_id: string;
  reseller_id: string;
  merchant_id: string;
}

/** Builds a world and pushes a lead into it while everything is off, so that no pass takes it before it was explained. */
async function build(w: World): Promise<Made> {
  const n = serial++;
  const reseller_id = (await call("merchants.createReseller", { by: asAdmin, name: `reseller ${n}` })).id;
  const merchant_id = (
    await call("merchants.create", { by: asAdmin, name: `merchant ${n}`, reseller_id, contact_email: "a@example.com" })
  ).id;
  const max_age_seconds = 30 * 3600;
  const template = await call("config.createTemplate", {
    by: asAdmin,
    template: {
      reseller_id,
      merchant_id,
      name: `t${n}`,
      initial_node: "a",
      nodes: [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] }],
      limits: { max_age_seconds },
    },
  });
  const to = `+1415555${String(n).padStart(4, "0")}`;
  const provider = w.closed ? "PROVIDER_TWO" : "PROVIDER_ONE";
  const limited = w.limit !== "none";
  const configuration =
    w.configured || w.own || limited
      ? await call("config.createConfiguration", {
          by: asAdmin,
          configuration: {
            template_id: template.id,
            initial_offset: w.due === "later" ? 7200 : 0,
            retry_offset: 60,
            max_retry: 1,
            calling_provider: provider,
            enable_calling: w.calling,
            enforce_blacklist: w.enforce,
            enable_international_call: w.abroad_allowed,
            timezone: "UTC",
            ...(w.window === "day"
              ? { call_start_time: "00:00", call_end_time: "00:00" }
              : w.window === "open"
                ? { call_start_time: hhmm(-HOUR_MS), call_end_time: hhmm(3 * HOUR_MS) }
                : { call_start_time: hhmm(3 * HOUR_MS), call_end_time: hhmm(6 * HOUR_MS) }),
            ...(limited
              ? {
                  rate_limit_enabled: true,
                  rate_limit_max_calls: w.limit === "room" ? 2 : 1,
                  rate_limit_window_seconds: 7200,
                  rate_limit_whitelist: w.limit === "full, whitelisted" ? [to] : [],
                }
              : {}),
          },
        })
      : null;
  if (w.number !== "none") {
    const phone_number = `${w.number === "abroad" ? "+44207946" : "+1415556"}${String(n).padStart(4, "0")}`;
    await call("numbers.create", { by: asAdmin, reseller_id, merchant_id, phone_number, provider });
    if (w.number === "taken")
      await call("numbers.reserveMany", {
        reseller_id,
        merchant_id,
        provider,
        lease_seconds: 3600,
        same_country: false,
        wants: [{ to, holder: `other-${n}` }],
      });
  }
  if (configuration && limited)
    await call("scheduler.grant", {
      provider: "PROVIDER_ONE",
      rate_limit: { configuration_id: configuration.id, max_calls: w.limit === "room" ? 2 : 1, window_seconds: 7200 },
      max_wait_ms: 0,
    });
  if (w.closed)
    await call("scheduler.slow", {
      provider: "PROVIDER_TWO",
      until: new Date(clock.now().getTime() + 2 * HOUR_MS).toISOString(),
      why: "429",
    });
  if (w.paused === "merchant") await call("merchants.pause", { by: asAdmin, id: merchant_id });
  // the deployment pauses while the lead comes in, whatever the world
  await call("merchants.pauseDeployment", { by: asAdmin });
  await passes();
  const { lead_call_tracker_id: lead_id } = await call("leads.push", {
    by: asAdmin,
    lead: {
      request_id: `w${n}`,
      template_id: template.id,
      reseller_id,
      merchant_id,
      payload: w.lead === "no number" ? {} : { customer_mobile_number: to },
      execution_mode: w.lead === "rtc" ? "RTC" : "TELEPHONY",
      ...(w.own ? { is_playground: true, configurations_override: { retry_offset: 61 } } : {}),
    },
  });
  if (configuration && !w.configured)
    await call("config.deleteConfiguration", { by: asAdmin, config_id: configuration.id });
  if (!w.active) await call("config.updateTemplate", { by: asAdmin, id: template.id, template: { is_active: false } });
  if (w.listed) await call("blacklist.add", { by: asAdmin, reseller_id, phone_numbers: [to] });
  if (w.lead === "aborted")
    await call("leads.abort", { by: asAdmin, leads: [{ lead_id, cancellation_reason: "test" }] });
  if (w.lead === "expired") await clock.advance(max_age_seconds * 1000);
  if (w.paused !== "deployment") await call("merchants.resumeDeployment", { by: asAdmin });
  return { lead_id, reseller_id, merchant_id };
}

/** Steps of the clock, longer than the gap between passes, and the real time in which a pass ends. */
const STEP_MS = 250;
const SETTLE_MS = 10;

/** Lets two full scans go by, and the passes they lead to. */
async function passes(): Promise<void> {
  for (let i = 0; i < 2000 / STEP_MS; i++) {
    await clock.advance(STEP_MS);
    // an answer of the scheduler stands behind what its pass was doing
    await call("scheduler.grant", { provider: "PROVIDER_ONE", rate_limit: null, max_wait_ms: 0 });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  }
}

const stateOf = async (lead_id: string) => (await call("leads.get", { by: asAdmin, lead_id })).status;
/** Moves the clock until it is so. */
const inTime = (w: World, what: string, isSo: () => boolean | Promise<boolean>) =>
  until(`${what} in ${JSON.stringify(w)}`, async () => {
    await clock.advance(STEP_MS);
    return (await isSo()) || undefined;
  });

test("explain says eligible exactly when the next pass claims the lead; and at the next eligible instant it says so", async () => {
  const seen = { eligible: 0, next: 0, ended: 0 };
  await fc.assert(
    fc.asyncProperty(anyWorld, async (w) => {
      orders = [];
      const { lead_id } = await build(w);
      const told = await call("leads.explain", { by: asAdmin, lead_id });
      if (told.next_eligible_at !== null && !told.eligible) {
        seen.next++;
        const at = Date.parse(told.next_eligible_at);
        expect(await call("leads.explain", { by: asAdmin, lead_id, at: told.next_eligible_at })).toMatchObject({
          eligible: true,
          next_eligible_at: told.next_eligible_at,
        });
        expect(await call("leads.explain", { by: asAdmin, lead_id, at: new Date(at - 1).toISOString() })).toMatchObject(
          { eligible: false },
        );
      }
      const drops = told.gates.some((g) => g.verdict === "drop");
      if (told.eligible) {
        seen.eligible++;
        await inTime(w, "the claim of an eligible lead", () => orders.some((o) => o.lead_id === lead_id));
        expect(await stateOf(lead_id)).toBe("PROCESSING");
      } else {
        await passes();
        expect(orders.filter((o) => o.lead_id === lead_id)).toEqual([]);
        expect(await stateOf(lead_id)).not.toBe("PROCESSING");
        const queueHeld =
          told.gates.some((g) => g.verdict === "hold") ||
          w.limit.startsWith("full") ||
          w.closed ||
          w.window === "shut" ||
          !w.calling ||
          !w.configured ||
          !w.active ||
          w.paused !== null;
        if (drops && told.status === "BACKLOG" && !queueHeld) {
          await inTime(w, "the end of a lead that is dropped", async () => (await stateOf(lead_id)) === "FINISHED");
          seen.ended++;
        }
      }
      if (w.paused === "deployment") await call("merchants.resumeDeployment", { by: asAdmin });
    }),
    { numRuns: played(6, 30), examples: EXAMPLES },
  );
  expect(seen.eligible).toBeGreaterThan(played(1, 2));
  expect(seen.next).toBeGreaterThan(0);
}, 180_000);
