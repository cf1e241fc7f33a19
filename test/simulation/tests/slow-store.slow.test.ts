import { openFleet, type Fleet } from "../engine/fleet.ts";
import { LOAD_MUTATIONS } from "../checks/mutations.ts";
import { IS_LONG_FORM } from "../../fixtures/long-form.ts";

/** The services that ship in virtual time, on a database that takes so long to acknowledge a write; the carrier's ledger judges. */
const PATIENCE_MS = 900_000;
let fleet: Fleet;
beforeAll(() => {
  fleet = openFleet(2);
});
afterAll(async () => {
  await fleet.close();
});

const MINUTE = { windows: 2, calls_per_second: 0, crash: 0 };
/** A limit of one configuration, beside an account with or without one of its own. */
const LOADS = {
  "30 a minute": { ...MINUTE, limit: { max_calls: 30, window_seconds: 60 } },
  "30 a minute, the account 5 a second": {
    ...MINUTE,
    limit: { max_calls: 30, window_seconds: 60 },
    calls_per_second: 5,
  },
  "1 a minute": { ...MINUTE, limit: { max_calls: 1, window_seconds: 60 }, windows: 5 },
  "5 in 5 s": { ...MINUTE, limit: { max_calls: 5, window_seconds: 5 }, windows: 6 },
};
const WRITES_MS = IS_LONG_FORM ? [5, 50, 200, 500] : [5, 500];
/** The least part of a limit that is used: at writes of half a second the first calls of a run come one by one. */
const leastUsed = (write_ms: number): number => (write_ms > 200 ? 0.8 : 0.9);
const MOST_RELEASES = 3;

it.each(WRITES_MS.flatMap((write_ms) => Object.entries(LOADS).map(([name, load]) => ({ name, write_ms, load }))))(
  "$name at writes of $write_ms ms: never more by the ledger, nearly all of it used, no lead released again and again",
  async ({ write_ms, load }) => {
    const { figures, violations } = await fleet.once(1, { load: { ...load, write_ms } });
    expect(violations).toEqual([]);
    expect(figures?.dials).toBeLessThanOrEqual(figures?.allowed ?? 0);
    expect(figures?.dials).toBeGreaterThanOrEqual(Math.floor((figures?.allowed ?? 0) * leastUsed(write_ms)));
    expect(figures?.most_releases).toBeLessThanOrEqual(MOST_RELEASES);
  },
  PATIENCE_MS,
);

/** Only the account's calls per second hold the leads back. */
const ACCOUNT = { limit: { max_calls: 300, window_seconds: 60 }, calls_per_second: 2, windows: 1 };

it.each(IS_LONG_FORM ? [1, 2, 3, 4] : [1, 2])(
  "an account's calls per second hold in every second while processes die and start again (seed %i)",
  async (seed) => {
    const load = { ...ACCOUNT, write_ms: seed % 2 === 0 ? 200 : 5, crash: 0.003 };
    const { figures, violations } = await fleet.once(seed, { load });
    expect(violations).toEqual([]);
    expect(figures?.dials).toBeGreaterThan(0);
  },
  PATIENCE_MS,
);

it(
  "a database whose clock takes 150 ms to be read: permits are longer by what is not known, and the limits hold",
  async () => {
    const far = { write_ms: 200, far_ms: 150 };
    const limited = { ...LOADS["30 a minute, the account 5 a second"], ...far };
    const runs = await Promise.all([limited, { ...ACCOUNT, ...far, crash: 0 }].map((load) => fleet.once(1, { load })));
    expect(runs.flatMap((r) => r.violations)).toEqual([]);
    const [ofMinute, ofAccount] = runs.map((r) => r.figures?.dials ?? 0);
    expect(ofMinute).toBeGreaterThanOrEqual(54);
    // of 120; each permit of the account's second is 400 ms long
    expect(ofAccount).toBeGreaterThanOrEqual(60);
  },
  PATIENCE_MS,
);

it.each(Object.keys(LOAD_MUTATIONS))(
  "a mutant breaks an account's calls per second: %s",
  async (mutation) => {
    const load = { ...ACCOUNT, write_ms: 200, crash: 0 };
    const { violations } = await fleet.once(1, { mutation, load });
    expect([...new Set(violations.map((v) => v.invariant))]).toEqual(["I6"]);
  },
  PATIENCE_MS,
);
