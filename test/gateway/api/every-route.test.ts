import { ROUTES } from "../../../services/gateway/routes/index.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";
import { BODY_LIMIT_BYTES } from "../../../services/gateway/http/body.ts";
import { setHttpStage, type HttpStage } from "../fixtures/http-stage.ts";

/** What every row must hold against, generated from the table: a new row is tried without a change here. */
let http: HttpStage;
beforeAll(async () => {
  http = await setHttpStage();
});
afterAll(async () => {
  await http.stop();
});
beforeEach(() => {
  for (const name of Object.keys(http.script)) Reflect.deleteProperty(http.script, name);
  http.calls.length = 0;
});

const name = (row: Row) => `${row.method} ${row.path}`;
const at = (row: Row): string => row.path.replaceAll(/\{[a-z_]+\}/g, "x");
const named = (rows: readonly Row[]) => rows.map((row) => [name(row), row] as const);
const withBody = ROUTES.filter((row) => row.body !== undefined && row.bulk === undefined);
const invalid = (row: Row): number => (row.answers === "unprocessable" ? 422 : 400);

describe("every row with a body", () => {
  test.each(named(withBody))("%s", async (_, row) => {
    const ask = (body: string, headers: Record<string, string> = {}) =>
      http.ask(row.method, at(row), { body, headers });
    const cases: [string, { status: number; body: Record<string, unknown> }, number, string][] = [
      ["broken JSON", await ask('{"a": '), 400, "MALFORMED_JSON"],
      [
        "another type",
        await ask("a=1", { "Content-Type": "application/x-www-form-urlencoded" }),
        415,
        "UNSUPPORTED_MEDIA_TYPE",
      ],
      ["too large", await ask(`"${"x".repeat(BODY_LIMIT_BYTES)}"`), 413, "BODY_TOO_LARGE"],
      ["nested too deep", await ask(`${'{"a":'.repeat(100)}1${"}".repeat(100)}`), invalid(row), "VALIDATION_FAILED"],
      ["no object", await ask("[]"), invalid(row), "VALIDATION_FAILED"],
      ["who asks", await ask('{"by":{"role":"admin"}}'), invalid(row), "VALIDATION_FAILED"],
      ["an unknown field", await ask('{"nobodys_field":1}'), invalid(row), "VALIDATION_FAILED"],
    ];
    expect(cases.map(([what, answer]) => [what, answer.status, answer.body["code"]])).toEqual(
      cases.map(([what, , status, code]) => [what, status, code]),
    );
    if (row.perItem === undefined)
      expect(cases.at(-1)?.[1].body["errors"]).toContainEqual({
        path: expect.stringMatching(/nobodys_field$/) as string,
        message: "is not a known field",
      });
    expect(http.calls.filter((call) => call.action === row.action)).toEqual([]);
  });
});

describe("every row", () => {
  test.each(named(ROUTES.filter((row) => row.bulk === undefined)))(
    "%s refuses queries it does not know, and operators in those it does",
    async (_, row) => {
      for (const query of ["nobodys=1", "by=x", "__proto__=1", `${row.query?.[0] ?? "id"}[$ne]=1`, `$where=1`]) {
        const answer = await http.ask(row.method, `${at(row)}?${query}`, row.body === undefined ? {} : { body: {} });
        expect([query, answer.status, answer.body["code"]]).toEqual([query, invalid(row), "VALIDATION_FAILED"]);
      }
      expect(http.calls).toEqual([]);
    },
  );
  test.each([...new Set(ROUTES.map((row) => row.path))])(
    "%s takes its methods and names them to all others",
    async (path) => {
      const own = ROUTES.filter((row) => row.path === path).map((row) => row.method as string);
      const allow = [...own, ...(own.includes("GET") ? ["HEAD"] : [])].sort();
      const asked = path.replaceAll(/\{[a-z_]+\}/g, "x");
      const others = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"].filter((method) => !allow.includes(method));
      for (const method of others) {
        const answer = await http.ask(method, asked, { token: null });
        const code = method === "HEAD" ? undefined : "METHOD_NOT_ALLOWED";
        expect([method, answer.status, answer.body["code"], answer.headers.get("allow")]).toEqual([
          method,
          405,
          code,
          allow.join(", "),
        ]);
      }
      const offered = await http.ask("OPTIONS", asked, { token: null });
      expect([offered.status, offered.headers.get("allow")]).toEqual([204, allow.join(", ")]);
    },
  );
});

describe("answers", () => {
  test("204 has no body and says nothing of one", async () => {
    http.script["numbers.remove"] = () => ({ done: true });
    const answer = await http.ask("DELETE", "/numbers/x");
    expect([
      answer.status,
      answer.text,
      answer.headers.get("content-type"),
      answer.headers.get("content-length"),
    ]).toEqual([204, "", null, null]);
  });
  test("a body on a DELETE is read where the row has one", async () => {
    expect((await http.ask("DELETE", "/blacklist", { body: { phone_numbers: ["+14155550100"] } })).status).toBe(204);
    expect(http.calls).toEqual([
      {
        action: "blacklist.remove",
        params: { phone_numbers: ["+14155550100"], by: expect.objectContaining({ role: "admin" }) },
      },
    ]);
  });
  test("Idempotency-Key reaches the service; a replayed answer has a header, and the body of the first", async () => {
    const body = { request_id: "o-1", template_id: "t", reseller_id: "r", payload: {} };
    const first = { status: "queued", lead_call_tracker_id: "l", order_id: "o-1", message: "m" };
    http.script["leads.push"] = () => ({ ...first, replayed: http.calls.length > 1 });
    const [one, two] = [
      await http.ask("POST", "/leads", { body, headers: { "Idempotency-Key": "k-1" } }),
      await http.ask("POST", "/leads", { body, headers: { "Idempotency-Key": "k-1" } }),
    ];
    expect(http.calls.map((call) => call.params["idempotency_key"])).toEqual(["k-1", "k-1"]);
    expect([one.status, one.body, one.headers.get("idempotency-replayed")]).toEqual([201, first, null]);
    expect([two.status, two.body, two.headers.get("idempotency-replayed")]).toEqual([201, first, "true"]);
    const long = await http.ask("POST", "/leads", { body, headers: { "Idempotency-Key": "k".repeat(256) } });
    expect([long.status >= 400 && long.status < 500, http.calls.length]).toEqual([true, 2]);
  });
});
