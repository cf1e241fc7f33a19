import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { MongoClient, MongoServerError } from "mongodb";
import mongoose from "mongoose";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { callIs, toldIs } from "../fixtures/dialer-stage/call-waits.ts";
import { refOf } from "../fixtures/dialer-stage/dial-orders.ts";
import { setDialerStage, type DialerStage } from "../fixtures/dialer-stage/dialer-stage.ts";

/** An error that the driver does not try again by itself. */
const UNAUTHORIZED = 13;
const WRITES = ["insert", "update", "findAndModify", "bulkWrite"];
/** Far less than the time for which a carrier is asked about a call that nobody knows of (115 s). */
const SOON_MS = 40_000;

const clock = virtualClock();
let d: DialerStage;
let direct: MongoClient;
beforeAll(async () => {
  d = await setDialerStage({ clock });
  direct = await MongoClient.connect(d.stage.uri);
});
afterAll(async () => {
  await direct.close();
  await d.stop();
});
beforeEach(async () => {
  d.reset();
  await clock.advance(61_000);
  clock.set(new Date());
});
afterEach(() => writable(true));

const writable = (can: boolean) =>
  direct.db("admin").command({
    configureFailPoint: "failCommand",
    mode: can ? "off" : "alwaysOn",
    ...(can ? {} : { data: { failCommands: WRITES, errorCode: UNAUTHORIZED } }),
  });
const tick = () => clock.advance(50);
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;
/** Dials while the intent is the last thing that the database takes; the request has been answered when it resolves. */
async function dialUnwritten(order: DialJob): Promise<void> {
  d.script.onDial = async () => {
    await writable(false);
    return false;
  };
  await d.dial(order);
  await until("the request", () => dialled(order) === 1 || undefined);
}
/** Virtual time that `work` takes once the database takes writes again. */
async function soonAfterReturn(work: () => Promise<unknown>): Promise<void> {
  await clock.advance(3000);
  await writable(true);
  const since = clock.now().getTime();
  await work();
  expect(clock.now().getTime() - since).toBeLessThan(SOON_MS);
}

describe("the database takes no writes for a while", () => {
  test("a call that the carrier placed is known by its name as soon as writes are taken", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await dialUnwritten(order);
    await soonAfterReturn(async () => {
      const call = await callIs(d, order, "carrier id", (c) => c.carrier_call_id !== undefined, tick);
      expect(call.carrier_call_id).toBe((await d.ledger(order))[0]?.sid);
    });
    expect(await toldIs(d, order, "leads.annotate", tick)).toHaveProperty("call_initiated_time");
    expect(dialled(order)).toBe(1);
  });

  test("a call that was not placed gives its lead back as soon as writes are taken", async () => {
    const order = d.order("06");
    d.script.onDial = async (_request, response) => {
      await writable(false);
      response.writeHead(429, { "retry-after": "1" }).end();
      return true;
    };
    await d.dial(order);
    await until("the request", () => dialled(order) === 1 || undefined);
    await soonAfterReturn(() => toldIs(d, order, "leads.release", tick));
    expect((await d.calls.findOne({ _id: refOf(order) }))?.state).toBe("ENDED");
  });

  test("an intent that could not be written is void as soon as writes are taken, and the lead comes back", async () => {
    const order = d.order("06");
    const model = mongoose.connections
      .flatMap((c) => (c.models["calls"] && Number(c.readyState) === 1 ? [c.models["calls"]] : []))
      .at(-1)!;
    const inserts = jest
      .spyOn(model, "insertMany")
      .mockImplementation(() =>
        Promise.reject(new MongoServerError({ message: "not authorized", code: UNAUTHORIZED })),
      );
    await d.dial(order);
    await until("the intent and its tombstone", () => inserts.mock.calls.length >= 2 || undefined);
    inserts.mockRestore();
    await soonAfterReturn(() => toldIs(d, order, "leads.release", tick));
    expect([dialled(order), (await d.calls.findOne({ _id: refOf(order) }))?.state]).toEqual([0, "VOID"]);
  });

  test("a callback is refused, and yet its end counts from when it came", async () => {
    const order = d.order("07");
    await d.fault("lose_callbacks", order);
    await d.dial(order);
    const { carrier_call_id: CallSid = "" } = await callIs(d, order, "id", (c) => c.carrier_call_id !== undefined);
    await writable(false);
    const came = clock.now();
    const busy = d.callback(order, "status", { CallSid, CallStatus: "busy", SequenceNumber: "3" });
    await expect(d.stage.bus.call("dialer.carrierEvent", busy)).rejects.toThrow();
    await soonAfterReturn(() => toldIs(d, order, "leads.settle", tick));
    const call = await d.calls.findOne({ _id: refOf(order) });
    expect(call).toMatchObject({ state: "ENDED", ended: "busy", ended_at: came });
    expect(await d.events.countDocuments({ ref: refOf(order) })).toBe(1);
  });
});
