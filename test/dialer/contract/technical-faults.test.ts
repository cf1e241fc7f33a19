import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import mongoose from "mongoose";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

const clock = virtualClock();
let d: DialerStage;
beforeAll(async () => {
  d = await setDialerStage({ clock });
});
afterAll(() => d.stop());
beforeEach(() => {
  jest.restoreAllMocks();
  d.reset();
});

const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;
const error = (name: string, more: object): Error => Object.assign(new Error("out of order"), { name, ...more });

/** Errors that ended a lead which was never dialled, and of each other kind one. */
const ERRORS: [string, () => Error, string][] = [
  ...[6, 7, 112, 134].map((code): [string, () => Error, string] => [
    `database error ${code}`,
    () => error("MongoServerError", { code }),
    "STORE_UNAVAILABLE",
  ]),
  ...[175, 292, 421, 10_003].map((code): [string, () => Error, string] => [
    `database error ${code}`,
    () => error("MongoServerError", { code }),
    "INTERNAL",
  ]),
  ...[13, 18].map((code): [string, () => Error, string] => [
    `database error ${code}`,
    () => error("MongoServerError", { code }),
    "STORE_UNAVAILABLE",
  ]),
  ["a field of a newer node", () => error("ValidationError", { type: "VALIDATION_ERROR", code: 422 }), "VALIDATION_FAILED"], // prettier-ignore
  ["nobody on the bus", () => error("ServiceNotFoundError", { type: "SERVICE_NOT_FOUND", code: 404 }), "DEPENDENCY_DOWN"], // prettier-ignore
  ["a time-out of the bus", () => error("RequestTimeoutError", { type: "REQUEST_TIMEOUT", code: 504 }), "TIMEOUT"],
  ["a full queue", () => error("QueueIsFullError", { type: "QUEUE_FULL", code: 429 }), "BUSY"],
  ["a mistake of ours", () => new TypeError("x is undefined"), "INTERNAL"],
];
/** Each step before the intent that asks somebody, and what makes an attempt get there. */
const STEPS: [string, string, () => Partial<DialJob>][] = [
  ["the slot", "numbers.keepMany", () => ({})],
  ["the blacklist", "blacklist.check", () => ({})],
  ["the preparation", "conversation.prepareMany", () => ({})],
  [
    "the lease",
    "leads.extend",
    () => {
      d.script.prepare = () => clock.advance(11_000);
      return {};
    },
  ],
  [
    "the permit",
    "scheduler.grant",
    () => ({
      rate_limit: { configuration_id: "6f9619ff-8b86-4d01-b42d-00cf4fc964ff", max_calls: 1, window_seconds: 60 },
    }),
  ],
];

/** The lead is released because of this fault, once, and nothing else is said of its attempt. */
async function expectReleased(order: DialJob, fault: string): Promise<void> {
  await toldIs(d, order, "numbers.releaseMany");
  expect(d.toldOf(order).filter((t) => t.what === "leads.release" || t.what === "leads.settle")).toEqual([
    { what: "leads.release", params: expect.objectContaining({ fault, reason: fault }) },
  ]);
  expect(dialled(order)).toBe(0);
}

describe.each(STEPS)("%s fails before the intent: the lead is released, never ended", (_step, action, arrange) => {
  test.each(ERRORS)("%s", async (_name, make, fault) => {
    const order = d.order("06", arrange());
    let failed = false;
    d.script.onTold = (what) => {
      if (what !== action) return;
      failed = true;
      throw make();
    };
    await d.dial(order);
    await expectReleased(order, fault);
    expect([failed, await d.calls.findOne({ _id: refOf(order) })]).toEqual([true, null]);
  });
});

test("an answer of the blacklist that leaves the number out lists nobody: released, never ended", async () => {
  const order = d.order("06");
  d.script.listed = null;
  await d.dial(order);
  await expectReleased(order, "DEPENDENCY_DOWN");
});

test.each(ERRORS)(
  "the results of the pre-checks can't be kept (%s): released, never ended",
  async (_name, make, fault) => {
    const order = d.order("06", {
      pre_checks: [
        {
          name: "stock",
          enabled: true,
          method: "GET",
          url: `${d.carrier}/ledger/calls`,
          headers: {},
          timeout_ms: 2000,
          retries: 0,
          on_failure: "continue",
        },
      ],
    });
    d.script.onTold = (what) => {
      if (what === "leads.annotate") throw make();
    };
    await d.dial(order);
    await expectReleased(order, fault);
  },
);

test.each(ERRORS.filter(([name]) => name.startsWith("database")))(
  "the intent can't be written (%s): released, never ended",
  async (_name, make, fault) => {
    const order = d.order("06");
    const model = mongoose.connections
      .flatMap((c) => (c.models["calls"] && Number(c.readyState) === 1 ? [c.models["calls"]] : []))
      .at(-1)!;
    jest.spyOn(model, "insertMany").mockImplementationOnce((() => Promise.reject(make())) as never);
    await d.dial(order);
    await expectReleased(order, fault);
    expect((await d.calls.findOne({ _id: refOf(order) }))?.state).toBe("VOID");
  },
);
