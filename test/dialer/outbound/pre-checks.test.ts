import * as fc from "fast-check";
import {
  holds,
  judge,
  readsJson,
  valueAt,
  whatNext,
  type Answer,
} from "../../../services/dialer/outbound/pre-checks/pre-check-verdict.ts";
import { outgoingOf } from "../../../services/dialer/outbound/pre-checks/pre-check-request.ts";
import { OPERATORS, preCheckOf, type Operator } from "../../../services/dialer/outbound/pre-checks/pre-check.ts";

const check = (more: Record<string, unknown> = {}) =>
  preCheckOf({ name: "stock", type: "external_api", url: "https://shop.example/api", ...more });

test("what a check leaves out has its default", () => {
  expect(check()).toEqual({
    name: "stock",
    enabled: true,
    url: "https://shop.example/api",
    method: "GET",
    headers: {},
    timeout_ms: 5000,
    retries: 1,
    pass_when: null,
    exports: [],
    on_failure: "proceed",
    defer_seconds: 600,
    max_defers: 6,
  });
  expect(preCheckOf({ name: "x", enabled: true, default_on_failure: "proceed" }).url).toBeNull();
  expect(check({ body: { a: 1 } }).method).toBe("POST");
  expect(
    preCheckOf({
      name: 7,
      url: 8,
      headers: [1],
      timeout_ms: "x",
      retries: -1,
      pass_when: { operator: "like", path: "a" },
      export: null,
      default_on_failure: "no",
    }),
  ).toMatchObject({
    name: "pre-check",
    url: null,
    headers: {},
    timeout_ms: 5000,
    retries: 1,
    pass_when: null,
    exports: [],
    on_failure: "proceed",
  });
});

const NO_SECRETS = new Map<string, string>();

describe("the request", () => {
  const sources = [{ sku: "A/1?&" }, { name: 'Ada "the" first', order: { id: 7 }, sku: "hidden" }, { lead_id: "L" }];
  test("values are put into address, headers and body, each as its place needs it", () => {
    expect(
      outgoingOf(
        check({
          url: "https://shop.example/{{sku}}?lead={{lead_id}}&no={{unknown}}",
          method: "PUT",
          headers: { "X-Key": "k-{{lead_id}}" },
          body: { who: "{{name}}", order: "{{order}}", list: ["{{sku}}!"], n: 3 },
        }),
        sources,
        NO_SECRETS,
      ),
    ).toEqual({
      url: "https://shop.example/A%2F1%3F%26?lead=L&no=",
      method: "PUT",
      headers: {
        accept: "application/json",
        "user-agent": "callagent",
        "x-key": "k-L",
        "content-type": "application/json",
      },
      body: JSON.stringify({ who: 'Ada "the" first', order: { id: 7 }, list: ["A/1?&!"], n: 3 }),
    });
  });
  test.each<[string, Record<string, string>, string, string]>([
    ['{"who":"{{name}}"}', {}, "application/json", '{"who":"Ada \\"the\\" first"}'],
    [
      "who={{name}}",
      { "Content-Type": "application/x-www-form-urlencoded" },
      "application/x-www-form-urlencoded",
      "who=Ada%20%22the%22%20first",
    ],
    ["Hello {{name}}", {}, "text/plain; charset=utf-8", 'Hello Ada "the" first'],
  ])("a text body %s", (body, headers, type, sent) => {
    expect(outgoingOf(check({ method: "POST", body, headers }), sources, NO_SECRETS)).toMatchObject({
      body: sent,
      headers: { "content-type": type },
    });
  });
  test("secrets are put into headers and body, as they are; never into the address, nor where a variable's value asks for one", () => {
    const secrets = new Map([["TOKEN", 'a"1 {{name}}']]);
    const asked = outgoingOf(
      check({
        url: "https://shop.example/{{secrets.TOKEN}}?q={{sly}}",
        method: "POST",
        headers: { authorization: "Bearer {{secrets.TOKEN}}", "x-sly": "{{sly}}" },
        body: '{"key":"{{ secrets.TOKEN }}","sly":"{{sly}}"}',
      }),
      [{ sly: "{{secrets.TOKEN}}", name: "Ada", "secrets.TOKEN": "not this one" }],
      secrets,
    );
    expect(asked).toMatchObject({
      url: "https://shop.example/{{secrets.TOKEN}}?q=%7B%7Bsecrets.TOKEN%7D%7D",
      headers: { authorization: 'Bearer a"1 {{name}}', "x-sly": "{{secrets.TOKEN}}" },
      body: '{"key":"a\\"1 {{name}}","sly":"{{secrets.TOKEN}}"}',
    });
    expect(outgoingOf(check({ method: "POST", body: { deep: ["{{secrets.TOKEN}}"] } }), [], secrets)).toMatchObject({
      body: JSON.stringify({ deep: ['a"1 {{name}}'] }),
    });
    expect(outgoingOf(check({ headers: { a: "{{secrets.GONE}}" } }), [], secrets)).toBe(
      "there is no secret of the name GONE",
    );
  });
  test("GET has no body; what a value holds is never a template again", () => {
    expect(outgoingOf(check({ body: "x", method: "GET" }), [], NO_SECRETS)).toMatchObject({ body: null });
    expect(
      outgoingOf(check({ body: "{{a}}", method: "POST" }), [{ a: "{{b}}", b: "secret" }], NO_SECRETS),
    ).toMatchObject({
      body: "{{b}}",
    });
  });
  test.each<[string, Record<string, unknown>, string]>([
    ["no address", { url: undefined }, "it names no url"],
    ["a line break from the payload", { headers: { "X-A": "{{evil}}" } }, "line break"],
    ["a header of the connection", { headers: { "Transfer-Encoding": "chunked" } }, "can't be set"],
    ["the host", { headers: { HOST: "internal" } }, "can't be set"],
    ["an address that walks up", { url: "https://shop.example/of/{{up}}/balance" }, "is . or .."],
    ["an address that walks up by two variables", { url: "https://shop.example/of/{{dot}}{{dot}}" }, "is . or .."],
    ["an address that walks up behind an encoded slash", { url: "https://shop.example/of/{{over}}" }, "is . or .."],
    ["an address that stays", { url: "https://shop.example/of/{{dot}}/balance?a=b" }, "is . or .."],
  ])("is refused: %s", (_name, more, why) => {
    const payload = { evil: "a\r\nX-Admin: 1", up: "..", dot: ".", over: "../balance" };
    expect(outgoingOf(check(more), [payload], NO_SECRETS)).toEqual(expect.stringContaining(why));
  });
  test("no value, however made, leaves its place in the address or the JSON", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.constant("\ud800x")), (value) => {
        const url = outgoingOf(check({ url: "https://shop.example/a/{{v}}?q=1#f" }), [{ v: value }], NO_SECRETS);
        if (typeof url === "string") throw new Error(url);
        const parsed = new URL(url.url);
        expect([parsed.host, parsed.search, parsed.hash]).toEqual(["shop.example", "?q=1", "#f"]);
        const json = outgoingOf(check({ method: "POST", body: '{"v":"{{v}}","w":1}' }), [{ v: value }], NO_SECRETS);
        expect(typeof json === "string" ? json : Object.keys(JSON.parse(json.body ?? "") as object)).toEqual([
          "v",
          "w",
        ]);
      }),
    );
  });
});

describe("the answer", () => {
  const json = {
    allowed: true,
    n: 5,
    text: "in stock",
    none: null,
    big: "12",
    list: [1, { a: "b" }],
    deep: { items: [{ id: "x" }] },
  };
  test.each<[string, unknown]>([
    ["allowed", true],
    ["deep.items.0.id", "x"],
    ["$.deep.items[0].id", "x"],
    ["list.1", { a: "b" }],
    ["", json],
    ["$", json],
    ["none", null],
    ["nothing", undefined],
    ["deep.items.9.id", undefined],
    ["text.length", undefined],
    ["toString", undefined],
    ["__proto__", undefined],
    ["list.length", 2],
  ])("the value at %j", (path, value) => {
    expect(valueAt(json, path)).toEqual(value);
  });

  test.each<[Operator, string, unknown, boolean]>([
    ["equals", "allowed", true, true],
    ["equals", "allowed", "true", false],
    ["equals", "list.1", { a: "b" }, true],
    ["equals", "nothing", undefined, true],
    ["not_equals", "n", 6, true],
    ["not_equals", "n", 5, false],
    ["contains", "text", "stock", true],
    ["contains", "text", "sold", false],
    ["contains", "list", { a: "b" }, true],
    ["contains", "list", 2, false],
    ["contains", "n", 5, false],
    ["gt", "n", 4, true],
    ["gt", "n", 5, false],
    ["gt", "big", 11, true],
    ["gt", "text", 1, false],
    ["gt", "none", -1, false],
    ["lt", "n", "6", true],
    ["lt", "nothing", 6, false],
    ["exists", "allowed", undefined, true],
    ["exists", "nothing", undefined, false],
    ["exists", "none", undefined, false],
    ["exists", "nothing", false, true],
    ["exists", "allowed", false, false],
  ])("%s %s %j: %s", (operator, path, value, expected) => {
    expect(holds(json, { path, operator, value })).toBe(expected);
  });

  const picky = check({
    pass_when: { path: "allowed", operator: "equals", value: true },
    export: { name: "text", first: "list.0", gone: "nothing", "bad name": "n", huge: "huge" },
  });
  test.each<[string, Answer, object]>([
    [
      "passes",
      { http_status: 200, json: { ...json, huge: "x".repeat(4001) } },
      { status: "passed", http_status: 200, exported: { name: "in stock", first: 1 }, detail: null },
    ],
    ["says no", { http_status: 201, json: { allowed: false } }, { status: "failed", http_status: 201, exported: {} }],
    [
      "other status",
      { http_status: 404, json: undefined },
      { status: "error", http_status: 404, detail: "it was answered HTTP 404" },
    ],
    ["a redirect", { http_status: 302, json: undefined }, { status: "error", http_status: 302 }],
    [
      "nothing came",
      { http_status: null, fault: "no answer within 5000 ms" },
      { status: "error", http_status: null, detail: "no answer within 5000 ms" },
    ],
    ["no JSON", { http_status: 200, fault: "the answer is no JSON" }, { status: "error", http_status: 200 }],
    [
      "nested so deep that readers break",
      { http_status: 200, json: JSON.parse(`{"allowed":true,"items":[${"[".repeat(5000)}${"]".repeat(5000)}]}`) },
      { status: "error", exported: {}, detail: "the answer is nested deeper than 64 levels" },
    ],
  ])("%s", (_name, answer, judgement) => {
    expect(judge(picky, answer)).toMatchObject(judgement);
  });
  test("without a condition any 2xx passes, and its body is not read", () => {
    expect([
      judge(check(), { http_status: 204, json: undefined }).status,
      readsJson(check()),
      readsJson(picky),
    ]).toEqual(["passed", false, true]);
  });
  test("a comparison never throws, whatever the answer", () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.string(),
        fc.constantFrom(...OPERATORS),
        fc.jsonValue(),
        (answer, path, operator, value) => {
          expect(typeof holds(answer, { path, operator, value })).toBe("boolean");
        },
      ),
    );
  });
});

test.each<[string, number, "passed" | "failed" | "error", string]>([
  ["proceed", 0, "passed", "go_on"],
  ["defer", 0, "passed", "go_on"],
  ["proceed", 0, "failed", "abort"],
  ["defer", 0, "failed", "abort"],
  ["proceed", 0, "error", "go_on"],
  ["abort", 0, "error", "abort"],
  ["defer", 0, "error", "defer"],
  ["defer", 5, "error", "defer"],
  ["defer", 6, "error", "abort"],
])("default_on_failure %s, put off %d times, %s: %s", (default_on_failure, defers, status, next) => {
  expect(whatNext(check({ default_on_failure }), status, defers)).toBe(next);
});
