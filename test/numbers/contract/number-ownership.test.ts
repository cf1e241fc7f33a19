import type { ParamsOf } from "../../../shared/bus/bus.ts";
import { codeOf, messageOf } from "../../../shared/errors.ts";
import { asAdmin, asMerchant, asReseller } from "../../../local/harness/stage.ts";
import { reserveOne, setNumbersStage, TEMPLATE, tenant, US } from "../fixtures/numbers-service.ts";

/** Who owns a phone number, who says so, and what the carrier says of it. Numbers are added by admins, the default. */
const at = setNumbersStage("admin");

type By = ParamsOf<"numbers.create">["by"];
type Patch = ParamsOf<"numbers.update">["number"];

const create = (by: By, over: Partial<ParamsOf<"numbers.create">> = {}) =>
  at.stage.bus.call("numbers.create", { by, phone_number: US(), provider: "PROVIDER_ONE", ...over });
const update = (by: By, number_id: string, number: Patch) =>
  at.stage.bus.call("numbers.update", { by, number_id, number });
const get = (number_id: string) => at.stage.bus.call("numbers.get", { by: asAdmin, number_id });
const called = async (phone_number: string) =>
  (await at.stage.bus.call("numbers.called", { phone_number, provider: "PROVIDER_ONE" })).number;
const refused = (work: Promise<unknown>): Promise<{ code: string; says: string }> =>
  work.then(
    () => ({ code: "taken", says: "" }),
    (error: unknown) => ({ code: codeOf(error), says: messageOf(error) }),
  );
/** What the audit log was told of a number. */
const auditOf = (id: string) =>
  at.audited.filter(({ subject }) => subject === id).map(({ action, reseller_id }) => [action, reseller_id]);

test("another reseller's number can't be taken over: its calls stay with its owner, and nothing is dialled from it for others", async () => {
  const [a, b] = [tenant(), tenant()];
  const { id, phone_number } = await create(asAdmin, { reseller_id: a });
  for (const provider of ["PROVIDER_ONE", "PROVIDER_TWO"] as const) {
    const takeover = { phone_number, provider, inbound_template_id: TEMPLATE };
    expect((await refused(create(asReseller(b), takeover))).code).toBe("FORBIDDEN");
    const { code, says } = await refused(create(asAdmin, { ...takeover, reseller_id: b }));
    expect([code, says.includes(a), says.includes(phone_number)]).toEqual(["NUMBER_EXISTS", false, false]);
  }
  expect(await called(phone_number)).toMatchObject({ id, reseller_id: a });
  expect(await reserveOne(at.stage.bus, `${b}-1`, { reseller_id: b })).toBeNull();
  expect(await reserveOne(at.stage.bus, `${a}-1`, { reseller_id: a })).toMatchObject({ id });
});

test("a number of the shared pool can't be taken over either, and a deleted one may be added for anybody", async () => {
  const pool = await create(asAdmin, { status: "DISABLED" });
  const { phone_number } = pool;
  expect((await refused(create(asAdmin, { phone_number, reseller_id: tenant() }))).code).toBe("NUMBER_EXISTS");
  await at.stage.bus.call("numbers.remove", { by: asAdmin, number_id: pool.id });
  const r = tenant();
  expect(await create(asAdmin, { phone_number, reseller_id: r })).toMatchObject({ phone_number, reseller_id: r });
});

test("ten resellers at once get one phone number once", async () => {
  const phone_number = US();
  const codes = await Promise.all(
    Array.from({ length: 10 }, () => refused(create(asAdmin, { phone_number, reseller_id: tenant() }))),
  );
  expect(codes.map(({ code }) => code).sort()).toEqual([...Array<string>(9).fill("NUMBER_EXISTS"), "taken"]);
});

test("resellers add no numbers and give none another provider, and hear why; what is theirs they change and delete", async () => {
  const r = tenant();
  const { id } = await create(asAdmin, { reseller_id: r });
  for (const work of [create(asReseller(r)), update(asReseller(r), id, { provider: "PROVIDER_TWO" })]) {
    const { code, says } = await refused(work);
    expect([code, says]).toEqual(["FORBIDDEN", expect.stringMatching(/admin.*carrier accounts.*allot/)]);
  }
  expect((await refused(create(asMerchant(r, `${r}.a`)))).code).toBe("FORBIDDEN");
  const patch = { status: "DISABLED", merchant_id: `${r}.a`, max_concurrent_calls: 2, inbound_template_id: TEMPLATE };
  expect(await update(asReseller(r), id, { ...patch, status: "DISABLED" })).toMatchObject(patch);
  await at.stage.bus.call("numbers.remove", { by: asReseller(r), number_id: id });
  expect((await refused(get(id))).code).toBe("NUMBER_NOT_FOUND");
});

describe("the carrier's word", () => {
  test.each([
    ["not held", "NUMBER_NOT_HELD", /account behind PROVIDER_TWO does not hold/],
    ["away", "DEPENDENCY_DOWN", /can't be asked.*nothing was changed/],
    ["no account", "PROVIDER_UNCONFIGURED", /PROVIDER_TWO has no carrier account/],
    [
      "credentials refused",
      "DEPENDENCY_DOWN",
      /can't be asked: the carrier refuses the credentials \(HTTP 401\) of PROVIDER_TWO\. Nothing was changed/,
    ],
  ] as const)("%s: no such number comes in, is allotted or gets that provider", async (answer, code, says) => {
    const phone_number = US();
    at.carrier.set(phone_number, answer);
    const adding = create(asAdmin, { phone_number, provider: "PROVIDER_TWO" });
    expect(await refused(adding)).toEqual({ code, says: expect.stringMatching(says) });
    expect(await called(phone_number)).toBeNull();
    at.carrier.delete(phone_number);
    const number = await create(asAdmin, { phone_number, provider: "PROVIDER_TWO", reseller_id: tenant() });
    at.carrier.set(phone_number, answer);
    const other = tenant();
    for (const patch of [{ reseller_id: other }, { provider: "PROVIDER_ONE" as const }])
      expect((await refused(update(asAdmin, number.id, patch))).code).toBe(code);
    // whatever the carrier says, a number can be switched off and given to another merchant of its reseller
    const off = { status: "DISABLED" as const, merchant_id: `${String(number.reseller_id)}.m` };
    expect(await update(asAdmin, number.id, off)).toEqual({ ...number, ...off, updated_at: expect.any(String) });
  });
});

test("the audit log has every change with its actor: made, allotted and withdrawn for whom it concerns, changed, deleted", async () => {
  const [a, b] = [tenant(), tenant()];
  const { id, phone_number } = await create(asAdmin, { reseller_id: a });
  await update(asReseller(a), id, { max_concurrent_calls: 2 });
  await update(asAdmin, id, { reseller_id: b });
  await update(asAdmin, id, { reseller_id: null, status: "DISABLED" });
  await at.stage.bus.call("numbers.remove", { by: asAdmin, number_id: id });
  expect(auditOf(id)).toEqual([
    ["number.created", a],
    ["number.updated", a],
    ["number.withdrawn", a],
    ["number.allotted", b],
    ["number.withdrawn", b],
    ["number.allotted", null],
    ["number.deleted", null],
  ]);
  const told = JSON.stringify(at.audited.filter(({ subject }) => subject === id));
  expect([told.includes(phone_number), told.includes(asReseller(a).id)]).toEqual([false, true]);
});

test("a change that another one overtook changes nothing and says so", async () => {
  const [a, b] = [tenant(), tenant()];
  const { id } = await create(asAdmin, { reseller_id: a });
  const both = await Promise.all([
    refused(update(asAdmin, id, { reseller_id: b })),
    refused(update(asAdmin, id, { provider: "PROVIDER_TWO" })),
  ]);
  const { reseller_id, provider } = await get(id);
  const [allotted, moved] = both.map(({ code }) => code === "taken");
  expect([reseller_id === b, provider === "PROVIDER_TWO"]).toEqual([allotted, moved]);
  for (const { code, says } of both.filter((one) => one.code !== "taken"))
    expect([code, says]).toEqual(["RESOURCE_IN_USE", expect.stringContaining("same time")]);
});
