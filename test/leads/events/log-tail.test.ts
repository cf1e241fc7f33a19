import type { LogEntry } from "../../../services/leads/events/event-log.model.ts";
import { eventsAfter } from "../../../services/leads/events/event-queries.ts";
import { logTail } from "../../../services/leads/events/log-tail.ts";
import { placed } from "../../../services/leads/events/published-event.ts";
import { WHOLE_SCOPE } from "../../../shared/contracts/records/identity.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";
import { publisherStage } from "../fixtures/publisher-stage.ts";

const clock = virtualClock();
const ALL = 100;

/** Entries at these positions: of merchant m where the position is even, else of n. */
const entries = (from: number, to: number): LogEntry[] =>
  Array.from({ length: to - from + 1 }, (_, i) => ({
    _id: `lead.${from + i}`,
    position: from + i,
    subject: "lead",
    seq: from + i,
    type: "lead.answered",
    at: clock.now(),
    reseller_id: "r",
    merchant_id: (from + i) % 2 === 0 ? "m" : "n",
    template_id: "t",
    data: { request_id: "x" },
    expires_at: clock.now(),
  }));

test("who is at the end is answered with what came since; of all else the tail says that it does not know", () => {
  const tail = logTail(clock);
  const at = (after: number, limit = ALL) => {
    const recent = tail.behind(WHOLE_SCOPE, after, limit);
    return recent && [recent.found.map(({ position }) => position), recent.last];
  };
  expect(at(0)).toBeNull();
  tail.add(entries(5, 7));
  tail.add(entries(8, 8));
  tail.add([]);
  expect([at(4), at(6), at(4, 2)]).toEqual([
    [[5, 6, 7, 8], 8],
    [[7, 8], 8],
    [[5, 6], 8],
  ]);
  // before it: others wrote that; behind it: others may have written since
  expect([at(3), at(8), at(9)]).toEqual([null, null, null]);
  expect(tail.behind({ reseller_id: "r", merchant_id: "m" }, 5, ALL)?.found.map(({ position }) => position)).toEqual([
    6, 8,
  ]);
  expect(tail.behind({ reseller_id: "other", merchant_id: null }, 5, ALL)).toEqual({ found: [], last: 8 });

  // another process wrote 9
  tail.add(entries(10, 11));
  expect([at(4), at(8), at(9)]).toEqual([null, null, [[10, 11], 11]]);
});

test("it forgets within seconds, and at once when something in the log is changed", async () => {
  const tail = logTail(clock);
  tail.add(entries(1, 2));
  await clock.advance(1500);
  tail.add(entries(3, 4));
  expect(tail.behind(WHOLE_SCOPE, 0, ALL)?.found).toHaveLength(4);
  await clock.advance(1000);
  expect([tail.behind(WHOLE_SCOPE, 0, ALL), tail.behind(WHOLE_SCOPE, 2, ALL)?.found.length]).toEqual([null, 2]);
  tail.forget();
  expect(tail.behind(WHOLE_SCOPE, 2, ALL)).toBeNull();
});

test("what was just published is answered as the database would, and only where it was written", async () => {
  const stage = await publisherStage(clock);
  const { log } = stage;
  try {
    const event = (seq: number, merchant_id: string) => {
      const { position: _position, expires_at: _expires, ...rest } = { ...entries(seq, seq)[0] } as LogEntry;
      return { ...rest, merchant_id };
    };
    await log.append(placed([event(1, "m"), event(2, "m"), event(3, "n")], 0, clock.now(), 3));
    expect(await log.append(placed([event(4, "m")], 2, clock.now(), 3))).toBe(false);
    const events = { ...log, recent: () => null };
    const asked = [
      { after: 0 },
      { after: 0, limit: 1 },
      { after: 1, reseller_id: "r", merchant_id: "n" },
      { after: 1, reseller_id: "other" },
    ];
    for (const p of asked) {
      expect(log.recent(WHOLE_SCOPE, p.after, 1)).not.toBeNull();
      expect(await eventsAfter({ events: log }, p)).toEqual(await eventsAfter({ events }, p));
    }
  } finally {
    await stage.close();
  }
});
