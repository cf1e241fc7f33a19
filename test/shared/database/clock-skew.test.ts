import * as fc from "fast-check";
import { Schema } from "mongoose";
import { MAX_SKEW_MS, skewFault, skewOf, type ClockReading } from "../../../shared/database/clock-skew.ts";
import { ClockSkewError, openStore, SCHEMA_OPTIONS } from "../../../shared/database/mongo.ts";
import { freshDatabase } from "../../../local/harness/stage.ts";

const HOUR = 3_600_000;
const reading = (skew: number, way = 2): ClockReading => ({
  asked_ms: 1_000_000,
  answered_ms: 1_000_000 + way,
  store_ms: 1_000_000 + way / 2 + skew,
});

describe("skewFault", () => {
  test.each<[string, ClockReading[], RegExp | null]>([
    ["clocks that agree", [reading(0)], null],
    ["two seconds", [reading(MAX_SKEW_MS)], null],
    ["a little more", [reading(2100)], /2\.1 s ahead of/],
    ["an hour ahead", [reading(HOUR)], /3600\.0 s ahead of.*NTP/],
    ["an hour behind", [reading(-HOUR)], /3600\.0 s behind.*start again/],
    ["a slow answer that proves nothing", [reading(2500, 4000)], null],
    ["a slow answer that proves enough", [reading(5000, 4000)], /ahead of/],
    ["the quickest of several", [reading(9000, 30_000), reading(100, 4)], null],
    ["a clock that was set back meanwhile", [{ asked_ms: 5000, answered_ms: 1000, store_ms: 5000 }], null],
    ["none", [], null],
  ])("%s", (_what, readings, said) => {
    const fault = skewFault(readings);
    if (said === null) expect(fault).toBeNull();
    else expect(fault).toMatch(said);
  });

  test("wherever on its way the answer was made, the true skew lies within what is said", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -HOUR, max: HOUR }),
        fc.integer({ min: 0, max: 60_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (skew, way, at) => {
          const seen = skewOf({ asked_ms: 0, answered_ms: way, store_ms: Math.round(way * at) + skew });
          expect(Math.abs(seen.skew_ms - skew)).toBeLessThanOrEqual(seen.uncertain_ms + 1);
        },
      ),
    );
  });
});

describe("openStore", () => {
  let database: Awaited<ReturnType<typeof freshDatabase>>;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database.drop());
  const withQuery = (query: Record<string, string>): string => {
    const uri = new URL(database.uri);
    for (const [name, value] of Object.entries(query)) uri.searchParams.set(name, value);
    return uri.href;
  };

  test.each([
    ["an hour ahead", HOUR, /behind this machine's/],
    ["an hour behind", -HOUR, /ahead of this machine's/],
  ])("refuses a database when our clock is %s", async (_what, off, said) => {
    const store = openStore(withQuery({ appName: `skew${off}` }), { now: () => Date.now() + off });
    const refused: unknown = await store.open().then(
      () => null,
      (error: unknown) => error,
    );
    await store.close();
    expect(refused).toBeInstanceOf(ClockSkewError);
    expect(String(refused)).toMatch(said);
  });

  test("opens when the clocks agree, and writes by majority from the primary whatever the URI says", async () => {
    const store = openStore(withQuery({ w: "1", readPreference: "secondaryPreferred", readConcernLevel: "local" }));
    const model = store.model("things", new Schema<{ _id: string }>({ _id: String }, SCHEMA_OPTIONS));
    await store.open();
    const { writeConcern, readPreference, readConcern } = model.db.getClient().options;
    expect([writeConcern?.w, readPreference.mode, readConcern?.level]).toEqual(["majority", "primary", "majority"]);
    await store.close();
  });
});
