import { propertiesOf, type Schema } from "../../../services/gateway/api/action-schema.ts";
import { takesNull } from "../../../services/gateway/api/record-fields.ts";
import { bodySchemaOf, responseSchemaOf } from "../../../services/gateway/docs/row-schemas.ts";
import { ROUTES } from "../../../services/gateway/routes/index.ts";
import type { Row } from "../../../services/gateway/routes/row.ts";
import { checkedPart } from "../../../shared/bus/bus.ts";

/** What a thing is made with (POST) and changed with (PUT). What one refuses the other must refuse. */

/** Fields that differ, and why. A PUT that clears a field with null is no difference. */
const MEANT: Record<string, string> = {
  "/users is_active": "PUT only: what is new is active",
  "/resellers is_active": "PUT only: what is new is active",
  "/merchants is_active": "PUT only: what is new is active",
  "/merchants reseller_id": "POST only: a merchant stays with its reseller",
  "/templates reseller_id": "POST only: a template stays with its owner",
  "/templates merchant_id": "POST only: a template stays with its owner",
  "/configurations template_id": "POST only: a configuration stays with its template",
  "/webhook-endpoints reseller_id": "POST only: an endpoint stays with its owner",
  "/webhook-endpoints merchant_id": "POST only: an endpoint stays with its owner",
  "/webhook-endpoints paused": "PUT only: what is new is not paused",
  "/numbers phone_number": "POST only: another number is another record",
  "/numbers status":
    "other rules: IN_USE is taken as AVAILABLE by POST, for clients of the contract; docs/decisions.md",
};

const alike = (a: unknown, b: unknown): boolean => JSON.stringify(checkedPart(a)) === JSON.stringify(checkedPart(b));
const mayBeNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }] });

/** The fields in which two bodies differ, with the way they do. */
function differences(path: string, post: Record<string, Schema>, put: Record<string, Schema>): string[] {
  return [...new Set([...Object.keys(post), ...Object.keys(put)])].flatMap((name) => {
    const [made, changed] = [post[name], put[name]];
    if (made === undefined) return [`${path} ${name}: PUT only`];
    if (changed === undefined) return [`${path} ${name}: POST only`];
    return alike(changed, made) || alike(changed, mayBeNull(made)) ? [] : [`${path} ${name}: other rules`];
  });
}

const collectionOf = (row: Row): string => row.path.replace(/\/\{[a-z_]+\}$/, "");
const fieldsOf = (row: Row): Record<string, Schema> => propertiesOf(bodySchemaOf(row) ?? {});
const pairs = ROUTES.filter((row) => row.method === "PUT").flatMap((put) => {
  const post = ROUTES.find((row) => row.method === "POST" && row.path === collectionOf(put));
  return post ? [{ path: post.path, post: fieldsOf(post), put: fieldsOf(put) }] : [];
});

test("a field that POST and PUT take has the same rules in both", () => {
  const found = pairs.flatMap(({ path, post, put }) => differences(path, post, put));
  const meant = Object.entries(MEANT).map(([field, why]) => `${field}: ${why.slice(0, why.indexOf(":"))}`);
  expect(found.sort()).toEqual(meant.sort());
});

test("every PUT of a thing that POST makes is compared; /secrets and /retention have no POST", () => {
  const put = ROUTES.filter((row) => row.method === "PUT").map(collectionOf);
  expect(put.filter((path) => !pairs.some((pair) => pair.path === path))).toEqual(["/secrets", "/retention"]);
  for (const { post, put: changed } of pairs)
    expect(Object.keys(changed).filter((name) => name in post).length).toBeGreaterThan(0);
});

test("what GET shows as null, POST and PUT take as null", () => {
  const gets = ROUTES.filter((row) => row.method === "GET" && pairs.some(({ path }) => path === collectionOf(row)));
  const refused = gets.flatMap((get) => {
    const shown = propertiesOf(responseSchemaOf(get) ?? {});
    const writing = ROUTES.filter(
      (row) =>
        (row.method === "PUT" && row.path === get.path) || (row.method === "POST" && row.path === collectionOf(get)),
    );
    return writing.flatMap((row) =>
      Object.entries(fieldsOf(row))
        .filter(([name, taken]) => takesNull(shown[name] ?? {}) && !takesNull(taken))
        .map(([name]) => `${row.method} ${row.path} ${name}`),
    );
  });
  expect(gets.length).toBeGreaterThan(6);
  expect(refused).toEqual([]);
});

test.each<[string, Schema | undefined, Schema | undefined, string[]]>([
  ["a bound", { type: "string", maxLength: 9 }, { type: "string", maxLength: 8 }, ["/x f: other rules"]],
  ["a bound beside null", { type: "string", minLength: 1 }, mayBeNull({ type: "string" }), ["/x f: other rules"]],
  ["a format", { type: "string", format: "email" }, { type: "string" }, ["/x f: other rules"]],
  ["null where it is made", mayBeNull({ type: "string" }), { type: "string" }, ["/x f: other rules"]],
  ["a field that is not made", undefined, { type: "string" }, ["/x f: PUT only"]],
  ["a field that does not change", { type: "string" }, undefined, ["/x f: POST only"]],
  ["null that clears", { type: "string" }, mayBeNull({ type: "string" }), []],
])("the comparison finds %s", (_, made, changed, expected) => {
  const of = (schema: Schema | undefined): Record<string, Schema> => (schema ? { f: schema } : {});
  expect(differences("/x", of(made), of(changed))).toEqual(expected);
});
