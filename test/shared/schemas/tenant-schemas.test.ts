import { checkOf } from "../../../shared/schemas/client-schema.ts";
import { schemaThread } from "../../../shared/schemas/schema-thread.ts";
import { checkBudget, tenantSchemas } from "../../../shared/schemas/tenant-schemas.ts";
import { systemClock } from "../../../shared/time/clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const ONE = { reseller_id: "one", merchant_id: "m" };
const OTHER = { reseller_id: "other", merchant_id: "n" };
const TOO_LONG = [{ path: "", message: expect.stringContaining("takes too long") }];

const open: { close(): Promise<void> }[] = [];
const opened = <T extends { close(): Promise<void> }>(part: T): T => {
  open.push(part);
  return part;
};
afterEach(async () => {
  await Promise.all(open.splice(0).map((part) => part.close()));
});

const fields = (count: number) => ({
  type: "object",
  required: ["f0"],
  properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, { type: "string", minLength: 1 }])),
});
/** Every two of these are compared. */
const UNIQUE = { properties: { a: { uniqueItems: true } } };
const objects = (count: number) => ({ a: Array.from({ length: count }, (_, i) => ({ i })) });

describe("values and clients' schemas", () => {
  test("that take no time are checked at once, those that may are not; what is told of them is the same", async () => {
    const schemas = opened(tenantSchemas(systemClock));
    const light = schemas.checkOf(fields(5));
    expect(light.here({ f1: "" })).toEqual(checkOf(fields(5))({ f1: "" }));
    const heavy = { ...fields(5), $ref: "#/$defs/o", $defs: { o: { properties: { f2: { type: "number" } } } } };
    const value = { f1: "", f2: "2" };
    const apart = schemas.checkOf(heavy);
    expect(apart.here(value)).toBeNull();
    expect(await schemas.issuesOf(ONE, apart, value, checkBudget())).toEqual(checkOf(heavy)(value));
    expect(await schemas.issuesOf(ONE, apart, { f0: "x" }, checkBudget())).toEqual([]);
  });

  test("that take long hold nobody else up, and end when their request's time is used up", async () => {
    const schemas = opened(tenantSchemas(systemClock));
    const order: string[] = [];
    const budget = checkBudget();
    const slow = schemas.issuesOf(ONE, schemas.checkOf(UNIQUE), objects(20_000), budget);
    void slow.then(() => order.push("slow"));
    expect(await schemas.issuesOf(OTHER, schemas.checkOf(fields(3)), { f0: "x" }, checkBudget())).toEqual([]);
    order.push("neighbour");
    expect(await slow).toEqual(TOO_LONG);
    expect(order).toEqual(["neighbour", "slow"]);
    expect(await schemas.issuesOf(ONE, schemas.checkOf(UNIQUE), objects(1), budget)).toEqual(TOO_LONG);
    expect(await schemas.issuesOf(OTHER, schemas.checkOf(UNIQUE), objects(2), checkBudget())).toEqual([]);
  });

  test("are looked at in the thread where a template has faults without number, each named at its path", async () => {
    const schemas = opened(tenantSchemas(systemClock));
    const faulty = { allOf: Array.from({ length: 2000 }, () => 1) };
    const looking = schemas.issuesIn(ONE, [
      { schema: fields(3), path: "a" },
      { schema: faulty, path: "b" },
    ]);
    const first = await Promise.race([
      looking.then(() => "looked"),
      new Promise((go) => setImmediate(go, "event loop")),
    ]);
    expect(first).toBe("event loop");
    const [none, many] = (await looking) ?? [];
    expect(none).toEqual([]);
    expect([many?.length, many?.[0]?.path]).toEqual([100, "b.allOf.0"]);
  });

  test("are compiled on the event loop in a bounded measure; past it the thread does that too", () => {
    const schemas = opened(tenantSchemas(virtualClock()));
    const here = Array.from({ length: 30 }, () => schemas.checkOf(fields(48)).here({ f0: "x" }));
    expect(here.filter((found) => found !== null).length).toBeGreaterThan(5);
    expect(here.at(-1)).toBeNull();
  });

  test.each<[string, object]>([
    ["a long key of its own in the path of each fault", { additionalProperties: { items: { type: "string" } } }],
    ["references, whose faults are gathered in copies", { properties: { a: { items: { $ref: "#" } } } }],
    ["a pattern of many instructions", { properties: { a: { pattern: "^[a-z]{2000}$" } } }],
    ["a pattern that is not linear", { properties: { a: { pattern: "(?=a)" } } }],
    ["many parts", fields(100)],
  ])("are never checked on the event loop with %s", (_what, schema) => {
    expect(
      opened(tenantSchemas(virtualClock()))
        .checkOf(schema as Record<string, unknown>)
        .here({}),
    ).toBeNull();
  });
});

test("an order that takes all of the thread's memory is lost; the next one has a new thread", async () => {
  const thread = opened(
    schemaThread(systemClock, { maxOldGenerationSizeMb: 48, maxYoungGenerationSizeMb: 8, stackSizeMb: 4 }),
  );
  const schema = JSON.stringify({ items: { anyOf: Array.from({ length: 500 }, (_, i) => ({ const: i + 1 })) } });
  const value = JSON.stringify(Array.from({ length: 20_000 }, () => 0));
  expect(await thread.ask({ schema, value, ms: 60_000 })).toBe("lost");
  expect(await thread.ask({ schema: "{}", value: "1", ms: 60_000 })).toMatchObject({ issues: [] });
});
