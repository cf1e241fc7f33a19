import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { fieldLines, typeText } from "../../../services/gateway/docs/field-tables.ts";
import { escapeHtml } from "../../../shared/html/page-parts.ts";
import { fieldsIn } from "../../../services/gateway/docs/component-schemas.ts";
import { docsPage } from "../../../services/gateway/docs/html-page.ts";
import { failuresOf, openApi } from "../../../services/gateway/docs/openapi.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import { toEventData } from "../../../services/leads/lists/lead-views.ts";
import { EVENT_NAMES } from "../../../shared/contracts/events/catalogue.ts";
import { FinishedLead, LeadFinishedEvent } from "../../../shared/contracts/events/finished-lead.ts";
import { isRecord } from "../../../shared/json.ts";
import { issueChecker } from "../../../shared/validator.ts";
import { leadDoc } from "../../leads/fixtures/lead-doc.ts";
import { pathNames } from "../../../services/gateway/routes/row.ts";

interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required: boolean }[];
  description: string;
  requestBody?: { content: Record<string, { schema: { $ref: string }; example?: unknown }> };
  responses: Record<
    string,
    { content?: object; links?: Record<string, { operationId: string; parameters: Record<string, string> }> }
  >;
  security?: object[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Record<string, unknown>> };
}
const document = JSON.parse(JSON.stringify(openApi(ROUTES, "2026-11-21"))) as Document;
const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
);

describe("the OpenAPI document", () => {
  test("holds every row once, under an id of its own", () => {
    expect(operations.map((o) => `${o.method.toUpperCase()} ${o.path}`).sort()).toEqual(
      ROUTES.map((r) => `${r.method} ${r.path}`).sort(),
    );
    expect(new Set(operations.map((o) => o.operation.operationId)).size).toBe(ROUTES.length); // an action that two rows use: name one by `operation`
  });

  test("declares every path parameter, and only log-in is open", () => {
    for (const { path, operation } of operations) {
      expect((operation.parameters ?? []).filter((p) => p.in === "path").map((p) => p.name)).toEqual(pathNames(path));
      expect(operation.security?.length === 0).toBe(path === "/login");
    }
  });

  test("every reference leads somewhere, and every schema compiles", () => {
    for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components.schemas).toHaveProperty(String(name));
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    ajv.addVocabulary(["x-maxBytes", "components"]);
    formats.default(ajv);
    ajv.addSchema({ $id: "api", components: document.components });
    for (const name of Object.keys(document.components.schemas))
      expect(() => ajv.compile({ $ref: `api#/components/schemas/${name}` })).not.toThrow();
  });

  test("every operation may be refused for what it is given: an id that is too long, a query that it does not know", () => {
    expect(ROUTES.filter((row) => !failuresOf(row).some(([, codes]) => codes.includes("VALIDATION_FAILED")))).toEqual(
      [],
    );
  });

  test("every operation names the roles that may ask it", () => {
    for (const { path, method, operation } of operations) {
      const row = ROUTES.find((r) => r.path === path && r.method.toLowerCase() === method);
      expect(operation.security).toEqual(row?.roles === "public" ? [] : row?.roles.map((role) => ({ bearer: [role] })));
    }
  });

  test("what a POST makes can be followed: each link names an operation and its path's parameter", () => {
    const linked = operations.flatMap(({ operation }) =>
      Object.values(operation.responses).flatMap(({ links = {} }) => Object.values(links)),
    );
    expect(linked.length).toBeGreaterThan(15);
    for (const { operationId, parameters } of linked) {
      const target = operations.find((o) => o.operation.operationId === operationId);
      expect(Object.keys(parameters)).toEqual(pathNames(target?.path ?? ""));
    }
    expect(document.paths["/leads"]?.["post"]?.responses["201"]?.links?.["leads_get"]).toMatchObject({
      parameters: { lead_id: "$response.body#/lead_call_tracker_id" },
    });
  });

  test("a change names one field at least, and none of its fields has a default", () => {
    const changes = operations.filter((o) => o.method === "put");
    for (const { operation } of changes) {
      const name = operation.requestBody?.content["application/json"]?.schema.$ref.split("/").at(-1) ?? "";
      const { minProperties, properties } = document.components.schemas[name] ?? {};
      expect([name, minProperties, JSON.stringify(properties).includes('"default"')]).toEqual([name, 1, false]);
    }
    expect(changes.length).toBeGreaterThan(5);
  });

  test("sets of values have a type, and free fields are no patterns", () => {
    const untyped: string[] = [];
    const look = (schema: unknown, at: string): void => {
      if (!isRecord(schema)) return;
      if ("patternProperties" in schema || ("enum" in schema && !("type" in schema))) untyped.push(at);
      for (const [word, inner] of Object.entries(schema)) if (word !== "example") look(inner, `${at}/${word}`);
    };
    look(document.components.schemas, "");
    expect(untyped).toEqual([]);
  });

  test("no two named schemas are the same but for their meaning", () => {
    const bare = (schema: unknown): string =>
      JSON.stringify(schema, (word, value: unknown) =>
        word === "description" || word === "examples" || word === "default" ? undefined : value,
      );
    const objects = Object.entries(document.components.schemas).filter(
      ([, { properties }]) => isRecord(properties) && Object.keys(properties).length > 2,
    );
    const names = new Map<string, string[]>();
    for (const [name, schema] of objects) names.set(bare(schema), [...(names.get(bare(schema)) ?? []), name]);
    expect([...names.values()].filter((same) => same.length > 1)).toEqual([]);
  });

  test("the webhook is described as it is sent", () => {
    const { post } = document.webhooks["lead.finished"]!;
    expect((post.parameters ?? []).map((p) => p.name)).toEqual([
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
    ]);
    expect(post.description).toContain("10 times in all: after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h");
    const sent = toEventData(leadDoc({ status: "FINISHED", outcome: "confirmed" }), null);
    expect(Object.keys(FinishedLead.properties)).toEqual(Object.keys(sent));
    const event = { type: "lead.finished", timestamp: "2026-11-21T09:30:41.500Z", data: sent };
    expect(issueChecker(LeadFinishedEvent)(JSON.parse(JSON.stringify(event)))).toEqual([]);
    expect(issueChecker(LeadFinishedEvent)(post.requestBody?.content["application/json"]?.example)).toEqual([]);
  });

  test("every event has its webhook, whose example is one", () => {
    expect(Object.keys(document.webhooks)).toEqual(["lead.finished", ...EVENT_NAMES.map((type) => `endpoint/${type}`)]);
    for (const type of EVENT_NAMES) {
      const body = document.webhooks[`endpoint/${type}`]?.post.requestBody?.content["application/json"];
      const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
      ajv.addVocabulary(["x-maxBytes", "components"]);
      formats.default(ajv);
      const holds = ajv.compile({ ...body?.schema, components: document.components });
      const { data, ...event } = (body?.example ?? {}) as Record<string, unknown>;
      expect([
        type,
        holds({ ...event, data }),
        holds({ ...event, data: {} }),
        holds({ ...event, data, type: "x" }),
      ]).toEqual([type, true, false, false]);
    }
  });

  test("who asks is nowhere to be given", () => {
    for (const [name, schema] of Object.entries(document.components.schemas).filter(([n]) => n.endsWith("Request"))) {
      expect([
        name,
        Object.keys(schema["properties"] as object).includes("by"),
        (schema["required"] as string[] | undefined)?.includes("by") ?? false,
      ]).toEqual([name, false, false]);
    }
  });

  test("push: the body's required fields and every documented status", () => {
    const push = document.paths["/leads"]!["post"]!;
    expect(document.components.schemas["PushLead"]!["required"]).toEqual([
      "request_id",
      "template_id",
      "payload",
      "reseller_id",
    ]);
    expect(Object.keys(push.responses)).toEqual(
      expect.arrayContaining(["201", "400", "401", "403", "404", "422", "500"]),
    );
    expect(push.requestBody?.content["application/json"]?.schema.$ref).toBe("#/components/schemas/PushLead");
  });

  test("failures are listed by status, invalid input under its own", () => {
    const of = (path: string) =>
      Object.fromEntries(failuresOf(ROUTES.find((r) => r.method === "POST" && r.path === path)!));
    expect(of("/login")[422]).toEqual(["VALIDATION_FAILED", "INVALID_CREDENTIALS"]);
    expect(of("/login")[401]).toBeUndefined();
    expect(of("/s2s-token")[422]).toEqual(["VALIDATION_FAILED", "RESELLER_UNKNOWN"]);
    expect(of("/leads")[400]).toContain("VALIDATION_FAILED");
    expect(of("/leads")[422]).toContain("VALIDATION_FAILED");
    expect(of("/leads/bulk")[422]).toContain("VALIDATION_FAILED");
    expect(of("/leads")[500]).toEqual(["STORE_UNAVAILABLE", "INTERNAL"]);
    expect(of("/configurations")[409]).toEqual(["CONFIGURATION_EXISTS"]);
  });
});

describe("the page for people", () => {
  const page = docsPage(ROUTES, "2026-11-21", "https://x.example");
  test("shows every row, and every code has its anchor", () => {
    for (const row of ROUTES) expect(page).toContain(`<code>${row.path}</code> — ${escapeHtml(row.summary)}`);
    const anchors = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(anchors).toContain(target);
    expect(anchors.size).toBe([...page.matchAll(/ id="/g)].length);
  });
  test("opens and closes its elements in order", () => {
    const open: string[] = [];
    for (const [, slash, name = ""] of page.matchAll(/<(\/?)([a-z0-9]+)[^>]*>/g)) {
      if (["meta", "input", "br", "link", "path", "rect"].includes(name)) continue;
      if (slash) expect(open.pop()).toBe(name);
      else open.push(name);
    }
    expect(open).toEqual([]);
  });
  test("what comes from schemas is escaped", () => {
    expect(escapeHtml(`<a href="x" b='y'>&`)).toBe("&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;");
  });
  test.each([
    [{ type: "integer", minimum: 1, maximum: 5 }, "integer, 1 to 5"],
    [{ enum: ["a", "b"] }, "one of a, b"],
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "string or null"],
    [{ type: "array", items: { type: "string", format: "uuid" }, maxItems: 3 }, "array of string (uuid), at most 3"],
    [{ const: "queued" }, '"queued"'],
    [{}, "anything"],
  ])("%j reads: %s", (schema, text) => {
    expect(typeText(schema)).toBe(text);
  });
  test("nested fields have dotted names", () => {
    const schema = {
      type: "object",
      required: ["a"],
      properties: {
        a: { type: "array", items: { type: "object", properties: { b: { type: "string" } } } },
        c: { type: "object", required: ["d"], properties: { d: { type: "boolean" } } },
      },
    };
    expect(fieldLines(schema).map((f) => [f.name, f.required])).toEqual([
      ["a", true],
      ["a[].b", false],
      ["c", false],
      ["c.d", true],
    ]);
  });
});

/** A text or number with neither a value shown, nor a closed set, nor a format that says how it looks. */
const isMute = (schema: Record<string, unknown>): boolean =>
  [schema["type"]].flat().some((type) => ["string", "integer", "number"].includes(String(type))) &&
  !["examples", "enum", "const", "format"].some((word) => word in schema);

test("every text and number shows a value, and every value shown is one that the field takes", () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  ajv.addVocabulary(["x-maxBytes"]);
  formats.default(ajv);
  const fields = [...fieldsIn([document.paths, document.webhooks, document.components.schemas])];
  expect(fields.filter(([, schema]) => isMute(schema)).map(([name]) => name)).toEqual([]);
  const wrong = fields.flatMap(([name, { examples, ...schema }]) =>
    (Array.isArray(examples) && !JSON.stringify(schema).includes("$ref") ? examples : [])
      .filter((value) => !ajv.compile(schema)(value))
      .map((value) => `${name}: ${JSON.stringify(value)}`),
  );
  expect(wrong).toEqual([]);
  expect(fields.length).toBeGreaterThan(900);
});
