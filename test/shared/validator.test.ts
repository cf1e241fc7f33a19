import { Ajv2020 } from "ajv/dist/2020.js";
import { Type } from "typebox";
import { HOUR_MINUTE } from "../../shared/contracts/define.ts";
import { contracts } from "../../shared/contracts/index.ts";
import { issueChecker } from "../../shared/validator.ts";

describe("schemas are compiled at the first check, so that a service starts without waiting for them", () => {
  test("a schema that cannot be compiled is found when it is used, not when the service is made", () => {
    const check = issueChecker(Type.String({ format: "no such format" }));
    expect(() => check("text")).toThrow('unknown format "no such format"');
  });

  const meta = new Ajv2020({ strict: false });
  const schemas = Object.entries(contracts).flatMap(([service, { actions, events }]) => [
    ...Object.entries(actions).flatMap(([name, { params, result }]): [string, object][] => [
      [`params of ${service}.${name}`, params],
      [`result of ${service}.${name}`, result],
    ]),
    ...Object.entries(events).map(([name, schema]): [string, object] => [`event ${name}`, schema]),
  ]);

  test.each(schemas)("%s is a JSON Schema of draft 2020-12", (_name, schema) => {
    expect([meta.validateSchema(schema), meta.errorsText()]).toEqual([true, "No errors"]);
  });

  const actions = Object.entries(contracts).flatMap(([service, { actions }]) =>
    Object.entries(actions).map(([name, { params }]) => ({ action: `${service}.${name}`, params })),
  );

  test.each(actions)("the schema of $action compiles", ({ params }) => {
    expect(issueChecker(params)("not an object")).not.toEqual([]);
  });
});

test.each<[{ pattern?: string; format?: string }, string, string]>([
  [{ pattern: HOUR_MINUTE }, "9am", "must be a time of day as HH:MM, such as 09:30"],
  [{ format: "date-time" }, "yesterday", "must be a time as ISO 8601, such as 2026-11-21T09:30:00Z"],
  [{ format: "email" }, "ada", "must be an e-mail address"],
  [{ format: "uuid" }, "1", "must be a UUID"],
  [{ format: "date" }, "1", 'must match format "date"'],
  [{ pattern: "^a$" }, "b", 'must match pattern "^a$"'],
])("%j that does not hold is told in words where there are some", (rule, value, message) => {
  expect(issueChecker(Type.Object({ f: Type.String(rule) }))({ f: value })).toEqual([{ path: "f", message }]);
});
