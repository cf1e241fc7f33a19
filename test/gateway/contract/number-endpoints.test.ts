import { randomUUID } from "node:crypto";
import numbers from "../../../services/numbers/numbers.service.ts";
import { releaseOne, reserveOne } from "../../numbers/fixtures/numbers-service.ts";
import { fail } from "../../../shared/errors.ts";
import { createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Outbound numbers over HTTP, refusals included. */
let http: HttpStage;
let stranger = "";
let foreign = "";
let serial = 0;
const fresh = (): string => `+1415555${String(serial++).padStart(4, "0")}`;
const create = (over: Record<string, unknown> = {}, token?: string) =>
  http.ask("POST", "/numbers", {
    body: { phone_number: fresh(), provider: "PROVIDER_ONE", ...over },
    ...(token ? { token } : {}),
  });
const mine = async (over: Record<string, unknown> = {}): Promise<Record<string, unknown> & { id: string }> =>
  (await create(over, http.tokens.reseller)).body as Record<string, unknown> & { id: string };
const fault = (answer: Answer) => ({
  status: answer.status,
  code: answer.body["code"],
  paths: ((answer.body["errors"] as { path: string }[] | undefined) ?? []).map((e) => e.path).sort(),
});
const reserve = (holder: string) =>
  reserveOne(http.stage.bus, holder, { reseller_id: http.reseller_id, provider: "PROVIDER_THREE" });

beforeAll(async () => {
  http = await setHttpStage([numbers], {}, { NUMBERS_ADDED_BY: "reseller" });
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  stranger = await createdId(http, "/s2s-token", { name: "other", role: "reseller", reseller_id }, "token");
  foreign = String((await create({}, stranger)).body["id"]);
});
afterAll(async () => {
  await http.stop();
});

test("POST with status IN_USE makes an AVAILABLE number: a use is a fact of calls", async () => {
  const made = await create({ status: "IN_USE", channel: "voice" });
  expect([made.status, made.body["status"]]).toEqual([201, "AVAILABLE"]);
});

test("the contract's four fields make a number; PUT, GET and DELETE follow", async () => {
  const body = { phone_number: fresh(), provider: "PROVIDER_TWO", status: "DISABLED", channel: "voice" };
  const made = await http.ask("POST", "/numbers", { body, token: http.tokens.reseller });
  expect([made.status, made.body]).toEqual([
    201,
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      ...body,
      max_concurrent_calls: 1,
      reseller_id: http.reseller_id,
      merchant_id: null,
      inbound_template_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    },
  ]);
  const path = `/numbers/${String(made.body["id"])}`;
  const changed = await http.ask("PUT", path, {
    body: { status: "AVAILABLE", max_concurrent_calls: 4, merchant_id: http.merchant_id },
    token: http.tokens.reseller,
  });
  expect([changed.status, changed.body]).toEqual([
    200,
    {
      ...made.body,
      status: "AVAILABLE",
      max_concurrent_calls: 4,
      merchant_id: http.merchant_id,
      updated_at: expect.any(String),
    },
  ]);
  expect((await http.ask("GET", path, { token: http.tokens.user })).body).toEqual(changed.body);
  const gone = await http.ask("DELETE", path, { token: http.tokens.reseller });
  expect([gone.status, gone.text]).toEqual([204, ""]);
  expect(fault(await http.ask("GET", path))).toEqual({ status: 404, code: "NUMBER_NOT_FOUND", paths: [] });
});

describe("invalid input: 400", () => {
  test.each<[string, Record<string, unknown>, string, string[]]>([
    ["no phone number", { phone_number: undefined }, "VALIDATION_FAILED", ["phone_number"]],
    ["no provider", { provider: undefined }, "VALIDATION_FAILED", ["provider"]],
    ["a phone number that is none", { phone_number: "12345" }, "INVALID_PHONE_NUMBER", ["phone_number"]],
    ["digits of another script", { phone_number: "+1415555010\u0660" }, "INVALID_PHONE_NUMBER", ["phone_number"]],
    ["an extension", { phone_number: "+14155550100x5" }, "INVALID_PHONE_NUMBER", ["phone_number"]],
    ["an unknown provider", { provider: "twilio" }, "VALIDATION_FAILED", ["provider"]],
    ["no lines", { max_concurrent_calls: 0 }, "VALIDATION_FAILED", ["max_concurrent_calls"]],
    ["an unknown field", { colour: 1 }, "VALIDATION_FAILED", ["colour"]],
    ["a merchant without its reseller", { merchant_id: "m" }, "VALIDATION_FAILED", ["reseller_id"]],
  ])("POST with %s", async (_what, over, code, paths) => {
    expect(fault(await create(over))).toEqual({ status: 400, code, paths });
  });

  test.each<[string, unknown, string[]]>([
    ["nothing", {}, [""]],
    ["no body", undefined, [""]],
    ["the phone number", { phone_number: "+14155550100" }, ["phone_number"]],
    ["status IN_USE", { status: "IN_USE" }, ["status"]],
    ["an unknown provider", { provider: "x" }, ["provider"]],
    ["several at once", { max_concurrent_calls: 0, channel: "", id: "x" }, ["channel", "id", "max_concurrent_calls"]],
  ])("PUT with %s, and nothing changes", async (_what, body, paths) => {
    const before = await mine();
    expect(fault(await http.ask("PUT", `/numbers/${before.id}`, { body }))).toEqual({
      status: 400,
      code: "VALIDATION_FAILED",
      paths,
    });
    expect((await http.ask("GET", `/numbers/${before.id}`)).body).toEqual(before);
  });
  test("force that is neither true nor false", async () => {
    expect(fault(await http.ask("DELETE", `/numbers/${randomUUID()}?force=yes`))).toEqual({
      status: 400,
      code: "VALIDATION_FAILED",
      paths: ["force"],
    });
  });
});

describe("unknown and foreign numbers: 404 and 403", () => {
  test("no such id", async () => {
    for (const [method, body] of [
      ["GET", undefined],
      ["PUT", { channel: "x" }],
      ["DELETE", undefined],
    ] as const) {
      for (const id of [randomUUID(), "x"])
        expect(fault(await http.ask(method, `/numbers/${id}`, { body }))).toEqual({
          status: 404,
          code: "NUMBER_NOT_FOUND",
          paths: [],
        });
    }
  });
  test("an owner that is not there", async () => {
    expect(fault(await create({ reseller_id: randomUUID() }))).toMatchObject({
      status: 404,
      code: "RESELLER_NOT_FOUND",
    });
    expect(
      fault(
        await http.ask("PUT", `/numbers/${(await mine()).id}`, {
          body: { merchant_id: randomUUID() },
          token: http.tokens.reseller,
        }),
      ),
    ).toMatchObject({ status: 404, code: "MERCHANT_NOT_FOUND" });
  });
  test("another's number is answered as one that is nowhere", async () => {
    for (const [method, body] of [
      ["PUT", { channel: "x" }],
      ["DELETE", undefined],
    ] as const) {
      expect(fault(await http.ask(method, `/numbers/${foreign}`, { body, token: http.tokens.reseller }))).toMatchObject(
        { status: 404, code: "NUMBER_NOT_FOUND" },
      );
    }
    const [theirs, nobodys] = [
      await http.ask("GET", `/numbers/${foreign}`, { token: http.tokens.reseller }),
      await http.ask("GET", `/numbers/${randomUUID()}`, { token: http.tokens.reseller }),
    ];
    expect([theirs.status, { ...theirs.body, request_id: "" }]).toEqual([404, { ...nobodys.body, request_id: "" }]);
    expect(
      fault(
        await http.ask("PUT", `/numbers/${(await mine()).id}`, {
          body: { reseller_id: null },
          token: http.tokens.reseller,
        }),
      ),
    ).toMatchObject({ status: 403, code: "FORBIDDEN" });
  });
});

describe("existing numbers and numbers in a call: 409", () => {
  test("the phone number already exists, in another spelling, under another provider and under whatever owner", async () => {
    const { phone_number } = (await mine()) as unknown as { phone_number: string };
    expect(
      fault(
        await create(
          { phone_number: `+1 (${phone_number.slice(2, 5)}) ${phone_number.slice(5)}` },
          http.tokens.reseller,
        ),
      ),
    ).toEqual({ status: 409, code: "NUMBER_EXISTS", paths: ["phone_number"] });
    const answers = [
      await create({ phone_number }, http.tokens.reseller),
      await create({ phone_number, provider: "PROVIDER_TWO" }, stranger),
      await create({ phone_number }),
    ];
    for (const answer of answers)
      expect(fault(answer)).toEqual({ status: 409, code: "NUMBER_EXISTS", paths: ["phone_number"] });
    // the same words to its owner, to a stranger and to an admin
    expect(new Set(answers.map(({ body }) => body["detail"])).size).toBe(1);
    expect(answers.map(({ text }) => text).join("\n")).not.toContain(http.reseller_id);
  });
  test("the carrier's word decides whether a number comes in: 422 where its account does not hold it, 503 while it can't be asked, 501 without an account", async () => {
    const answered = async (answer: () => unknown) => {
      http.script["dialer.holdsNumber"] = answer;
      return create({ provider: "PROVIDER_TWO" }).finally(() => delete http.script["dialer.holdsNumber"]);
    };
    const notHeld = await answered(() => ({ held: false }));
    expect(fault(notHeld)).toEqual({ status: 422, code: "NUMBER_NOT_HELD", paths: ["phone_number"] });
    const away = await answered(() => fail("DEPENDENCY_DOWN", "The carrier does not answer (HTTP 500)."));
    expect([fault(away), away.headers.get("retry-after")]).toEqual([
      { status: 503, code: "DEPENDENCY_DOWN", paths: [] },
      "10",
    ]);
    expect(fault(await answered(() => fail("PROVIDER_UNCONFIGURED", "No account.")))).toMatchObject({ status: 501 });
  });
  test("in a call: neither disabled nor deleted, unless by force", async () => {
    const number = await mine({ provider: "PROVIDER_THREE" });
    const path = `/numbers/${number.id}`;
    expect((await reserve("call-1"))?.id).toBe(number.id);
    expect((await http.ask("GET", path)).body["status"]).toBe("IN_USE");
    for (const query of ["", "?force=false"]) {
      const answers = [
        await http.ask("PUT", `${path}${query}`, { body: { status: "DISABLED" } }),
        await http.ask("DELETE", `${path}${query}`),
      ];
      for (const answer of answers)
        expect([fault(answer), String(answer.body["detail"])]).toEqual([
          { status: 409, code: "RESOURCE_IN_USE", paths: [] },
          expect.stringContaining("force=true"),
        ]);
    }
    expect(fault(await http.ask("PUT", `${path}?force=true`, { body: { provider: "PROVIDER_TWO" } }))).toMatchObject({
      status: 409,
      code: "RESOURCE_IN_USE",
    });
    expect((await http.ask("PUT", `${path}?force=true`, { body: { status: "DISABLED" } })).body).toEqual({
      ...number,
      status: "DISABLED",
      updated_at: expect.any(String),
    });
    expect((await http.ask("DELETE", `${path}?force=true`)).status).toBe(204);
    expect((await http.ask("GET", path)).status).toBe(404);
    expect((await create({ phone_number: number["phone_number"] }, http.tokens.reseller)).status).toBe(201);
    await releaseOne(http.stage.bus, "call-1");
  });
});

test("the list is narrowed by provider, status, merchant and phone number", async () => {
  const one = await mine({ provider: "PROVIDER_TWO", merchant_id: http.merchant_id });
  const two = await mine({ status: "DISABLED" });
  const ids = async (query: string, token = http.tokens.reseller) =>
    ((await http.ask("GET", `/numbers?${query}`, { token })).body["numbers"] as { id: string }[]).map((n) => n.id);
  expect(await ids(`provider=PROVIDER_TWO&merchant_id=${http.merchant_id}&status=AVAILABLE`)).toContain(one.id);
  expect(await ids("status=DISABLED")).toEqual([two.id]);
  expect(await ids(`phone_number=${encodeURIComponent(String(one["phone_number"]))}`, http.tokens.user)).toEqual([
    one.id,
  ]);
  expect(await ids(`phone_number=${encodeURIComponent(String(one["phone_number"]))}`, stranger)).toEqual([]);
  expect(await ids(`reseller_id=${http.reseller_id}&status=DISABLED`, http.tokens.admin)).toEqual([two.id]);
  expect(fault(await http.ask("GET", "/numbers?phone_number=12"))).toEqual({
    status: 400,
    code: "INVALID_PHONE_NUMBER",
    paths: ["phone_number"],
  });
  expect(fault(await http.ask("GET", "/numbers?status=BUSY"))).toMatchObject({ status: 400, paths: ["status"] });
});
