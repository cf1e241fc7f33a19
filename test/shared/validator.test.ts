import { Type } from "typebox";
import { contracts } from "../../shared/contracts/index.ts";
import { issueChecker } from "../../shared/validator.ts";

describe("schemas are compiled at the first check, so that a service starts without waiting for them", () => {
  test("a schema that cannot be compiled is found when it is used, not when the service is made", () => {
    const check = issueChecker(Type.String({ format: "no such format" }));
    expect(() => check("text")).toThrow('unknown format "no such format"');
  });

  const actions = Object.entries(contracts).flatMap(([service, { actions }]) =>
    Object.entries(actions).map(([name, { params }]) => ({ action: `${service}.${name}`, params })),
  );

  test.each(actions)("the schema of $action compiles", ({ params }) => {
    expect(issueChecker(params)("not an object")).not.toEqual([]);
  });
});
