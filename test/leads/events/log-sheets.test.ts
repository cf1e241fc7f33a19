import { MAX_SHEET_EVENTS, type Placeless } from "../../../services/leads/events/event-log.model.ts";
import { placed } from "../../../services/leads/events/published-event.ts";
import { WHOLE_SCOPE } from "../../../shared/contracts/records/identity.ts";
import { publisherStage, type PublisherStage } from "../fixtures/publisher-stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock();
const ALL = Number.MAX_SAFE_INTEGER;
let at: PublisherStage;
beforeEach(async () => {
  at = await publisherStage(clock);
});
afterEach(() => at.close());

const eventOf = (lead: string, seq: number, merchant_id: string | null = "m"): Placeless => ({
  _id: `${lead}.${seq}`,
  subject: lead,
  seq,
  type: "lead.answered",
  at: clock.now(),
  reseller_id: "r",
  merchant_id,
  template_id: "t",
  data: { phone_number: "+1415***0123", request_id: lead },
});
/** Writes the events as a pass of the publisher does. */
const written = async (events: readonly Placeless[]): Promise<boolean> =>
  at.log.append(placed(events, await at.log.last(), clock.now(), 3));
const leads = (from: number, count: number): string[] => Array.from({ length: count }, (_, i) => `lead-${from + i}`);
const idsOf = (entries: readonly { _id: string }[]): string[] => entries.map(({ _id }) => _id);

test("events of a tenant that are published together share documents, of fifty at most, and each has its place", async () => {
  await written(leads(0, 60).flatMap((lead, i) => eventOf(lead, 1, i % 2 === 0 ? "m" : null)));
  await written(leads(0, 120).map((lead) => eventOf(lead, 2)));
  expect((await at.sheets.find({}).sort({ _id: 1 }).lean()).map(({ events }) => events.length)).toEqual([
    30,
    30,
    MAX_SHEET_EVENTS,
    MAX_SHEET_EVENTS,
    20,
  ]);
  expect((await at.logged()).map(({ position }) => position)).toEqual(Array.from({ length: 180 }, (_, i) => i + 1));
  expect([await at.log.first(), await at.log.last()]).toEqual([1, 180]);
  expect(await at.log.between({ reseller_id: "r", merchant_id: "m" }, 0, ALL, 500)).toHaveLength(150);
  expect(await at.log.between({ reseller_id: "r", merchant_id: "other" }, 0, ALL, 500)).toEqual([]);
});

test("a reader that stops in the middle of a sheet goes on there, whatever it reads at a time", async () => {
  for (let i = 0; i < 25; i++) await written(leads(i, 3).map((lead) => eventOf(lead, 1, i % 3 === 0 ? "n" : "m")));
  const scopes = [WHOLE_SCOPE, { reseller_id: "r", merchant_id: "n" }];
  for (const scope of scopes)
    for (const limit of [1, 2, 7, 500]) {
      const whole = await at.log.between(scope, 0, ALL, 500);
      const found = [];
      for (let after = 0; ;) {
        const some = await at.log.between(scope, after, ALL, limit);
        found.push(...some);
        after = some.at(-1)?.position ?? after;
        if (some.length < limit) break;
      }
      expect(found).toEqual(whole);
      expect(whole).toHaveLength(scope === WHOLE_SCOPE ? 75 : 27);
    }
  expect(idsOf(await at.log.between(WHOLE_SCOPE, 1, 4, 500))).toEqual(["lead-1.1", "lead-2.1", "lead-1.1"]);
});

test("the events of one lead are found among those of others, behind any number", async () => {
  for (let seq = 1; seq <= 30; seq++)
    await written([eventOf("other", seq), eventOf("lead", seq), eventOf("third", seq)]);
  for (const after of [0, 1, 14, 29, 30])
    for (const limit of [1, 10, 100])
      expect((await at.log.ofLead("lead", after, limit, 30)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: Math.min(limit, 30 - after) }, (_, i) => after + i + 1),
      );
  expect([...(await at.log.known(["lead", "nobody"]))]).toEqual([["lead", 30]]);
});

test("a number is taken from the events of its lead, and from no other's on the same sheet", async () => {
  await written([eventOf("+14155550123", 1), eventOf("lead", 1), eventOf("+14155550123", 2)]);
  expect(await at.log.erase("+14155550123", "+14155550123")).toBe(2);
  const phones = (await at.logged()).map(({ data }) => data["phone_number"]);
  expect(phones).toEqual([null, "+1415***0123", null]);
  expect((await at.logged()).map(({ data }) => String(data["request_id"]).includes("4155550123"))).toEqual([
    false,
    false,
    false,
  ]);
  expect(await at.log.erase("+14155550123", "+14155550123")).toBe(0);
});

test("of two that write behind the same place one is refused, however many events each has", async () => {
  const [one, other] = [
    placed(
      leads(0, 70).map((lead) => eventOf(lead, 1)),
      0,
      clock.now(),
      3,
    ),
    placed([eventOf("lead-0", 1)], 0, clock.now(), 3),
  ];
  expect([await at.log.append(one), await at.log.append(other)]).toEqual([true, false]);
  expect(await at.logged()).toHaveLength(70);
});
