import { EMPTY_AFTER_MS, LOOK_MS } from "../../../services/leads/events/publisher.ts";
import { publisherStage, type PublisherStage } from "../fixtures/publisher-stage.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const clock = virtualClock();
let at: PublisherStage;
beforeEach(async () => {
  at = await publisherStage(clock);
});
afterEach(() => at.close());

/** Time goes on by a look, in steps in which leases are renewed. */
async function untilLook(): Promise<void> {
  for (let ms = 0; ms < LOOK_MS; ms += 1000) await clock.advance(1000);
}

test("an outbox is emptied once, when its lead has had no event for a minute, whatever was published meanwhile", async () => {
  let writes = 0;
  let asked = 0;
  const one = at.publisher("a", {
    kept: true,
    leads: {
      emptyOutboxes: (some) => {
        writes += some.length;
        return at.leads.emptyOutboxes(some);
      },
    },
    events: {
      known: (ids) => {
        asked++;
        return at.log.known(ids);
      },
    },
  });
  await one.pass();
  const ids = [await at.push(), await at.push(), await at.push()];
  one.owed(ids);
  await one.pass();
  for (const id of ids) {
    await untilLook();
    await at.end(id);
    one.owed([id]);
    await one.pass();
  }
  for (let ms = LOOK_MS; ms < EMPTY_AFTER_MS; ms += LOOK_MS) {
    await untilLook();
    await one.pass();
  }
  expect(await at.owing()).toEqual(ids.slice(1));
  for (let looks = 0; looks < 3; looks++) {
    await untilLook();
    await one.pass();
  }
  await at.expectWhole(ids);
  // the log was asked for them once, when they were new
  expect([writes, asked]).toEqual([3, 1]);
});

test("a lead that nobody told of is found by looking, whenever its writer died, and in any order of clocks", async () => {
  const one = at.publisher("a", { kept: true });
  await one.pass();
  await one.pass();
  const silent = await at.push();
  await one.pass();
  expect(await at.logged()).toHaveLength(0);
  await untilLook();
  while (await one.pass());
  expect((await at.logged()).map(({ subject }) => subject)).toEqual([silent]);
  // of a process whose clock is an hour behind
  await at.end(silent);
  await at.model.updateOne({ _id: silent }, { $set: { outbox_at: new Date(clock.now().getTime() - 3_600_000) } });
  await untilLook();
  while (await one.pass());
  await at.expectWhole([silent], [silent]);
  await untilLook();
  while (await one.pass());
  await at.expectWhole([silent]);
});

test("more leads than a process remembers as told are found all the same", async () => {
  const one = at.publisher("a");
  await one.pass();
  const id = await at.push();
  await at.end(id);
  one.owed([...Array.from({ length: 20_001 }, (_, i) => `nobody-${i}`), id]);
  while (await one.pass());
  await at.expectWhole([id]);
});
