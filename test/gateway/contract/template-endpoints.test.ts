import { randomUUID } from "node:crypto";
import config from "../../../services/config/config.service.ts";
import { createdId, setHttpStage, type Answer, type HttpStage } from "../fixtures/http-stage.ts";

/** Templates and their versions over HTTP. */
let http: HttpStage;
let stranger = "";
let foreign = "";

const flow = (reseller_id: string, over: Record<string, unknown> = {}) => ({
  reseller_id,
  name: "reminder",
  initial_node: "a",
  variables: ["name"],
  nodes: [{ name: "a", say: "Hello {{name}}.", on_enter: [{ type: "end_call" }] }],
  ...over,
});
const create = async (over: Record<string, unknown> = {}): Promise<Record<string, unknown> & { id: string }> =>
  (await http.ask("POST", "/templates", { body: flow(http.reseller_id, { merchant_id: http.merchant_id, ...over }) }))
    .body as Record<string, unknown> & { id: string };
const fault = (answer: Answer) => ({
  status: answer.status,
  code: answer.body["code"],
  paths: ((answer.body["errors"] as { path: string }[] | undefined) ?? []).map((e) => e.path).sort(),
});

beforeAll(async () => {
  http = await setHttpStage([config]);
  http.script["leads.unfinished"] = () => ({ any: false });
  const reseller_id = await createdId(http, "/resellers", { name: "Other" });
  stranger = await createdId(http, "/s2s-token", { name: "other", role: "reseller", reseller_id }, "token");
  foreign = await createdId(http, "/templates", flow(reseller_id));
});
afterAll(async () => {
  await http.stop();
});

test("PUT answers with the whole new version; GET, and the list of versions, show it", async () => {
  const before = await create();
  const answer = await http.ask("PUT", `/templates/${before.id}`, {
    body: { greeting: "Good day.", limits: { idle_seconds: 4 } },
    token: http.tokens.merchant,
  });
  expect([answer.status, answer.body]).toEqual([
    200,
    {
      ...before,
      version: 2,
      greeting: "Good day.",
      limits: { ...(before["limits"] as object), idle_seconds: 4 },
      updated_at: expect.any(String),
    },
  ]);
  expect((await http.ask("GET", `/templates/${before.id}`, { token: http.tokens.user })).body).toEqual(answer.body);
  const versions = await http.ask("GET", `/templates/${before.id}/versions`, { token: http.tokens.user });
  expect([versions.status, versions.body]).toEqual([
    200,
    { count: 2, versions: [answer.body, before], next_cursor: null },
  ]);
  const page = await http.ask("GET", `/templates/${before.id}/versions?limit=1`);
  expect(
    (await http.ask("GET", `/templates/${before.id}/versions?limit=1&cursor=${String(page.body["next_cursor"])}`)).body,
  ).toEqual({ count: 1, versions: [before], next_cursor: null });
});

test("PUT takes an engine, models and evaluators, and shows them", async () => {
  const { id } = await create();
  const wanted = {
    engine: "cascade",
    models: { chat: { endpoint: "eu", model: "m" }, speech: { model: "s" } },
    evaluators: [{ name: "polite", question: "Was it?", scale: { min: 1, max: 5 } }],
    summary: true,
    evaluation_wait_seconds: 0,
  };
  const answer = await http.ask("PUT", `/templates/${id}`, { body: wanted });
  expect([answer.status, answer.body]).toEqual([200, expect.objectContaining(wanted)]);
});

test("is_active alone switches, without a version", async () => {
  const { id } = await create();
  expect((await http.ask("PUT", `/templates/${id}`, { body: { is_active: false } })).body).toMatchObject({
    version: 1,
    is_active: false,
  });
  expect((await http.ask("GET", `/templates/${id}/versions`)).body["count"]).toBe(1);
});

describe("PUT refuses", () => {
  test.each<[string, unknown, number, string, string[]]>([
    ["nothing", {}, 400, "VALIDATION_FAILED", [""]],
    ["no body", undefined, 400, "VALIDATION_FAILED", [""]],
    ["its owner", { reseller_id: "x" }, 400, "VALIDATION_FAILED", ["reseller_id"]],
    ["an unknown field and an invalid one", { colour: 1, name: "" }, 400, "VALIDATION_FAILED", ["colour", "name"]],
    ["null for a name", { name: null }, 400, "VALIDATION_FAILED", ["name"]],
    ["a name of blanks", { name: "  " }, 400, "VALIDATION_FAILED", ["name"]],
    [
      "variables to set whose names are none",
      { nodes: [{ name: "a", say: "Hello.", transitions: [{ set: { "a b": 1 } }] }] },
      400,
      "VALIDATION_FAILED",
      ["nodes.0.transitions.0.set.a b"],
    ],
    ["a start that is not there", { initial_node: "z" }, 400, "TEMPLATE_INVALID", ["initial_node"]],
    [
      "an unknown engine, and a model endpoint that is an address",
      { engine: "human", models: { speech: { endpoint: "https://x" } } },
      400,
      "VALIDATION_FAILED",
      ["engine", "models.speech.endpoint"],
    ],
    [
      "a model for an unknown part of a conversation",
      { models: { vision: { model: "m" } } },
      400,
      "VALIDATION_FAILED",
      ["models.vision"],
    ],
    [
      "an evaluator that asks nothing",
      { evaluators: [{ name: "polite" }] },
      400,
      "VALIDATION_FAILED",
      ["evaluators.0.question"],
    ],
    [
      "two evaluators of one name, and a scale of no width",
      {
        evaluators: [
          { name: "polite", question: "?" },
          { name: "polite", question: "?", scale: { min: 1, max: 1 } },
        ],
      },
      400,
      "TEMPLATE_INVALID",
      ["evaluators.1.name", "evaluators.1.scale.max"],
    ],
    [
      "a wait beyond all patience",
      { evaluation_wait_seconds: 31 },
      400,
      "VALIDATION_FAILED",
      ["evaluation_wait_seconds"],
    ],
    ["what breaks the rest", { variables: [] }, 400, "TEMPLATE_INVALID", ["nodes.0.say"]],
    [
      "a schema that points elsewhere",
      { payload_schema: { $ref: "https://example.com/x" } },
      400,
      "TEMPLATE_INVALID",
      ["payload_schema.$ref"],
    ],
  ])("%s, and nothing is saved", async (_what, body, status, code, paths) => {
    const before = await create();
    expect(fault(await http.ask("PUT", `/templates/${before.id}`, { body }))).toEqual({ status, code, paths });
    expect((await http.ask("GET", `/templates/${before.id}`)).body).toEqual(before);
  });
});

describe("DELETE", () => {
  test("204 without a body, then it is not there", async () => {
    const { id } = await create();
    const answer = await http.ask("DELETE", `/templates/${id}`, { token: http.tokens.merchant });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/versions"],
    ] as const)
      expect(fault(await http.ask(method, `/templates/${id}${path}`))).toMatchObject({
        status: 404,
        code: "TEMPLATE_NOT_FOUND",
      });
  });
  test("409 while it has unfinished leads", async () => {
    const { id } = await create();
    http.script["leads.unfinished"] = () => ({ any: true });
    const answer = await http.ask("DELETE", `/templates/${id}`).finally(() => {
      http.script["leads.unfinished"] = () => ({ any: false });
    });
    expect([fault(answer), String(answer.body["detail"])]).toEqual([
      { status: 409, code: "RESOURCE_IN_USE", paths: [] },
      expect.stringContaining("is_active"),
    ]);
    expect((await http.ask("GET", `/templates/${id}`)).status).toBe(200);
  });
});

test("others' templates: 404, as for one that is nowhere", async () => {
  const { id } = await create();
  for (const [path, token] of [
    [id, stranger],
    [foreign, http.tokens.reseller],
    [foreign, http.tokens.merchant],
  ] as const) {
    expect(fault(await http.ask("PUT", `/templates/${path}`, { body: { name: "x" }, token }))).toMatchObject({
      status: 404,
      code: "TEMPLATE_NOT_FOUND",
    });
    expect(fault(await http.ask("DELETE", `/templates/${path}`, { token }))).toMatchObject({
      status: 404,
      code: "TEMPLATE_NOT_FOUND",
    });
    for (const look of ["", "/versions"]) {
      const [theirs, nobodys] = [
        await http.ask("GET", `/templates/${path}${look}`, { token }),
        await http.ask("GET", `/templates/${randomUUID()}${look}`, { token }),
      ];
      expect([theirs.status, { ...theirs.body, request_id: "" }]).toEqual([404, { ...nobodys.body, request_id: "" }]);
    }
  }
  for (const [method, body] of [
    ["PUT", { name: "x" }],
    ["DELETE", undefined],
  ] as const) {
    expect(fault(await http.ask(method, `/templates/${randomUUID()}`, { body }))).toMatchObject({
      status: 404,
      code: "TEMPLATE_NOT_FOUND",
    });
    expect(fault(await http.ask(method, `/templates/${id}`, { body, token: http.tokens.user }))).toMatchObject({
      status: 403,
      code: "FORBIDDEN",
    });
  }
});

test("the list is narrowed by the beginning of the name, by merchant and by is_active", async () => {
  const mark = randomUUID();
  const one = await create({ name: `${mark} one` });
  const two = await create({ name: `${mark} two`, merchant_id: undefined, is_active: false });
  const ids = async (query: string, token = http.tokens.reseller) =>
    ((await http.ask("GET", `/templates?${query}`, { token })).body["templates"] as { id: string }[]).map((t) => t.id);
  expect(await ids(`name=${mark}`)).toEqual([two.id, one.id]);
  expect(await ids(`name=${mark}%20o`)).toEqual([one.id]);
  expect(await ids(`name=${mark}&is_active=false`)).toEqual([two.id]);
  expect(await ids(`name=${mark}&merchant_id=${http.merchant_id}`)).toEqual([one.id]);
  expect(await ids(`name=${mark}`, http.tokens.user)).toEqual([one.id]);
  expect(await ids(`name=${mark}`, stranger)).toEqual([]);
  expect(fault(await http.ask("GET", "/templates?is_active=maybe"))).toMatchObject({
    status: 400,
    paths: ["is_active"],
  });
});
