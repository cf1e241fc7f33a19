import { describe, expect, test } from "@jest/globals";
import { codeOf } from "../../../shared/errors.ts";
import { asAdmin } from "../../../local/harness/stage.ts";
import { setNumbersStage, TEMPLATE, tenant, US } from "../fixtures/numbers-service.ts";

const it = setNumbersStage();
const OTHER = "0b1f6a44-6d0e-4f6c-9a52-5d1b7a1b8a10";

const create = (reseller_id: string | null, over: object = {}) =>
  it.stage.bus.call("numbers.create", {
    by: asAdmin,
    phone_number: US(),
    provider: "PROVIDER_ONE",
    reseller_id,
    ...over,
  });
const called = async (phone_number: string, provider: "PROVIDER_ONE" | "PROVIDER_TWO" = "PROVIDER_ONE") =>
  (await it.stage.bus.call("numbers.called", { phone_number, provider })).number;
const update = (number_id: string, number: object) =>
  it.stage.bus.call("numbers.update", { by: asAdmin, number_id, number });
const codeOfFault = (work: Promise<unknown>): Promise<string> => work.then(() => "taken", codeOf);

describe("the template of a number", () => {
  test("is shown, changed, kept through other changes, and taken away", async () => {
    const made = await create(tenant(), { inbound_template_id: TEMPLATE.toUpperCase() });
    expect(made.inbound_template_id).toBe(TEMPLATE);
    expect((await update(made.id, { max_concurrent_calls: 3 })).inbound_template_id).toBe(TEMPLATE);
    expect((await update(made.id, { inbound_template_id: null })).inbound_template_id).toBeNull();
    expect((await update(made.id, { inbound_template_id: TEMPLATE })).inbound_template_id).toBe(TEMPLATE);
  });

  test("must be one the owner may use, also when the number gets another owner", async () => {
    expect(await codeOfFault(create(tenant(), { inbound_template_id: OTHER }))).toBe("TEMPLATE_NOT_FOUND");
    const made = await create(tenant(), { inbound_template_id: TEMPLATE });
    expect(await codeOfFault(update(made.id, { inbound_template_id: OTHER }))).toBe("TEMPLATE_NOT_FOUND");
    expect(await codeOfFault(update(made.id, { reseller_id: "rs-poor" }))).toBe("TEMPLATE_NOT_FOUND");
    expect((await update(made.id, { reseller_id: "rs-poor", inbound_template_id: null })).reseller_id).toBe("rs-poor");
  });
});

describe("the number that was called", () => {
  test("is found by number and provider, with its owner", async () => {
    const r = tenant();
    const made = await create(r, { merchant_id: `${r}.m`, inbound_template_id: TEMPLATE });
    expect(await called(made.phone_number)).toEqual({
      id: made.id,
      reseller_id: r,
      merchant_id: `${r}.m`,
      inbound_template_id: TEMPLATE,
    });
    expect(await called(made.phone_number, "PROVIDER_TWO")).toBeNull();
    expect(await called(US())).toBeNull();
  });

  test("is none of another channel than voice", async () => {
    const sms = await create(tenant(), { channel: "sms" });
    expect(await called(sms.phone_number)).toBeNull();
  });

  test("is none that is switched off or deleted", async () => {
    const [off, gone] = [await create(tenant()), await create(tenant())];
    await update(off.id, { status: "DISABLED" });
    await it.stage.bus.call("numbers.remove", { by: asAdmin, number_id: gone.id });
    expect([await called(off.phone_number), await called(gone.phone_number)]).toEqual([null, null]);
  });
});
