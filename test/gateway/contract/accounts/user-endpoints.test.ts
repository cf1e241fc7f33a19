import { createdId, ADMIN, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  for (const name of Object.keys(http.script)) Reflect.deleteProperty(http.script, name);
});

const PASSWORD = "correct horse battery";
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/);
const said = (answer: Answer) => [answer.status, answer.body["code"] ?? null];
const paths = (answer: Answer) => (answer.body["errors"] as { path: string }[] | undefined)?.map((e) => e.path);
let count = 0;
const user = (over: Record<string, unknown> = {}) => ({
  email: `person${++count}@example.com`,
  password: PASSWORD,
  role: "merchant",
  reseller_id: http.reseller_id,
  merchant_id: http.merchant_id,
  ...over,
});
const made = async (path: string, body: unknown): Promise<string> =>
  String((await http.ask("POST", path, { body })).body["id"]);

describe("users", () => {
  test("are created, read, listed, changed and deleted; the password never comes back", async () => {
    const { password: _, ...wanted } = user();
    const created = await http.ask("POST", "/users", {
      body: { ...wanted, password: PASSWORD },
      token: http.tokens.reseller,
    });
    const record = {
      id: expect.any(String),
      ...wanted,
      is_active: true,
      access_given_by: { kind: expect.any(String), id: expect.any(String) },
      created_at: ISO,
      updated_at: ISO,
    };
    expect([created.status, created.body]).toEqual([201, record]);
    const at = `/users/${String(created.body["id"])}`;
    expect((await http.ask("GET", at, { token: http.tokens.reseller })).body).toEqual(created.body);
    const listed = await http.ask(
      "GET",
      `/users?email=${wanted.email}&role=merchant&is_active=true&merchant_id=${http.merchant_id}`,
    );
    expect(listed.body).toEqual({ count: 1, users: [created.body], next_cursor: null });
    const changed = await http.ask("PUT", at, { body: { role: "reseller", password: "another good password" } });
    expect([changed.status, changed.body]).toEqual([200, { ...record, role: "reseller", merchant_id: null }]);
    const gone = await http.ask("DELETE", at);
    expect([gone.status, gone.text, said(await http.ask("GET", at))]).toEqual([204, "", [404, "USER_NOT_FOUND"]]);
    for (const answer of [created, listed, changed]) expect(answer.text).not.toMatch(/password|argon2/);
  });

  const refused: [string, Record<string, unknown>, "admin" | "reseller", number, string, string[] | undefined][] = [
    ["an e-mail that exists", { email: ADMIN.email.toUpperCase() }, "admin", 409, "EMAIL_EXISTS", ["email"]],
    ["a short password", { password: "12345678901" }, "admin", 400, "VALIDATION_FAILED", ["password"]],
    [
      "no e-mail and an unknown role",
      { email: undefined, role: "king" },
      "admin",
      400,
      "VALIDATION_FAILED",
      ["email", "role"],
    ],
    ["an unknown field", { is_admin: true }, "admin", 400, "VALIDATION_FAILED", ["is_admin"]],
    ["no merchant", { merchant_id: undefined }, "admin", 400, "VALIDATION_FAILED", ["merchant_id"]],
    ["an admin with a reseller", { role: "admin" }, "admin", 400, "VALIDATION_FAILED", ["reseller_id", "merchant_id"]],
    ["an unknown reseller", { reseller_id: "nobody" }, "admin", 404, "RESELLER_NOT_FOUND", undefined],
    ["an unknown merchant", { merchant_id: "nobody" }, "admin", 404, "MERCHANT_NOT_FOUND", undefined],
    [
      "an admin, by a reseller",
      { role: "admin", reseller_id: null, merchant_id: null },
      "reseller",
      403,
      "FORBIDDEN",
      undefined,
    ],
    ["another reseller's, by a reseller", { reseller_id: "other" }, "reseller", 403, "FORBIDDEN", undefined],
  ];
  test.each(refused)("creating: %s", async (_, over, role, status, code, faults) => {
    const answer = await http.ask("POST", "/users", { body: user(over), token: http.tokens[role] });
    expect([...said(answer), paths(answer)]).toEqual([status, code, faults]);
  });

  test.each([
    ["nothing to change", {}, 400, "VALIDATION_FAILED"],
    ["an unknown field", { id: "x" }, 400, "VALIDATION_FAILED"],
    ["an e-mail that exists", { email: ADMIN.email }, 409, "EMAIL_EXISTS"],
    ["a role without its merchant", { role: "user", merchant_id: null }, 400, "VALIDATION_FAILED"],
    ["a short password", { password: "short" }, 400, "VALIDATION_FAILED"],
    ["a password of blanks", { password: " ".repeat(12) }, 400, "VALIDATION_FAILED"],
  ])("changing: %s", async (_, body, status, code) => {
    expect(said(await http.ask("PUT", `/users/${await made("/users", user())}`, { body }))).toEqual([status, code]);
  });

  test("the last admin stays: 409", async () => {
    const [admin] = (await http.ask("GET", "/users?role=admin")).body["users"] as { id: string }[];
    for (const [method, body] of [
      ["DELETE", undefined],
      ["PUT", { is_active: false }],
      ["PUT", { role: "reseller", reseller_id: http.reseller_id }],
    ] as const) {
      expect(said(await http.ask(method, `/users/${admin!.id}`, body ? { body } : {}))).toEqual([
        409,
        "RESOURCE_IN_USE",
      ]);
    }
    expect((await http.ask("GET", "/users")).status).toBe(200);
  });

  test("of another reseller: 404 as for an unknown id", async () => {
    const reseller_id = await made("/resellers", { name: "Other" });
    const at = `/users/${await made("/users", user({ role: "reseller", reseller_id, merchant_id: undefined }))}`;
    const token = http.tokens.reseller;
    const read = await http.ask("GET", at, { token });
    expect([said(read), read.body["detail"]]).toEqual([
      [404, "USER_NOT_FOUND"],
      (await http.ask("GET", "/users/nobody", { token })).body["detail"],
    ]);
    expect(said(await http.ask("PUT", at, { token, body: { is_active: false } }))).toEqual([404, "USER_NOT_FOUND"]);
    expect(said(await http.ask("DELETE", at, { token }))).toEqual([404, "USER_NOT_FOUND"]);
    expect(said(await http.ask("DELETE", "/users/nobody", { token }))).toEqual([404, "USER_NOT_FOUND"]);
  });
});

describe("server-to-server tokens", () => {
  test("are listed without token or hash, and revoked", async () => {
    const token = await createdId(
      http,
      "/s2s-token",
      { name: "crm", role: "user", reseller_id: http.reseller_id, merchant_id: http.merchant_id },
      "token",
    );
    const listed = await http.ask("GET", `/s2s-tokens?role=user&merchant_id=${http.merchant_id}&limit=1`, {
      token: http.tokens.reseller,
    });
    const [shown] = listed.body["s2s_tokens"] as Record<string, unknown>[];
    expect(shown).toEqual({
      id: expect.any(String),
      prefix: token.slice(0, 14),
      name: "crm",
      role: "user",
      reseller_id: http.reseller_id,
      merchant_id: http.merchant_id,
      created_at: ISO,
      last_seen_at: null,
      expires_at: ISO,
      revoked_at: null,
      issued_by: { kind: "user", id: expect.any(String) },
    });
    expect(listed.body["next_cursor"]).toEqual(expect.any(String));
    const gone = await http.ask("DELETE", `/s2s-tokens/${String(shown!["id"])}`, { token: http.tokens.reseller });
    expect([gone.status, gone.text]).toEqual([204, ""]);
    expect((await http.ask("GET", "/merchants", { token })).status).toBe(401);
    expect(said(await http.ask("DELETE", "/s2s-tokens/nobody"))).toEqual([404, "TOKEN_NOT_FOUND"]);
    const audit = (await http.ask("GET", `/audit?subject=${String(shown!["id"])}`, { token: http.tokens.reseller }))
      .body["entries"] as { action: string }[];
    expect(audit.map((e) => e.action)).toEqual(["token.revoked", "token.issued"]);
  });

  test("of another reseller: 404, and they live on", async () => {
    const reseller_id = await made("/resellers", { name: "Other" });
    const token = await createdId(http, "/s2s-token", { name: "theirs", role: "reseller", reseller_id }, "token");
    const [shown] = (await http.ask("GET", "/s2s-tokens", { token })).body["s2s_tokens"] as { id: string }[];
    expect(said(await http.ask("DELETE", `/s2s-tokens/${shown!.id}`, { token: http.tokens.reseller }))).toEqual([
      404,
      "TOKEN_NOT_FOUND",
    ]);
    expect((await http.ask("GET", "/s2s-tokens", { token })).status).toBe(200);
  });
});

test.each([
  ["from=yesterday", "from"],
  ["action=Nonsense", "action"],
  ["who=me", "who"],
])("GET /audit?%s is 400 and names it", async (query, path) => {
  const answer = await http.ask("GET", `/audit?${query}`);
  expect([...said(answer), paths(answer)]).toEqual([400, "VALIDATION_FAILED", [path]]);
});

describe.each([
  ["merchants", "merchant", "MERCHANT_NOT_FOUND"],
  ["resellers", "reseller", "RESELLER_NOT_FOUND"],
] as const)("%s", (plural, kind, missing) => {
  const one = (): Record<string, unknown> =>
    kind === "merchant"
      ? { name: "Corner shop", reseller_id: http.reseller_id, contact_email: "desk@example.com" }
      : { name: "Corner shop" };
  const unused = () => {
    http.script["config.owns"] = () => ({ any: false });
    http.script["leads.unfinished"] = () => ({ any: false });
  };

  test("are read, changed by any subset, found by the start of their name, and deleted", async () => {
    unused();
    const created = await http.ask("POST", `/${plural}`, { body: one() });
    const at = `/${plural}/${String(created.body["id"])}`;
    expect([(await http.ask("GET", at)).body, created.body]).toEqual([
      {
        id: expect.any(String),
        ...one(),
        is_active: true,
        spend_ceiling: null,
        ...(plural === "merchants"
          ? { paused: null, test_numbers: [], max_calls_per_callee: null, webhook_phone_number: "masked" }
          : {}),
        created_at: ISO,
        updated_at: ISO,
      },
      created.body,
    ]);
    const changed = await http.ask("PUT", at, { body: { name: "Bakery", is_active: false } });
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...created.body, name: "Bakery", is_active: false, updated_at: ISO },
    ]);
    expect((await http.ask("GET", `/${plural}?name=bak&is_active=false`)).body).toMatchObject({
      count: 1,
      [plural]: [{ name: "Bakery" }],
    });
    const gone = await http.ask("DELETE", at);
    expect([gone.status, gone.text, said(await http.ask("GET", at)), said(await http.ask("DELETE", at))]).toEqual([
      204,
      "",
      [404, missing],
      [404, missing],
    ]);
  });

  test("are not deleted while something hangs on them: 409", async () => {
    const at = `/${plural}/${await made(`/${plural}`, one())}`;
    unused();
    http.script["leads.unfinished"] = () => ({ any: true });
    expect(said(await http.ask("DELETE", at))).toEqual([409, "RESOURCE_IN_USE"]);
    unused();
    http.script["config.owns"] = () => ({ any: true });
    expect(said(await http.ask("DELETE", at))).toEqual([409, "RESOURCE_IN_USE"]);
    expect((await http.ask("GET", at)).status).toBe(200);
  });

  test("are not made with a name of blanks: 400", async () => {
    const answer = await http.ask("POST", `/${plural}`, { body: { ...one(), name: "  " } });
    expect([...said(answer), paths(answer)]).toEqual([400, "VALIDATION_FAILED", ["name"]]);
  });

  test.each([
    ["nothing", {}, [""]],
    ["an unknown field", { id: "x" }, ["id"]],
    ["an empty name", { name: "" }, ["name"]],
    ["a name of blanks", { name: " \t" }, ["name"]],
    ["a word for is_active", { is_active: "no" }, ["is_active"]],
  ])("changed by %s: 400", async (_, body, faults) => {
    const answer = await http.ask("PUT", `/${plural}/${await made(`/${plural}`, one())}`, { body });
    expect([...said(answer), paths(answer)]).toEqual([400, "VALIDATION_FAILED", faults]);
  });

  test("unknown ids are 404", async () => {
    expect(said(await http.ask("PUT", `/${plural}/nobody`, { body: { name: "x" } }))).toEqual([404, missing]);
    expect(said(await http.ask("GET", `/${plural}/nobody`))).toEqual([404, missing]);
  });
});

test("a reseller with merchants is 409; another reseller's merchant is 404", async () => {
  const reseller_id = await made("/resellers", { name: "Other" });
  const at = `/merchants/${await made("/merchants", { name: "Theirs", reseller_id, contact_email: "t@example.com" })}`;
  expect(said(await http.ask("DELETE", `/resellers/${reseller_id}`))).toEqual([409, "RESOURCE_IN_USE"]);
  const token = http.tokens.reseller;
  expect(said(await http.ask("GET", at, { token }))).toEqual([404, "MERCHANT_NOT_FOUND"]);
  expect(said(await http.ask("GET", `/resellers/${reseller_id}`, { token }))).toEqual([404, "RESELLER_NOT_FOUND"]);
  expect(said(await http.ask("PUT", at, { token, body: { name: "Mine" } }))).toEqual([404, "MERCHANT_NOT_FOUND"]);
  expect(said(await http.ask("DELETE", at, { token }))).toEqual([404, "MERCHANT_NOT_FOUND"]);
});
