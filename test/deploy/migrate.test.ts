import { collections } from "../../deploy/migrate/collections.ts";
import { collectionsOf } from "../house/rules.ts";
import { readProject } from "../house/sources.ts";

test("the table of collections names each that a service opens, and no other", () => {
  const opened = collectionsOf(readProject().filter((file) => file.path.startsWith("services/"))).map(
    ({ collection }) => collection,
  );
  expect(collections.map(({ name }) => name).sort()).toEqual([...new Set(opened)].sort());
});
