import {
  CLEAN_UP,
  collectionOf,
  SESSION_PUSH,
  type CollectionRequest,
} from "../../deploy/client/collection/collection.ts";
import { LEAVES, VARIABLES } from "../../deploy/client/collection/values.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";

const collection = collectionOf(ROUTES, "2026-01-01");
const requests = collection.item.flatMap(({ item }) => item);
const named = (name: string): CollectionRequest["request"] => {
  const found = requests.find((one) => one.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found.request;
};

describe("the collection for Postman and Bruno", () => {
  test("has every endpoint once, each in the folder of its part of the API or among what takes away", () => {
    expect(requests.map(({ name }) => name).toSorted()).toEqual(
      [...ROUTES.map(({ method, path }) => `${method} ${path}`), SESSION_PUSH].toSorted(),
    );
    for (const { name, description } of collection.item) expect([name, description]).not.toContain("");
  });

  test("uses variables that it declares, and no id of the documentation where a person has one", () => {
    const declared = new Set(collection.variable.map(({ key }) => key));
    expect([...declared]).toEqual(Object.keys(VARIABLES));
    const push = named("POST /leads");
    expect(JSON.parse(push.body?.raw ?? "{}")).toMatchObject({
      template_id: "{{template_id}}",
      reseller_id: "{{reseller_id}}",
      merchant_id: "{{merchant_id}}",
    });
    expect(named("GET /leads/{lead_id}").url.variable).toEqual([{ key: "lead_id", value: "{{lead_id}}" }]);
    expect(named("GET /templates/{id}").url.variable).toEqual([{ key: "id", value: "{{template_id}}" }]);
    for (const { request } of requests) {
      const used = [request.url.raw, ...request.url.variable.map(({ value }) => value)].join(" ");
      for (const [, name] of used.matchAll(/\{\{(\w+)\}\}/g)) expect(declared).toContain(name);
    }
  });

  test("logs in without a token, and hands on token and lead to the requests after it", () => {
    expect(named("POST /login").auth).toEqual({ type: "noauth" });
    expect(JSON.parse(named("POST /login").body?.raw ?? "{}")).toEqual({
      email: "{{email}}",
      password: "{{password}}",
    });
    const scripts = requests.flatMap(({ name, event }) => (event === undefined ? [] : [[name, event[0]?.script.exec]]));
    expect(scripts.map(([name]) => name).toSorted()).toEqual([...Object.keys(LEAVES), SESSION_PUSH].toSorted());
    expect(scripts).toContainEqual([
      "POST /login",
      [expect.stringContaining('set("token", pm.response.json().access_token)')],
    ]);
  });

  test("changes and deletes nothing that a person has, and deletes in an order in which it can", () => {
    const changing = requests.filter(({ request: { method } }) => method === "PUT" || method === "DELETE");
    for (const { name, request } of changing) {
      const ids = request.url.variable.map(({ value }) => value).filter((value) => value.startsWith("{{"));
      expect([name, ids.filter((id) => !id.startsWith("{{new_"))]).toEqual([name, []]);
    }
    expect(collection.item.at(-1)?.name).toBe(CLEAN_UP);
    const last = collection.item.at(-1)?.item.map(({ name }) => name) ?? [];
    const order = ["configurations/{config_id}", "templates/{id}", "merchants/{id}", "resellers/{id}"];
    expect(last.filter((name) => order.some((path) => name.endsWith(path)))).toEqual(
      order.map((path) => `DELETE /${path}`),
    );
    expect(last.at(-1)).toBe("POST /logout");
  });

  test("what need not be given is switched off until a person switches it on", () => {
    expect(named("GET /leads").url.query.every(({ disabled }) => disabled)).toBe(true);
    expect(named("GET /leads").url.raw).toBe("{{base}}/leads");
    // Bruno reads the address, Postman the list
    expect(named("DELETE /secrets/{name}").url).toMatchObject({
      raw: "{{base}}/secrets/:name?reseller_id={{reseller_id}}&merchant_id={{new_merchant_id}}",
      query: [
        { key: "reseller_id", value: "{{reseller_id}}" },
        { key: "merchant_id", value: "{{new_merchant_id}}" },
      ],
    });
    expect(named("POST /leads").header).toEqual([
      { key: "Content-Type", value: "application/json" },
      expect.objectContaining({ key: "Idempotency-Key", disabled: true }),
      { key: "Traceparent", value: "", disabled: true },
    ]);
  });
});
