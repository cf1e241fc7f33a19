import merchants from "../../../services/merchants/merchants.service.ts";
import type { EventOf, ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf } from "../../../shared/errors.ts";
import { overhearing } from "../../fixtures/bus/event-listener.ts";
import {
  asAdmin,
  asMerchant,
  asReseller,
  asUser,
  setStage,
  standIn,
  until,
  type Stage,
} from "../../../local/harness/stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

type By = ParamsOf<"merchants.pause">["by"];

const clock = virtualClock();
const recorded: ParamsOf<"auth.record">[] = [];
const switched: EventOf<"calling.switched">[] = [];
const listener = overhearing("calling.switched", switched);

let stage: Stage;
beforeAll(async () => {
  stage = await setStage({
    services: [
      merchants,
      listener,
      standIn("leads", { takeEvents: () => ({}) }),
      standIn("auth", {
        record: (entry) => {
          if (!entry.action.endsWith(".created")) recorded.push(entry);
          return {};
        },
      }),
    ],
    clock,
  });
});
beforeEach(() => {
  recorded.length = 0;
  switched.length = 0;
});
afterAll(() => stage.stop());

const world = async () => {
  const r = await stage.bus.call("merchants.createReseller", { by: asAdmin, name: "R" });
  const m = await stage.bus.call("merchants.create", {
    by: asAdmin,
    name: "M",
    reseller_id: r.id,
    contact_email: "desk@example.com",
  });
  return { r: r.id, m };
};
const pause = (id: string, by: By = asAdmin, reason?: string) =>
  stage.bus.call("merchants.pause", { by, id, ...(reason === undefined ? {} : { reason }) });
const resume = (id: string, by: By = asAdmin) => stage.bus.call("merchants.resume", { by, id });
const get = (id: string) => stage.bus.call("merchants.get", { by: asAdmin, id });
const pauses = (...merchant_ids: string[]) => stage.bus.call("merchants.pauses", { merchant_ids });
const told = (merchant_id: string | null) =>
  until("calling.switched", () => switched.find((e) => e.merchant_id === merchant_id));

describe("a merchant", () => {
  test("is paused and resumed by an admin, by its reseller and by itself; each time it is shown, broadcast and audited", async () => {
    const { r, m } = await world();
    for (const by of [asAdmin, asReseller(r), asMerchant(r, m.id)] as const) {
      await clock.advance(1000);
      const paused = { at: clock.now().toISOString(), by: `${by.kind}:${by.id}`, reason: "holiday" };
      expect(await pause(m.id, by, "holiday")).toEqual({ ...m, paused, updated_at: clock.now().toISOString() });
      await told(m.id);
      expect((await get(m.id)).paused).toEqual(paused);
      expect((await stage.bus.call("merchants.list", { by })).merchants.find((x) => x.id === m.id)?.paused).toEqual(
        paused,
      );
      expect(await pauses(m.id, "nobody")).toEqual({ deployment: null, merchants: [{ id: m.id, pause: paused }] });
      switched.length = 0;
      expect((await resume(m.id, by)).paused).toBeNull();
      await told(m.id);
      expect(await pauses(m.id)).toEqual({ deployment: null, merchants: [] });
      switched.length = 0;
      expect(recorded.splice(0)).toEqual([
        {
          by,
          action: "merchant.paused",
          subject: m.id,
          reseller_id: r,
          merchant_id: m.id,
          details: { reason: "holiday" },
        },
        { by, action: "merchant.resumed", subject: m.id, reseller_id: r, merchant_id: m.id, details: {} },
      ]);
    }
  });

  test("paused twice keeps the first pause; resumed twice stays as it is; the second time nothing is audited", async () => {
    const { m } = await world();
    const first = await pause(m.id, asAdmin, "first");
    await clock.advance(1000);
    expect(await pause(m.id, asAdmin, "second")).toEqual(first);
    const back = await resume(m.id);
    await clock.advance(1000);
    expect(await resume(m.id)).toEqual(back);
    expect(recorded.map((e) => e.action)).toEqual(["merchant.paused", "merchant.resumed"]);
  });

  test("of many who pause at once, one succeeds", async () => {
    const { m } = await world();
    const all = await Promise.all(Array.from({ length: 8 }, (_, i) => pause(m.id, asAdmin, `reason ${i}`)));
    expect(new Set(all.map((x) => x.paused?.reason)).size).toBe(1);
    expect(recorded).toHaveLength(1);
  });

  test("without a reason it has none", async () => {
    const { m } = await world();
    expect((await pause(m.id)).paused?.reason).toBeNull();
  });

  test("other tenants, siblings and users may not; an unknown merchant is not found", async () => {
    const { r, m } = await world();
    const sibling = await stage.bus.call("merchants.create", {
      by: asAdmin,
      name: "S",
      reseller_id: r,
      contact_email: "s@example.com",
    });
    for (const [by, why] of [
      [asReseller("other"), "MERCHANT_NOT_FOUND"],
      [asMerchant(r, sibling.id), "MERCHANT_NOT_FOUND"],
      [asUser(r, m.id), "FORBIDDEN"],
      [asUser(r, sibling.id), "MERCHANT_NOT_FOUND"],
      [asMerchant("other", "x"), "MERCHANT_NOT_FOUND"],
    ] as const) {
      expect([
        await pause(m.id, by).then(() => "done", codeOf),
        await resume(m.id, by).then(() => "done", codeOf),
      ]).toEqual([why, why]);
    }
    for (const by of [asAdmin, asReseller(r)])
      expect(await pause("nobody", by).then(() => "done", codeOf)).toBe("MERCHANT_NOT_FOUND");
    expect([await get(m.id), recorded, switched]).toEqual([m, [], []]);
  });

  test("other changes leave the pause alone", async () => {
    const { m } = await world();
    const { paused } = await pause(m.id);
    expect((await stage.bus.call("merchants.update", { by: asAdmin, id: m.id, name: "New" })).paused).toEqual(paused);
  });

  test.each([
    ["an empty reason", { reason: "" }],
    ["a reason without end", { reason: "x".repeat(501) }],
  ])("%s is refused by the contract", async (_what, wrong) => {
    const { m } = await world();
    expect(
      await stage.bus.call("merchants.pause", { by: asAdmin, id: m.id, ...wrong }).then(() => "done", codeOf),
    ).toBe("VALIDATION_FAILED");
  });
});

describe("the deployment", () => {
  const deployment = (by: By = asAdmin) => stage.bus.call("merchants.deployment", { by });
  const pauseAll = (by: By = asAdmin, reason?: string) =>
    stage.bus.call("merchants.pauseDeployment", { by, ...(reason === undefined ? {} : { reason }) });
  const resumeAll = (by: By = asAdmin) => stage.bus.call("merchants.resumeDeployment", { by });

  test("is paused once, by one of many, and resumed; every step is broadcast and audited", async () => {
    const { m } = await world();
    expect(await deployment()).toEqual({ paused: null });
    expect(await resumeAll()).toEqual({ paused: null });
    const all = await Promise.all(Array.from({ length: 6 }, (_, i) => pauseAll(asAdmin, `incident ${i}`)));
    expect(new Set(all.map((x) => x.paused?.reason)).size).toBe(1);
    const { paused } = await deployment();
    expect(paused).toEqual({
      at: clock.now().toISOString(),
      by: `${asAdmin.kind}:${asAdmin.id}`,
      reason: all[0]!.paused!.reason,
    });
    await told(null);
    await pause(m.id);
    expect(await pauses(m.id)).toMatchObject({ deployment: paused, merchants: [{ id: m.id }] });
    expect(await pauses()).toEqual({ deployment: paused, merchants: [] });
    expect(await resumeAll()).toEqual({ paused: null });
    expect(await deployment()).toEqual({ paused: null });
    expect((await pauses()).deployment).toBeNull();
    expect(recorded.map((e) => [e.action, e.subject, e.reseller_id, e.merchant_id])).toEqual([
      ["deployment.paused", "deployment", null, null],
      ["merchant.paused", m.id, m.reseller_id, m.id],
      ["deployment.resumed", "deployment", null, null],
    ]);
    expect(await pauseAll(asAdmin, "$$ROOT")).toMatchObject({ paused: { reason: "$$ROOT" } });
    await resumeAll();
  });

  test.each([
    ["reseller", asReseller("r")],
    ["merchant", asMerchant("r", "m")],
    ["user", asUser("r", "m")],
  ] as const)("is refused to a %s", async (_role, by) => {
    expect(
      await Promise.all([deployment(by), pauseAll(by), resumeAll(by)].map((p) => p.then(() => "done", codeOf))),
    ).toEqual(["FORBIDDEN", "FORBIDDEN", "FORBIDDEN"]);
    expect(recorded).toEqual([]);
  });
});
