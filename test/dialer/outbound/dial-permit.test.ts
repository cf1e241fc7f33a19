import type { Bus, ParamsOf, ResultOf } from "../../../shared/bus/bus.ts";
import { acquirePermit, holdPermit, type PermitDeps } from "../../../services/dialer/outbound/dial-permit.ts";
import { createPermitPace } from "../../../services/dialer/outbound/permit-pace.ts";
import type { DialJob } from "../../../shared/contracts/dialer.ts";
import { fail } from "../../../shared/errors.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { plusMs } from "../../../shared/time/clock.ts";
import { createStoreClock } from "../../../shared/time/store-clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const WINDOW_MS = 60_000;
type Answer = ResultOf<"scheduler.grant">;
type Asked = ParamsOf<"scheduler.grant">;

/** An attempt of which account and configuration are counted. The store's clock is two hours ahead of ours; writing takes `writeMs`. */
function attempt(account = "5") {
  const clock = virtualClock();
  const AHEAD_MS = 7_200_000;
  const storeNow = (): Date => plusMs(clock.now(), AHEAD_MS);
  const asked: Asked[] = [];
  const returned: string[] = [];
  const draining = new AbortController();
  const script = { writeMs: 0, farMs: 0, refuse: null as Answer | null, away: false };
  /** As the scheduler does: the account's permit, then the configuration's for the same instant. */
  const grant = async (p: Asked): Promise<Answer> => {
    asked.push(p);
    if (script.away) return fail("DEPENDENCY_DOWN", "away");
    if (script.refuse) return script.refuse;
    const from = plusMs(storeNow(), p.min_wait_ms ?? 0);
    const permit = (window: string, valid_ms: number, window_ms: number) => ({
      window,
      from: from.toISOString(),
      until: plusMs(from, valid_ms).toISOString(),
      window_ms,
    });
    const permits = [
      ...(account === "0" ? [] : [permit("provider:PROVIDER_ONE", 100 + 2 * (p.uncertain_ms ?? 0), 1000)]),
      ...(p.rate_limit ? [permit(`configuration:${ID}`, p.valid_ms ?? 100, WINDOW_MS)] : []),
    ];
    await clock.advance(script.writeMs);
    return { granted: true, send_in_ms: p.min_wait_ms ?? 0, permits };
  };
  const bus = {
    call: (name: string, params: unknown) => {
      if (name === "scheduler.grant") return grant(params as Asked);
      returned.push(...(params as ParamsOf<"scheduler.giveBack">).permits.map((p) => p.window.split(":")[0] ?? ""));
      return Promise.resolve({});
    },
  } as unknown as Bus;
  const read = async (): Promise<Date> => {
    await clock.advance(script.farMs / 2);
    const said = storeNow();
    await clock.advance(script.farMs / 2);
    return said;
  };
  const log = { error: () => undefined, warn: () => undefined, info: () => undefined };
  const storeClock = createStoreClock({ clock, log, holds: true, source: { time: read } });
  const deps: PermitDeps = {
    bus,
    clock,
    draining: draining.signal,
    env: readEnv({ NODE_ENV: "test", PROVIDER_ONE_CALLS_PER_SECOND: account }),
    permitPace: createPermitPace(() => 0.5),
    storeClock,
  };
  const order = {
    provider: "PROVIDER_ONE",
    rate_limit: { configuration_id: ID, max_calls: 5, window_seconds: 60 },
  } as DialJob;
  const acquire = async () => {
    await storeClock.refresh();
    const got = await acquirePermit(deps, order, clock.monotonicMs() - 250);
    if (got === null || "kind" in got) throw new Error(`no permit: ${JSON.stringify(got)}`);
    const held = holdPermit(deps, order, got);
    /** Time moves on while it is waited for. */
    const ready = async () => {
      const waited = held.ready();
      const over = waited.then(() => true);
      while (!(await Promise.race([over, clock.advance(1).then(() => false)])));
      return waited;
    };
    return { ...held, ready };
  };
  return { clock, asked, returned, script, deps, order, acquire, draining };
}

test("a permit holds by the store's clock, however long the answer was on its way and whatever our own clock says", async () => {
  const a = attempt("0");
  a.script.writeMs = 800;
  const held = await a.acquire();
  expect([await held.ready(), held.mayLeave()]).toEqual([null, true]);
  await a.clock.advance(1100);
  expect(held.mayLeave()).toBe(true);
  await a.clock.advance(100);
  expect(held.mayLeave()).toBe(false);
  expect(a.returned).toEqual([]);
});

test("an account's permit that was missed is asked for again; the configuration's is kept, for it is valid for longer", async () => {
  const a = attempt();
  const held = await a.acquire();
  await a.clock.advance(300);
  expect([await held.ready(), held.mayLeave()]).toEqual([null, true]);
  expect(a.asked.map((p) => p.rate_limit !== null)).toEqual([true, false]);
  expect(a.returned).toEqual(["provider"]);
});

test("where both were missed both are given back, and asked for again", async () => {
  const a = attempt();
  const held = await a.acquire();
  await a.clock.advance(5000);
  expect([await held.ready(), held.mayLeave()]).toEqual([null, true]);
  expect(a.asked.map((p) => p.rate_limit !== null)).toEqual([true, true]);
  expect(a.returned).toEqual(["provider", "configuration"]);
});

test("three times, then all is given back and the lead waits, longer each time until a call is placed", async () => {
  const a = attempt();
  const waits: number[] = [];
  for (let i = 0; i < 3; i++) {
    const held = await a.acquire();
    // answers that always come too late
    a.script.writeMs = 10_000;
    await a.clock.advance(5000);
    const ends = await held.ready();
    expect(ends).toMatchObject({ kind: "release", reason: "the right to place the call ran out" });
    waits.push((ends?.due_at.getTime() ?? 0) - a.clock.now().getTime());
    await held.unused();
    a.script.writeMs = 0;
  }
  expect(waits).toEqual([500, 1000, 2000]);
  expect(a.asked).toHaveLength(3 * 4);
  a.deps.permitPace.placed();
  expect(a.deps.permitPace.late()).toBe(500);
  // each permit once
  expect(a.returned.filter((w) => w === "configuration")).toHaveLength(12);
});

test("a refusal or a scheduler that is away while others are asked for: what is held is given back once, and the lead is released", async () => {
  const a = attempt();
  const [refused, alone] = [await a.acquire(), await a.acquire()];
  await a.clock.advance(300);
  const retry_at = plusMs(a.clock.now(), 42_000).toISOString();
  a.script.refuse = { granted: false, why: "carrier_limit", retry_at };
  expect(await refused.ready()).toEqual({ kind: "release", due_at: new Date(retry_at), reason: "carrier_limit" });
  await refused.unused();
  expect(a.returned).toEqual(["provider", "configuration"]);
  a.script.away = true;
  expect(await alone.ready()).toMatchObject({ kind: "release", reason: "DEPENDENCY_DOWN" });
  await alone.unused();
  await alone.unused();
  expect(a.returned).toEqual(["provider", "configuration", "provider", "configuration"]);
});

test("the next permits lie as far ahead as hearing of them took lately", async () => {
  const a = attempt();
  a.script.writeMs = 400;
  await a.acquire().catch(() => undefined);
  a.script.writeMs = 300;
  await a.acquire();
  expect(a.asked.map((p) => p.min_wait_ms)).toEqual([undefined, 600]);
  expect(a.asked[1]).toMatchObject({ max_wait_ms: 2600, waited_ms: 250, valid_ms: 2000 });
});

test("a store that is far away: who is unsure of its clock asks for permits that are longer by as much, and can use them", async () => {
  const a = attempt();
  a.script.farMs = 160;
  const held = await a.acquire();
  expect(a.asked[0]?.uncertain_ms).toBeGreaterThanOrEqual(80);
  expect(a.asked[0]?.uncertain_ms).toBeLessThanOrEqual(82);
  expect([await held.ready(), held.mayLeave()]).toEqual([null, true]);
  await a.clock.advance(81);
  expect(held.mayLeave()).toBe(false);
  expect(a.asked).toHaveLength(1);
});

test("a scheduler of 0.2.0 names no permits: they hold for a moment from the asking, are not given back and not asked for again", async () => {
  const a = attempt();
  a.script.refuse = { granted: true, send_in_ms: 0 };
  const held = await a.acquire();
  expect(held.mayLeave()).toBe(true);
  await a.clock.advance(81);
  expect(held.mayLeave()).toBe(false);
  expect(await held.ready()).toMatchObject({ kind: "release", reason: "the right to place the call ran out" });
  await held.unused();
  expect([a.asked.length, a.returned]).toEqual([1, []]);
});
