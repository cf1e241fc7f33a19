import { createdId, setHttpStage, type Answer, type HttpStage } from "../../fixtures/http-stage.ts";

const PASSWORD = "correct horse battery";
const NEXT = "another good password";

let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});

const said = (answer: Answer) => [answer.status, answer.body["code"] ?? null];
const paths = (answer: Answer) => (answer.body["errors"] as { path: string }[] | undefined)?.map((e) => e.path);
let count = 0;
/** A person of the reseller, and sessions of it. */
async function person() {
  const email = `someone${++count}@example.com`;
  const body = { email, password: PASSWORD, role: "reseller", reseller_id: http.reseller_id };
  const id = await createdId(http, "/users", body);
  const logIn = async (password = PASSWORD) => http.ask("POST", "/login", { token: null, body: { email, password } });
  const session = async (password?: string) => String((await logIn(password)).body["access_token"]);
  return { id, email, logIn, session };
}
const isKnown = async (token: string) => (await http.ask("GET", "/merchants?limit=1", { token })).status === 200;
const change = (token: string | null, body: unknown, headers: Record<string, string> = {}) =>
  http.ask("POST", "/password", { token, body, headers });
const auditOf = async (subject: string) => {
  const entries = (await http.ask("GET", `/audit?subject=${subject}`)).body["entries"] as Record<string, unknown>[];
  return entries.map((e) => [e["action"], (e["actor"] as { id: string }).id, Object.keys(e["details"] as object)]);
};
const server = (): Promise<string> =>
  createdId(http, "/s2s-token", { name: "crm", role: "reseller", reseller_id: http.reseller_id }, "token");

describe("POST /logout", () => {
  test("ends the session that asks, at once on its gateway; the user's other sessions go on", async () => {
    const { id, session } = await person();
    const [mine, other] = [await session(), await session()];
    expect([await isKnown(mine), await isKnown(other)]).toEqual([true, true]);
    const answer = await http.ask("POST", "/logout", { token: mine });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect([await isKnown(mine), await isKnown(other)]).toEqual([false, true]);
    await expect(http.stage.bus.call("auth.identify", { token: mine })).rejects.toMatchObject({
      type: "UNAUTHENTICATED",
    });
    expect(said(await http.ask("POST", "/logout", { token: mine }))).toEqual([401, "UNAUTHENTICATED"]);
    expect(await auditOf(id)).toContainEqual(["user.logged_out", id, []]);
  });

  test("of a server-to-server token is refused with what to do, and ends nothing", async () => {
    const token = await server();
    const answer = await http.ask("POST", "/logout", { token });
    expect(said(answer)).toEqual([403, "FORBIDDEN"]);
    expect(answer.body["detail"]).toContain("DELETE /s2s-tokens/{id}");
    expect(await isKnown(token)).toBe(true);
  });

  test("takes no parameters, and no other token than the one that asks", async () => {
    const token = await (await person()).session();
    for (const query of ["token=x", "all=true"]) {
      const answer = await http.ask("POST", `/logout?${query}`, { token });
      expect([...said(answer), paths(answer)]).toEqual([400, "VALIDATION_FAILED", [query.split("=")[0]]]);
    }
    expect(await isKnown(token)).toBe(true);
  });
});

describe("POST /password", () => {
  test("ends all sessions of the user and begins one; only the new password logs in", async () => {
    const { id, email, logIn, session } = await person();
    const [mine, other] = [await session(), await session()];
    const answer = await change(mine, { current_password: PASSWORD, new_password: NEXT });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        access_token: expect.any(String),
        token_type: "bearer",
        user: { id, email, role: "reseller", reseller_id: http.reseller_id },
      },
    ]);
    expect(await isKnown(mine)).toBe(false);
    await expect(http.stage.bus.call("auth.identify", { token: other })).rejects.toMatchObject({
      type: "UNAUTHENTICATED",
    });
    expect(await isKnown(String(answer.body["access_token"]))).toBe(true);
    expect([said(await logIn()), (await logIn(NEXT)).status]).toEqual([[422, "INVALID_CREDENTIALS"], 200]);
    expect(await auditOf(id)).toContainEqual(["user.password_changed", id, ["address"]]);
    expect((await http.ask("GET", `/audit?subject=${id}`)).text).not.toMatch(/horse|another good/);
    const shown = (await http.ask("GET", `/users/${id}`)).body["access_given_by"];
    expect(shown).not.toMatchObject({ id }); // whoever gave the access still answers for it
  });

  const refused: [string, Record<string, unknown>, string, string[] | undefined][] = [
    ["a wrong password", { current_password: "wrong" }, "INVALID_CREDENTIALS", undefined],
    ["no current password", { current_password: undefined }, "VALIDATION_FAILED", ["current_password"]],
    ["an empty current password", { current_password: "" }, "VALIDATION_FAILED", ["current_password"]],
    ["operators", { current_password: { $ne: 1 } }, "VALIDATION_FAILED", ["current_password"]],
    ["no new password", { new_password: undefined }, "VALIDATION_FAILED", ["new_password"]],
    ["a short password", { new_password: "12345678901" }, "VALIDATION_FAILED", ["new_password"]],
    ["a password of blanks", { new_password: " ".repeat(12) }, "VALIDATION_FAILED", ["new_password"]],
    ["a password that is too long", { new_password: "x".repeat(1025) }, "VALIDATION_FAILED", ["new_password"]],
    ["the current one again", { new_password: PASSWORD }, "VALIDATION_FAILED", ["new_password"]],
    ["another's id", { id: "x" }, "VALIDATION_FAILED", ["id"]],
    ["a token in the body", { token: "x" }, "VALIDATION_FAILED", ["token"]],
    ["an address in the body", { address: "203.0.113.1" }, "VALIDATION_FAILED", ["address"]],
  ];
  test.each(refused)("with %s is refused and changes nothing", async (_, over, code, faults) => {
    const { session, logIn } = await person();
    const token = await session();
    const answer = await change(token, { current_password: PASSWORD, new_password: NEXT, ...over });
    expect([...said(answer), paths(answer)]).toEqual([422, code, faults]);
    expect([await isKnown(token), (await logIn()).status]).toEqual([true, 200]);
  });

  test("without a token is 401, with a server-to-server token 403", async () => {
    const body = { current_password: PASSWORD, new_password: NEXT };
    expect(said(await change(null, body))).toEqual([401, "UNAUTHENTICATED"]);
    expect(said(await change(await server(), body))).toEqual([403, "FORBIDDEN"]);
  });

  test("guesses at the old password and at log-ins are held up together", async () => {
    const { email, session } = await person();
    const token = await session();
    const headers = { "X-Forwarded-For": "203.0.113.77" };
    const guess = () => change(token, { current_password: "a guess", new_password: NEXT }, headers);
    const answers = [];
    for (let i = 0; i < 11; i++) answers.push(said(await guess()));
    expect(answers).toEqual([...Array.from({ length: 10 }, () => [422, "INVALID_CREDENTIALS"]), [429, "RATE_LIMITED"]]);
    const body = { email, password: PASSWORD };
    expect(said(await http.ask("POST", "/login", { token: null, body, headers }))).toEqual([429, "RATE_LIMITED"]);
    expect((await change(token, { current_password: PASSWORD, new_password: NEXT })).status).toBe(200); // elsewhere
  });
});

test("PUT /users/{id} sets no password of one's own: 403 names POST /password", async () => {
  const { id, session, logIn } = await person();
  const token = await session();
  const answer = await http.ask("PUT", `/users/${id}`, { token, body: { password: NEXT } });
  expect(said(answer)).toEqual([403, "FORBIDDEN"]);
  expect(answer.body["detail"]).toContain("POST /password");
  expect([await isKnown(token), (await logIn()).status]).toEqual([true, 200]);
});
