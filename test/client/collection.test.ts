import { collectionOf, VARIABLES, type CollectionRequest } from "../../deploy/client/collection/collection.ts";
import { ROUTES } from "../../services/gateway/routes/index.ts";

const collection = collectionOf(ROUTES, "2026-01-01");
const requests = collection.item.flatMap(({ item }) => item);
const named = (name: string): CollectionRequest["request"] => {
  const found = requests.find((one) => one.name === name);
  if (!found) throw new Error(`there is no ${name}`);
  return found.request;
};

describe("the collection for Postman and Bruno", () => {
  test("has every endpoint once, each in the folder of its part of the API", () => {
    expect(requests.map(({ name }) => name).toSorted()).toEqual(
      ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted(),
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
    expect(scripts).toEqual([
      ["POST /login", [expect.stringContaining('set("token", pm.response.json().access_token)')]],
      ["POST /leads", [expect.stringContaining('set("lead_id", pm.response.json().lead_call_tracker_id)')]],
    ]);
  });

  test("what need not be given is switched off until a person switches it on", () => {
    expect(named("GET /leads").url.query.every(({ disabled }) => disabled)).toBe(true);
    expect(named("POST /leads").header).toEqual([
      { key: "Content-Type", value: "application/json" },
      expect.objectContaining({ key: "Idempotency-Key", disabled: true }),
    ]);
  });
});
