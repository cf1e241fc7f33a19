import { checkedPart } from "../../../shared/bus/bus.ts";
import { contracts } from "../../../shared/contracts/index.ts";
import { described, named, Strict, Text, Type, valued } from "../../../shared/contracts/define.ts";

/** Most bytes of all actions' schemas as Moleculer sends them to each node that joins, in one message. */
const MOST_BYTES = 160_000;

test("what is for readers does not travel, and what is checked does", () => {
  const schema = Strict({
    title: described("it", Text(3), { default: "x", example: "y" }),
    description: named("It", "it", Strict({ state: valued(["on", "off"], { on: "1", off: "0" }) })),
    list: Type.Array(described("it", Text(4)), { maxItems: 2 }),
  });
  expect(checkedPart(schema)).toEqual({
    type: "object",
    additionalProperties: false,
    required: ["title", "description", "list"],
    properties: {
      title: { type: "string", minLength: 1, maxLength: 3 },
      description: {
        type: "object",
        additionalProperties: false,
        required: ["state"],
        properties: { state: { enum: ["on", "off"] } },
      },
      list: { type: "array", maxItems: 2, items: { type: "string", minLength: 1, maxLength: 4 } },
    },
  });
});

test("all actions' schemas together stay small", () => {
  const sent = Object.values(contracts).map(({ actions }) =>
    Object.values(actions).map(({ params }) => checkedPart(params)),
  );
  expect(JSON.stringify(sent).length).toBeLessThan(MOST_BYTES);
});
