import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { DEFAULT_ACCOUNT } from "../../../local/carriers/server.ts";
import { RULES, type GateInputs } from "../../../services/scheduler/admission/gates.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
// PROVIDER_TWO is the same account with a secret the carrier does not know
beforeAll(async () => {
  d = await setDialerStage({
    clock,
    env: { PROVIDER_TWO: "twilio", PROVIDER_TWO_SECRET: "not-the-token", PROVIDER_TWO_CALLS_PER_SECOND: "0" },
  });
});
afterAll(() => d.stop());
beforeEach(() => {
  d.reset();
  clock.set(new Date());
});

const PAUSE_MS = 180_000;
const REASON =
  "the carrier refuses the credentials (HTTP 401) of PROVIDER_TWO: check PROVIDER_TWO_ACCOUNT, PROVIDER_TWO_SECRET, TWILIO_ACCOUNT_SID, TWILIO_AUTH_TOKEN";
const many = (n: number, provider: DialJob["provider"]): DialJob[] =>
  Array.from({ length: n }, () => d.order("06", { provider }));
const released = (order: DialJob) => toldIs(d, order, "leads.release");
const askedOf = (orders: DialJob[]): number => orders.filter((o) => d.dials.includes(o.to)).length;

test("a carrier that refuses our credentials: no attempt is spent, nobody else is dialled through it, and it is said where to look", async () => {
  const first = d.order("06", { provider: "PROVIDER_TWO" });
  await d.dial(first);
  const { due_at, reason } = await released(first);
  const paused = Date.parse(String(due_at)) - clock.now().getTime();
  expect([Math.abs(paused - PAUSE_MS) < 5000, reason]).toEqual([true, REASON]);
  await toldIs(d, first, "numbers.releaseMany");
  expect(await d.calls.findOne({ _id: refOf(first) })).toMatchObject({ state: "ENDED", ended: "not_dialled" });
  expect(d.toldOf(first).map((t) => t.what)).not.toContain("leads.settle");

  const others = many(20, "PROVIDER_TWO");
  await d.stage.bus.call("dialer.dialMany", { orders: others });
  await Promise.all(others.map(released));
  expect(askedOf(others)).toBe(0); // no storm: they come back when the pause is over

  const slow = d.told.filter((t) => t.what === "scheduler.slow").map((t) => t.params);
  expect(slow).toHaveLength(1);
  const why = String(slow[0]?.["why"]);
  expect(why).toBe(REASON);
  expect(JSON.stringify(d.told)).not.toContain("not-the-token");

  // and that is what explain says of every lead that waits for this account
  const plan = { configuration: { calling_provider: "PROVIDER_TWO" } } as GateInputs["plan"];
  const inputs: GateInputs = {
    at: clock.now(),
    lead: null,
    pauses: { deployment: null, merchant: null },
    blacklisted: null,
    country: null,
    slots: null,
    rate: null,
    plan,
    carrier: {
      limit: null,
      log: {
        ring: [],
        group: 1,
        filled: 0,
        opened: new Date(0),
        closed_until: new Date(String(slow[0]?.["until"])),
        closed_why: why,
      },
    },
  };
  expect(RULES.carrier_limit(inputs)).toMatchObject({
    verdict: "hold",
    detail: expect.stringMatching(
      /^The account of PROVIDER_TWO takes no calls until .*: the carrier refuses the credentials \(HTTP 401\) of PROVIDER_TWO: check PROVIDER_TWO_ACCOUNT/,
    ),
  });
});

test("whether such an account holds a number it is not said, but why, without a secret", async () => {
  const asked = { provider: "PROVIDER_TWO", phone_number: "+14155550100" } as const;
  expect(await d.stage.bus.call("dialer.holdsNumber", asked)).toEqual({ held: false, credentials_refused: REASON });
});

test("other accounts of the same carrier go on", async () => {
  const order = d.order("06");
  await d.dial(order);
  expect(await toldIs(d, order, "leads.settle")).toMatchObject({ facts: { ended: "busy" } });
  expect(DEFAULT_ACCOUNT.sid).toBe(d.stage.env.TWILIO_ACCOUNT_SID);
});

test("after the pause one call tries again, whatever waits", async () => {
  await clock.advance(PAUSE_MS + 1000);
  const orders = many(20, "PROVIDER_TWO");
  await d.stage.bus.call("dialer.dialMany", { orders });
  await Promise.all(orders.map(released));
  expect(askedOf(orders)).toBe(1);
});
