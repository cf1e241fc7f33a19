import * as fc from "fast-check";
import { propertiesOf, requiredOf, schemasOf } from "../../../services/gateway/api/action-schema.ts";
import { parseJson, textOf } from "../../../services/gateway/http/body.ts";
import { verdictOf } from "../../../services/gateway/health.ts";
import { coerce, paramsReader } from "../../../services/gateway/api/params.ts";
import { inMatchingOrder, ROUTES } from "../../../services/gateway/routes/index.ts";
import { pathNames, refuse, type Row } from "../../../services/gateway/routes/row.ts";
import type { By } from "../../../shared/contracts/records/identity.ts";
import { asAdmin, asMerchant, asReseller, asUser } from "../../../local/harness/stage.ts";

const by: By = asAdmin;
const rowOf = (method: string, path: string): Row => ROUTES.find((r) => r.method === method && r.path === path)!;

describe("the table", () => {
  test.each(ROUTES.map((r) => [`${r.method} ${r.path}`, r] as const))(
    "%s fills exactly what its action takes",
    (_, row) => {
      const { params } = schemasOf(row.action);
      const names = Object.keys(propertiesOf(params));
      const given = new Set([
        ...pathNames(row.path),
        ...(row.query ?? []),
        "by",
        ...(row.body === undefined ? [] : row.body === "*" ? names : [row.body]),
        ...Object.values(row.headers ?? {}),
        ...(row.bearer === undefined ? [] : [row.bearer]),
      ]);
      for (const name of requiredOf(params)) expect([...given]).toContain(name);
      for (const name of [...pathNames(row.path), ...(row.query ?? []), ...Object.values(row.headers ?? {})])
        expect(names).toContain(name);
      // a bearer token says who asks as well as `by` does, and auth looks at it itself
      const toldWho = names.includes("by") || row.guard !== undefined || row.bearer !== undefined;
      expect(row.roles === "public").toBe(!toldWho);
      if (row.guard)
        expect(requiredOf(schemasOf(row.guard).params).sort()).toEqual(["by", ...pathNames(row.path)].sort());
    },
  );

  test("no two rows answer the same request, and literal segments are tried before parameters", () => {
    const shapes = ROUTES.map((r) => `${r.method} ${r.path.replaceAll(/\{[^}]+\}/g, "{}")}`);
    expect(new Set(shapes).size).toBe(shapes.length);
    const order = inMatchingOrder(ROUTES).map((r) => r.path);
    expect(order.indexOf("/leads/request/{request_id}")).toBeLessThan(order.indexOf("/leads/{lead_id}/deliveries"));
    expect(order).toHaveLength(ROUTES.length);
  });
});

describe("authorize", () => {
  const everybody = [asAdmin, asReseller("r"), asMerchant("r", "m"), asUser("r", "m")];
  test("the role decides", () => {
    expect(everybody.map((who) => refuse({ roles: ["admin", "merchant"] }, who) === null)).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(everybody.map((who) => refuse({ roles: "public" }, who))).toEqual([null, null, null, null]);
    expect(everybody.map((who) => refuse({ roles: [] }, who) === null)).toEqual([false, false, false, false]);
  });
  test("a role without the scope it needs is refused", () => {
    const roles = ["admin", "reseller", "merchant", "user"] as const;
    expect(refuse({ roles }, { ...asReseller("r"), reseller_id: null })).not.toBeNull();
    expect(refuse({ roles }, { ...asMerchant("r", "m"), merchant_id: null })).not.toBeNull();
    expect(refuse({ roles }, { ...asUser("r", "m"), merchant_id: null })).not.toBeNull();
    expect(refuse({ roles }, asAdmin)).toBeNull();
  });
});

describe("parameters", () => {
  const query = (text: string) => new URLSearchParams(text);
  test("a whole body, spread fields, path and query land under their names", () => {
    expect(
      paramsReader(rowOf("POST", "/leads")).read({ body: { a: 1 }, path: {}, query: query(""), headers: {} }, by),
    ).toEqual({ lead: { a: 1 }, by });
    expect(
      paramsReader(rowOf("POST", "/merchants")).read(
        { body: { name: "x" }, path: {}, query: query(""), headers: {} },
        by,
      ),
    ).toEqual({ name: "x", by });
    expect(
      paramsReader(rowOf("GET", "/leads/{lead_id}")).read(
        { body: undefined, path: { lead_id: "l" }, query: query(""), headers: {} },
        by,
      ),
    ).toEqual({ lead_id: "l", by });
    expect(
      paramsReader(rowOf("GET", "/templates")).read(
        { body: undefined, path: {}, query: query("is_active=false&limit=2"), headers: {} },
        by,
      ),
    ).toEqual({ is_active: false, limit: 2, by });
    expect(
      paramsReader(rowOf("POST", "/login")).read(
        { body: { email: "e" }, path: {}, query: query(""), headers: {} },
        null,
      ),
    ).toEqual({ email: "e" });
  });
  test("a header becomes the parameter the row names, and the body can't set it", () => {
    const row: Row = { ...rowOf("POST", "/merchants"), headers: { "idempotency-key": "reseller_id" } };
    const read = (body: unknown, headers: Record<string, string>) =>
      paramsReader(row).read({ body, path: {}, query: query(""), headers }, by);
    expect(read({ name: "x" }, { "idempotency-key": "k-1", other: "y" })).toEqual({
      name: "x",
      reseller_id: "k-1",
      by,
    });
    expect(read({ name: "x" }, {})).toEqual({ name: "x", by });
    expect(() => read({ reseller_id: "r" }, {})).toThrow("reseller_id is shown, and can't be set here; leave it out");
  });
  test("no body and no query can ever say who asks", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), (fields, text) => {
        for (const row of ROUTES.filter((r) => r.roles !== "public")) {
          try {
            const params = paramsReader(row).read(
              { body: { ...fields, by: { role: "admin" } }, path: {}, query: query(text), headers: {} },
              asUser("r", "m"),
            );
            if ("by" in params && JSON.stringify(params["by"]) !== JSON.stringify(asUser("r", "m"))) return false;
          } catch (error) {
            if ((error as { type?: string }).type !== "VALIDATION_FAILED") throw error;
          }
        }
        return true;
      }),
      { numRuns: 50 },
    );
  });
  test.each([
    ["12", "integer", 12],
    ["-3", "integer", -3],
    ["1.5", "integer", "1.5"],
    ["1e3", "integer", "1e3"],
    ["", "integer", ""],
    ["true", "boolean", true],
    ["1", "boolean", "1"],
    ["5", "string", "5"],
  ])("%s as %s", (text, type, value) => {
    expect(coerce(text, { type })).toBe(value);
  });
});

/** Whether an object of the value has this key, however deep. */
const hasKey = (value: unknown, key: string): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(value).some(([name, inner]) => name === key || hasKey(inner, key));

describe("bodies", () => {
  const headers = { "content-type": "application/json" };
  test("any JSON value comes out as JSON.parse has it, unless it holds __proto__", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        if (hasKey(value, "__proto__")) expect(() => parseJson(Buffer.from(text), headers)).toThrow("__proto__");
        else expect(parseJson(Buffer.from(text), headers)).toEqual(JSON.parse(text));
      }),
    );
    expect(() => parseJson(Buffer.from('{"a":[{"__proto__":{"x":1},"b":2}]}'), headers)).toThrow("__proto__");
  });
  test("text gives back the bytes it came from, or is refused", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = textOf(bytes);
        return text === null || Buffer.from(text, "utf8").equals(Buffer.from(bytes));
      }),
    );
    expect(textOf(Uint8Array.from([0xc3, 0x28]))).toBeNull();
  });
});

test("readiness: needed things decide, others degrade", () => {
  const check = (needed: boolean, ok: boolean) => ({ name: "x", needed, ok });
  expect(verdictOf([check(true, true), check(false, true)])).toBe("ready");
  expect(verdictOf([check(true, true), check(false, false)])).toBe("degraded");
  expect(verdictOf([check(true, false), check(false, true)])).toBe("not_ready");
});
