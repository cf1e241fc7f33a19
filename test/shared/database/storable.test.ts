import { unstorableIn } from "../../../shared/database/storable.ts";

test.each<[string, unknown, string | null]>([
  ["plain values", { a: [1, "x", null, { b: true }], "a.b": 1, $where: "1", constructor: {}, bsontype: 1 }, null],
  ["no object", "_bsontype", null],
  ["a list whose place has that number", [["_bsontype"]], null],
  ["the driver's name at the top", { _bsontype: "ObjectId" }, "payload._bsontype"],
  ["the driver's name in a list", { items: [{}, { x: { _bsontype: 1 } }] }, "payload.items[1].x._bsontype"],
  ["a NUL in a name", { a: { "b\0c": 1 } }, "payload.a.b\\0c"],
])("%s", (_what, value, path) => {
  expect(unstorableIn(value, "payload")?.path ?? null).toBe(path);
});

test("a value that is nested a hundred thousand deep is read", () => {
  let value: object = { _bsontype: 1 };
  for (let i = 0; i < 100_000; i++) value = { a: value };
  expect(unstorableIn(value)).not.toBeNull();
});
