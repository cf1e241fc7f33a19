import { codeOf } from "../../../shared/errors.ts";
import { asAdmin, asReseller } from "../../../local/harness/stage.ts";
import { setNumbersStage, tenant, US } from "../fixtures/numbers-service.ts";

const at = setNumbersStage();

test("that the carrier refuses the deployment's credentials is an admin's to know, not a reseller's who adds a number", async () => {
  const phone_number = US();
  at.carrier.set(phone_number, "credentials refused");
  const said = (by: ReturnType<typeof asReseller> | typeof asAdmin) =>
    at.stage.bus
      .call("numbers.create", { by, phone_number, provider: "PROVIDER_ONE" })
      .then(String, (error: unknown) => [codeOf(error), String(error)]);
  const toReseller = await said(asReseller(tenant()));
  expect(toReseller).toEqual(["DEPENDENCY_DOWN", expect.stringContaining("can't be asked at the moment")]);
  expect(String(toReseller)).not.toContain("credentials");
  expect(await said(asAdmin)).toEqual(["DEPENDENCY_DOWN", expect.stringContaining("refuses the credentials")]);
});
