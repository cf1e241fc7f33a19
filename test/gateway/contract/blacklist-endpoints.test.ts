import { randomUUID } from "node:crypto";
import blacklist from "../../../services/blacklist/blacklist.service.ts";
import { createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** The blacklist over HTTP, refusals included. */
let http: HttpStage;
let stranger = "";
let serial = 0;
const fresh = (): string => `+1415555${String(serial++).padStart(4, "0")}`;
const send = (
  method: "POST" | "DELETE",
  phone_numbers: unknown,
  token = http.tokens.reseller,
  more: Record<string, unknown> = {},
) => http.ask(method, "/blacklist", { body: { phone_numbers, ...more }, token });
const listed = async (phone: string, token = http.tokens.merchant): Promise<boolean> =>
  (await http.ask("GET", `/blacklist?phone_number=${encodeURIComponent(phone)}`, { token })).body["count"] !== 0;
const fault = (answer: Answer) => ({
  status: answer.status,
  code: answer.body["code"],
  paths: ((answer.body["errors"] as { path: string }[] | undefined) ?? []).map((e) => e.path).sort(),
});

beforeAll(async () => {
  http = await setHttpStage([blacklist]);
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  stranger = await createdId(http, "/s2s-token", { name: "other", role: "reseller", reseller_id }, "token");
});
afterAll(async () => {
  await http.stop();
});

test("listed, shown and lifted", async () => {
  const [one, two] = [fresh(), fresh()];
  const added = await send("POST", [one, `+1 ${two.slice(2)}`, one]);
  expect([added.status, added.body]).toEqual([201, { added: 2, already_listed: 0, phone_numbers: [one, two] }]);
  expect(
    (await http.ask("GET", `/blacklist?phone_number=${encodeURIComponent(one)}`, { token: http.tokens.user })).body,
  ).toEqual({
    count: 1,
    entries: [{ phone_number: one, reseller_id: http.reseller_id, created_at: expect.any(String) }],
    next_cursor: null,
  });
  const lifted = await send("DELETE", [one]);
  expect([lifted.status, lifted.text]).toEqual([204, ""]);
  expect([await listed(one), await listed(two)]).toEqual([false, true]);
});

test("some listed already: 201 with the counts; all of them: 409", async () => {
  const [one, two] = [fresh(), fresh()];
  await send("POST", [one]);
  expect((await send("POST", [one, two])).body).toMatchObject({ added: 1, already_listed: 1 });
  expect(fault(await send("POST", [one]))).toEqual({ status: 409, code: "NUMBER_EXISTS", paths: ["phone_numbers"] });
  expect(fault(await send("POST", [two, one]))).toEqual({
    status: 409,
    code: "NUMBER_EXISTS",
    paths: ["phone_numbers"],
  });
  expect((await send("POST", [one], stranger)).status).toBe(201);
});

describe.each([["POST"], ["DELETE"]] as const)("%s: 400, and nothing is changed", (method) => {
  test.each<[string, unknown, string, string[]]>([
    ["no numbers", undefined, "VALIDATION_FAILED", ["phone_numbers"]],
    ["an empty list", [], "VALIDATION_FAILED", ["phone_numbers"]],
    ["one text", "+14155550100", "VALIDATION_FAILED", ["phone_numbers"]],
    ["numbers as numbers", [14_155_550_100], "VALIDATION_FAILED", ["phone_numbers.0"]],
    ["one that is none", ["+14155559998", "12345"], "INVALID_PHONE_NUMBER", ["phone_numbers.1"]],
    [
      "several that are none",
      ["x", "+14155559998", "+1415555010\u0660", "+14155550100;ext=5"],
      "INVALID_PHONE_NUMBER",
      ["phone_numbers.0", "phone_numbers.2", "phone_numbers.3"],
    ],
  ])("%s", async (_what, phones, code, paths) => {
    expect(fault(await send(method, phones))).toEqual({ status: 400, code, paths });
    expect(await listed("+14155559998")).toBe(false);
  });
  test("no body, and an unknown field", async () => {
    expect(fault(await http.ask(method, "/blacklist"))).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
    expect(fault(await send(method, [fresh()], http.tokens.reseller, { reason: "x" }))).toEqual({
      status: 400,
      code: "VALIDATION_FAILED",
      paths: ["reason"],
    });
  });
});

test("DELETE of what is not listed: 404; of some that are: 204", async () => {
  const phone = fresh();
  expect(fault(await send("DELETE", [phone]))).toEqual({ status: 404, code: "BLACKLIST_ENTRY_NOT_FOUND", paths: [] });
  await send("POST", [phone]);
  expect(fault(await send("DELETE", [phone], stranger))).toEqual({
    status: 404,
    code: "BLACKLIST_ENTRY_NOT_FOUND",
    paths: [],
  });
  expect((await send("DELETE", [phone, fresh()])).status).toBe(204);
  expect((await send("DELETE", [phone])).status).toBe(404);
});

describe("whose list", () => {
  test("an admin's entry holds for everybody and is not a reseller's to lift: 403, and nothing is changed", async () => {
    const [everybodys, own] = [fresh(), fresh()];
    await send("POST", [everybodys], http.tokens.admin);
    await send("POST", [own]);
    expect(await listed(everybodys, stranger)).toBe(true);
    expect(fault(await send("DELETE", [own, everybodys]))).toEqual({
      status: 403,
      code: "FORBIDDEN",
      paths: ["phone_numbers.1"],
    });
    expect([await listed(own), await listed(everybodys)]).toEqual([true, true]);
    expect((await send("DELETE", [everybodys], http.tokens.admin)).status).toBe(204);
    expect(await listed(everybodys)).toBe(false);
  });
  test("an admin names the reseller whose entry it lifts or makes", async () => {
    const phone = fresh();
    await send("POST", [phone]);
    expect(fault(await send("DELETE", [phone], http.tokens.admin))).toMatchObject({
      status: 404,
      code: "BLACKLIST_ENTRY_NOT_FOUND",
    });
    expect((await send("DELETE", [phone], http.tokens.admin, { reseller_id: http.reseller_id })).status).toBe(204);
    expect((await send("POST", [phone], http.tokens.admin, { reseller_id: http.reseller_id })).status).toBe(201);
    expect([await listed(phone), await listed(phone, stranger)]).toEqual([true, false]);
    expect(fault(await send("POST", [phone], http.tokens.admin, { reseller_id: randomUUID() }))).toMatchObject({
      status: 404,
      code: "RESELLER_NOT_FOUND",
    });
  });
  test("a reseller names no other, merchants and users only read", async () => {
    expect(fault(await send("POST", [fresh()], stranger, { reseller_id: http.reseller_id }))).toMatchObject({
      status: 403,
      code: "FORBIDDEN",
    });
    for (const token of [http.tokens.merchant, http.tokens.user])
      for (const method of ["POST", "DELETE"] as const)
        expect(fault(await send(method, [fresh()], token))).toMatchObject({ status: 403, code: "FORBIDDEN" });
  });
});
