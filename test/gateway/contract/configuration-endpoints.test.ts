import { randomUUID } from "node:crypto";
import config from "../../../services/config/config.service.ts";
import { ACCEPTED_VALUES, REFUSED_VALUES } from "../fixtures/configuration-values.ts";
import { createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Every cross-check of a configuration, at its creation and at a change, over HTTP. */
let http: HttpStage;
let foreign: { template: string; configuration: string; token: string };
const SEVEN = {
  initial_offset: 0,
  retry_offset: 60,
  call_start_time: "09:00",
  call_end_time: "17:00",
  max_retry: 1,
  calling_provider: "PROVIDER_ONE",
};

const template = async (reseller_id: string, merchant_id?: string): Promise<string> =>
  await createdId(http, "/templates", {
    reseller_id,
    ...(merchant_id ? { merchant_id } : {}),
    name: "reminder",
    initial_node: "a",
    nodes: [{ name: "a", say: "Hello.", on_enter: [{ type: "end_call" }] }],
  });
const create = (template_id: string, over: Record<string, unknown> = {}, token?: string) =>
  http.ask("POST", "/configurations", { body: { template_id, ...SEVEN, ...over }, ...(token ? { token } : {}) });
const put = (id: string, body: unknown, token?: string) =>
  http.ask("PUT", `/configurations/${id}`, { body, ...(token ? { token } : {}) });
const made = async (over: Record<string, unknown> = {}): Promise<Record<string, unknown> & { id: string }> =>
  (await create(await template(http.reseller_id, http.merchant_id), over)).body as Record<string, unknown> & {
    id: string;
  };
const refusal = (answer: Answer) => ({
  status: answer.status,
  code: answer.body["code"],
  paths: ((answer.body["errors"] as { path: string }[] | undefined) ?? []).map((e) => e.path),
});
const invalid = (...paths: string[]) => ({ status: 400, code: "VALIDATION_FAILED", paths });

beforeAll(async () => {
  http = await setHttpStage([config]);
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  const theirs = await template(reseller_id);
  foreign = {
    template: theirs,
    configuration: String((await create(theirs)).body["id"]),
    token: await createdId(http, "/s2s-token", { name: "other", role: "reseller", reseller_id }, "token"),
  };
});
afterAll(async () => {
  await http.stop();
});

test("pre-checks of more than 32 KiB together: 400, as every field with an invalid value of a configuration", async () => {
  const check = { name: "check", body: "" };
  const of = (bytes: number) => ({
    pre_checks: [{ ...check, body: "b".repeat(bytes - JSON.stringify([check]).length) }],
  });
  const template_id = await template(http.reseller_id, http.merchant_id);
  expect(refusal(await create(template_id, of(32 * 1024 + 1)))).toEqual(invalid("pre_checks"));
  const { status, body } = await create(template_id, of(32 * 1024));
  expect(status).toBe(201);
  expect(refusal(await put(String(body["id"]), of(32 * 1024 + 1)))).toEqual(invalid("pre_checks"));
});

describe("create", () => {
  test("the seven required fields give a whole record, every default filled in", async () => {
    const template_id = await template(http.reseller_id, http.merchant_id);
    const answer = await create(template_id, {}, http.tokens.merchant);
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        reseller_id: http.reseller_id,
        merchant_id: http.merchant_id,
        template: "reminder",
        template_id,
        ...SEVEN,
        timezone: "UTC",
        weekdays: [1, 2, 3, 4, 5, 6, 7],
        holidays: [],
        respect_callee_timezone: null,
        enable_calling: true,
        enable_international_call: true,
        enable_inbound: false,
        inbound_call_start_time: null,
        inbound_call_end_time: null,
        inbound_call_timezone: "UTC",
        inbound_block_action: "REJECT",
        inbound_redirect_number: null,
        inbound_block_message: null,
        inbound_webhook_url: null,
        inbound_max_calls_per_caller: 10,
        inbound_caller_window_seconds: 3600,
        record_calls: true,
        voicemail_action: "hangup",
        engine: null,
        enforce_blacklist: true,
        rate_limit_enabled: false,
        rate_limit_max_calls: null,
        rate_limit_window_seconds: 3600,
        rate_limit_whitelist: [],
        pre_checks: [],
        duplicates: null,
        transfer_numbers: [],
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: answer.body["created_at"],
      },
    ]);
  });

  test.each(Object.keys({ template_id: "", ...SEVEN }))("without %s: 400", async (field) => {
    expect(refusal(await create(await template(http.reseller_id), { [field]: undefined }))).toEqual(invalid(field));
  });

  test("a second one for the same template: 409", async () => {
    const { template_id } = (await made()) as unknown as { template_id: string };
    const second = await create(template_id);
    expect(refusal(second)).toMatchObject({ status: 409, code: "CONFIGURATION_EXISTS" });
    const { configurations } = (await http.ask("GET", `/configurations?template_id=${template_id}`)).body;
    const [{ id }] = configurations as [{ id: string }];
    expect(second.body["detail"]).toContain(`PUT /configurations/${id}`);
  });

  test("of an unknown or foreign template: 404, alike", async () => {
    const [unknown, theirs] = [
      await create(randomUUID(), {}, http.tokens.reseller),
      await create(foreign.template, {}, http.tokens.reseller),
    ];
    expect([refusal(unknown).status, unknown.body["code"], { ...theirs.body, request_id: "" }]).toEqual([
      404,
      "TEMPLATE_NOT_FOUND",
      { ...unknown.body, request_id: "" },
    ]);
  });
});

test("an engine set to null is the deployment's again", async () => {
  const { id } = await made({ engine: "realtime" });
  expect([(await put(id, { engine: null })).body["engine"], (await put(id, { max_retry: 1 })).body["engine"]]).toEqual([
    null,
    null,
  ]);
});

describe.each([["POST"], ["PUT"]])("%s", (method) => {
  const write = async (over: Record<string, unknown>) =>
    method === "POST" ? create(await template(http.reseller_id), over) : put((await made()).id, over);
  test.each(REFUSED_VALUES)("%s: 400", async (_what, over, paths) => {
    const answer = refusal(await write(over));
    expect({ ...answer, paths: answer.paths.sort() }).toEqual(invalid(...[...paths].sort()));
  });
  test.each(ACCEPTED_VALUES.map(([what, over, shown]) => [what, over, shown ?? over] as const))(
    "%s: taken and shown",
    async (_what, over, shown) => {
      const answer = await write(over);
      expect([answer.status, answer.body]).toEqual([method === "POST" ? 201 : 200, expect.objectContaining(shown)]);
    },
  );
});

describe("change", () => {
  test("what is named changes, the rest stays, null gives the default back", async () => {
    const before = await made({ timezone: "Asia/Kolkata", inbound_block_message: "Sorry.", enable_calling: false });
    const answer = await put(
      before.id,
      { max_retry: 9, inbound_block_message: null, enable_calling: null },
      http.tokens.merchant,
    );
    expect([answer.status, answer.body]).toEqual([
      200,
      { ...before, max_retry: 9, inbound_block_message: null, enable_calling: true, updated_at: expect.any(String) },
    ]);
    expect((await http.ask("GET", `/configurations/${before.id}`, { token: http.tokens.user })).body).toEqual(
      answer.body,
    );
  });

  test.each<[string, Record<string, unknown>, unknown, string[]]>([
    [
      "the limit's maximum taken away",
      { rate_limit_enabled: true, rate_limit_max_calls: 3 },
      { rate_limit_max_calls: null },
      ["rate_limit_max_calls"],
    ],
    [
      "half of the inbound window taken away",
      { inbound_call_start_time: "09:00", inbound_call_end_time: "17:00" },
      { inbound_call_start_time: null },
      ["inbound_call_start_time"],
    ],
    [
      "the redirect's number taken away",
      { inbound_block_action: "REDIRECT", inbound_redirect_number: "+14155550100" },
      { inbound_redirect_number: null },
      ["inbound_redirect_number"],
    ],
    ["null for a required field", {}, { max_retry: null }, ["max_retry"]],
    ["another template", {}, { template_id: randomUUID() }, ["template_id"]],
    ["nothing", {}, {}, [""]],
    ["a list", {}, [], [""]],
    ["no body", {}, undefined, [""]],
  ])("%s: 400, and nothing changes", async (_what, over, patch, paths) => {
    const before = await made(over);
    expect(refusal(await put(before.id, patch))).toEqual(invalid(...paths));
    expect((await http.ask("GET", `/configurations/${before.id}`)).body).toEqual(before);
  });

  test("unknown and foreign: 404", async () => {
    const path = (id: string) => `/configurations/${id}`;
    for (const [method, body] of [
      ["PUT", { max_retry: 1 }],
      ["DELETE", undefined],
    ] as const) {
      expect(refusal(await http.ask(method, path(randomUUID()), { body }))).toMatchObject({
        status: 404,
        code: "CONFIGURATION_NOT_FOUND",
      });
      expect(
        refusal(await http.ask(method, path(foreign.configuration), { body, token: http.tokens.reseller })),
      ).toMatchObject({ status: 404, code: "CONFIGURATION_NOT_FOUND" });
    }
    const looks = [
      await http.ask("GET", path(foreign.configuration), { token: http.tokens.reseller }),
      await http.ask("GET", path(randomUUID()), { token: http.tokens.reseller }),
    ];
    expect(looks.map((l) => ({ ...l.body, request_id: "" }))).toEqual(
      [looks[1], looks[1]].map((l) => ({ ...l?.body, request_id: "", code: "CONFIGURATION_NOT_FOUND", status: 404 })),
    );
  });

  test("deleted: 204 without a body, then 404; the template may have another", async () => {
    const { id, template_id } = (await made()) as unknown as { id: string; template_id: string };
    const answer = await http.ask("DELETE", `/configurations/${id}`, { token: http.tokens.merchant });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect((await http.ask("GET", `/configurations/${id}`)).status).toBe(404);
    expect((await create(template_id)).status).toBe(201);
  });
});

test("the audit log has every write, with the fields and not their values", async () => {
  const { id, template_id } = await made({ inbound_block_message: "a secret" });
  await put(id, { max_retry: 3, timezone: null }, http.tokens.merchant);
  await http.ask("DELETE", `/configurations/${id}`, { token: http.tokens.reseller });
  const { body } = await http.ask("GET", `/audit?subject=${id}`, { token: http.tokens.reseller });
  expect(
    (body["entries"] as { action: string; actor: { role: string }; merchant_id: string; details: unknown }[]).map(
      (e) => [e.action, e.actor.role, e.merchant_id, e.details],
    ),
  ).toEqual([
    ["configuration.deleted", "reseller", http.merchant_id, { template_id }],
    ["configuration.updated", "merchant", http.merchant_id, { template_id, fields: ["max_retry", "timezone"] }],
    [
      "configuration.created",
      "admin",
      http.merchant_id,
      { template_id, fields: [...Object.keys(SEVEN), "inbound_block_message"] },
    ],
  ]);
});

describe("list", () => {
  test("by reseller, template and merchant, each asker its own", async () => {
    const { id, template_id } = (await made()) as unknown as { id: string; template_id: string };
    const ids = async (query: string, token: string) =>
      (
        (await http.ask("GET", `/configurations?limit=500&${query}`, { token })).body["configurations"] as {
          id: string;
        }[]
      ).map((c) => c.id);
    expect(await ids(`template_id=${template_id}`, http.tokens.merchant)).toEqual([id]);
    expect(
      await ids(
        `template_id=${template_id.toUpperCase()}&reseller_id=${http.reseller_id}&merchant_id=${http.merchant_id}`,
        http.tokens.admin,
      ),
    ).toEqual([id]);
    expect(await ids(`merchant_id=${http.merchant_id}`, http.tokens.reseller)).toContain(id);
    expect(await ids(`reseller_id=${http.reseller_id}`, foreign.token)).toEqual([]);
    expect(await ids("", foreign.token)).toEqual([foreign.configuration]);
    expect(refusal(await http.ask("GET", "/configurations?colour=red"))).toEqual(invalid("colour"));
  });
});
