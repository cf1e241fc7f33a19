import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { fail, type ErrorCode } from "../../../shared/errors.ts";
import { plusSeconds } from "../../../shared/time/clock.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { until } from "../../../local/harness/stage.ts";
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
/** Longer than a carrier is left alone for the faults of the test before. */
const PAUSE_MS = 61_000;
beforeEach(async () => {
  d.reset();
  await clock.advance(PAUSE_MS);
  clock.set(new Date());
});

const pass = () => clock.advance(200);
const dial = (order: DialJob) => d.dial(order);
const names = (order: DialJob) => d.toldOf(order).map((t) => t.what);
const dialled = (order: DialJob) => d.dials.filter((to) => to === order.to).length;

describe("attempts that stop before the carrier is asked", () => {
  const failing = (code: ErrorCode) => {
    d.script.prepare = () => fail(code, "out of order");
  };
  test.each<[string, () => void, Partial<DialJob>, string[], object]>([
    [
      "listed since",
      () => {
        d.script.listed = true;
      },
      {},
      ["leads.settle", "numbers.releaseMany"],
      { facts: { ended: "not_dialled", dropped_as: "BLACKLISTED" } },
    ],
    [
      "a short number that an older version queued",
      () => undefined,
      { to: "+49116117", enforce_blacklist: false },
      ["leads.settle", "numbers.releaseMany"],
      {
        facts: {
          ended: "not_dialled",
          dropped_as: "NUMBER_UNAVAILABLE",
          error: { code: "NUMBER_UNAVAILABLE", message: "the number is a short number of DE, which is never called" },
        },
      },
    ],
    [
      "a satellite number that an older version queued",
      () => undefined,
      { to: "+8816123456789", enforce_blacklist: false },
      ["leads.settle", "numbers.releaseMany"],
      { facts: { ended: "not_dialled", dropped_as: "NUMBER_UNAVAILABLE" } },
    ],
    [
      "baton lost in an attempt that took long",
      () => {
        d.script.prepare = () => clock.advance(11_000);
        d.script.extend = () => false;
      },
      {},
      ["numbers.releaseMany"],
      {},
    ],
    [
      "template gone",
      () => failing("TEMPLATE_NOT_FOUND"),
      {},
      ["leads.settle", "numbers.releaseMany"],
      { facts: { ended: "not_dialled", error: { code: "TEMPLATE_NOT_FOUND" } } },
    ],
    [
      "conversation away",
      () => failing("DEPENDENCY_DOWN"),
      {},
      ["leads.release", "numbers.releaseMany"],
      { reason: "DEPENDENCY_DOWN", fault: "DEPENDENCY_DOWN" },
    ],
    [
      "window closed",
      () => undefined,
      { dial_until: "2026-01-01T00:00:00.000Z" },
      ["leads.release", "numbers.releaseMany"],
      { reason: "the calling window closed" },
    ],
    [
      "no such carrier",
      () => undefined,
      { provider: "PROVIDER_TWO" },
      ["leads.release", "numbers.releaseMany"],
      { fault: "PROVIDER_UNCONFIGURED" },
    ],
  ])("%s", async (_name, arrange, over, ending, params) => {
    const order = d.order("01", over);
    arrange();
    await dial(order);
    await toldIs(d, order, "numbers.releaseMany");
    expect(
      names(order).filter(
        (n) => !["leads.extend", "blacklist.check", "numbers.keepMany", "conversation.prepareMany"].includes(n),
      ),
    ).toEqual(ending);
    if (ending.length > 1) expect(d.toldOf(order).find((t) => t.what === ending[0])?.params).toMatchObject(params);
    expect([dialled(order), await d.calls.findOne({ _id: refOf(order) })]).toEqual([0, null]);
  });
  test("a line whose first, short lease ran out may be another's: given back unspent, not dialled", async () => {
    const order = d.order("01");
    d.script.lineHeld = false;
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      due_at: clock.now().toISOString(),
      reason: "its line was given up before it could be used",
    });
    const { holder, lease_seconds } = (await toldIs(d, order, "numbers.keepMany")) as {
      holder: string;
      lease_seconds: number;
    };
    expect([holder, lease_seconds > order.max_call_seconds]).toEqual([refOf(order), true]);
    expect([dialled(order), await d.calls.findOne({ _id: refOf(order) })]).toEqual([0, null]);
  });
  test("a line that can't be given back when its attempt stops is given back later, however long numbers is away", async () => {
    const order = d.order("01");
    d.script.lineHeld = false;
    d.script.numbersUp = false;
    await dial(order);
    await toldIs(d, order, "leads.release");
    await clock.advance(30_000);
    expect(names(order)).not.toContain("numbers.releaseMany");
    d.script.numbersUp = true;
    await toldIs(d, order, "numbers.releaseMany", () => clock.advance(2000));
    await clock.advance(10_000);
    expect(names(order).filter((n) => n === "numbers.releaseMany")).toHaveLength(1);
  });
  test("the blacklist is asked for the merchant whose call it is, so that what callees asked of it counts", async () => {
    const order = d.order("01", { merchant_id: "merchant-1" });
    d.script.listed = true;
    await dial(order);
    expect(await toldIs(d, order, "blacklist.check")).toEqual({ to: order.to, merchant_id: "merchant-1" });
  });
  test("a listed number is dialled when the configuration says so, and nobody is asked", async () => {
    const order = d.order("06", { enforce_blacklist: false });
    d.script.listed = true;
    await dial(order);
    await toldIs(d, order, "leads.settle");
    expect([dialled(order), names(order).includes("blacklist.check")]).toEqual([1, false]);
  });
  test("the window closes while media is made ready: given back at once for its queue to wait, not dialled", async () => {
    const order = d.order("01", { dial_until: plusSeconds(clock.now(), 60).toISOString() });
    d.script.prepare = () => clock.advance(58_000);
    await dial(order);
    expect(await toldIs(d, order, "leads.release")).toMatchObject({
      due_at: clock.now().toISOString(),
      reason: "the calling window closed",
    });
    expect(dialled(order)).toBe(0);
  });
  test("a fresh order is believed, one that took long asks for its lease", async () => {
    // what is asked before the permit, the attempt asks; once it has its intent, a pass that renews leases may ask too
    const asked: boolean[] = [];
    const counted = (): DialJob => {
      const order = d.order("06", { rate_limit: { configuration_id: randomUUID(), max_calls: 1, window_seconds: 60 } });
      d.script.grant = () => {
        asked.push(names(order).includes("leads.extend"));
        return { granted: true, send_in_ms: 0 };
      };
      return order;
    };
    const fresh = counted();
    await dial(fresh);
    await toldIs(d, fresh, "numbers.releaseMany");
    const slow = counted();
    d.script.prepare = () => clock.advance(11_000);
    await dial(slow);
    await toldIs(d, slow, "numbers.releaseMany");
    expect([asked, dialled(fresh), dialled(slow)]).toEqual([[false, true], 1, 1]);
  });
  test("the same attempt twice makes one call, also where its first run left no trace", async () => {
    const order = d.order("06");
    await Promise.all(Array.from({ length: 5 }, () => dial(order)));
    await toldIs(d, order, "numbers.releaseMany");
    await dial(order);
    expect([
      dialled(order),
      (await d.ledger(order)).length,
      names(order).filter((n) => n === "conversation.prepareMany").length,
    ]).toEqual([1, 1, 1]);
    const held = d.order("06");
    d.script.listed = true;
    await dial(held);
    await toldIs(d, held, "numbers.releaseMany");
    d.script.listed = false;
    await dial(held); // the bus may deliver an order twice; by now the lead is somebody else's
    await pass();
    expect([dialled(held), names(held).filter((n) => n === "leads.settle").length]).toEqual([0, 1]);
  });
  test("five hundred at once and no more: the rest is not taken; when they have ended there is room again", async () => {
    let open = (): void => undefined;
    const closed = new Promise<void>((resolve) => {
      open = resolve;
    });
    d.script.prepare = () => closed;
    const many = (orders: DialJob[]) => d.stage.bus.call("dialer.dialMany", { orders });
    const shut = { enforce_blacklist: false, dial_until: plusSeconds(clock.now(), 60).toISOString() };
    const crowd = Array.from({ length: 500 }, () => d.order("06", shut));
    expect(await many(crowd.slice(0, 400))).toEqual({ taken: crowd.slice(0, 400).map(() => true) });
    const turnedAway = [d.order("06"), d.order("06")];
    expect(await many([...crowd.slice(300), ...turnedAway])).toEqual({
      taken: [...crowd.slice(300).map(() => true), false, false],
    });
    expect(await many([d.order("06")])).toEqual({ taken: [false] });
    await clock.advance(58_000);
    open();
    const ids = new Set(crowd.map((o) => o.lead_id));
    await until(
      "all to be given back",
      () =>
        d.told.filter((t) => t.what === "leads.release" && ids.has(String(t.params["lead_id"]))).length === 500 ||
        undefined,
    );
    expect([...crowd, ...turnedAway].filter(dialled)).toEqual([]);
    expect(await until("room", async () => ((await many(turnedAway)).taken.includes(true) ? true : undefined))).toBe(
      true,
    );
    await toldIs(d, turnedAway[0]!, "leads.settle");
  });
});
