import { fail } from "../../../shared/errors.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { hold } from "../session/fixtures/held-conversation.ts";

const ON = { EVENTS_TURNS: "true" };
type Told = { told: number; turns: { by: string; at: string; node: string }[] };

/** A conversation of three sentences, to its end. */
async function talkedWith(options: Parameters<typeof hold>[0]) {
  const t = hold(options);
  await t.pass(0);
  for (const sentence of ["My card is 4111-Xylophone", "Yes", "Goodbye"]) {
    t.events().prompt(sentence, true);
    for (let i = 0; i < 4; i++) await t.pass(500);
  }
  const live = t.named("leads.annotate").map(({ params }) => params["turns"] as Told);
  t.events().closed();
  for (let i = 0; i < 20; i++) await t.pass(500);
  await t.session.ended;
  const { talk } = t.named("leads.settle").at(-1)!.params["facts"] as { talk: ConversationFacts };
  return { ...t, live, talk };
}

test("turns are told while the conversation runs, each once and in order, with their node and time and not a word; the facts have all of them", async () => {
  const { live, talk, kept, named } = await talkedWith({ env: ON });
  const turns = live.flatMap((notice) => notice.turns);
  expect(live.map(({ told }) => told)).toEqual(live.map((_, i) => live.slice(0, i).flatMap((n) => n.turns).length));
  expect(turns.length).toBeGreaterThan(3);
  expect(talk.turns?.slice(0, turns.length)).toEqual(turns);
  expect(talk.turns?.map(({ by }) => by)).toEqual(talk.transcription.map(({ role }) => role));
  for (const { node, at } of talk.turns ?? [])
    expect([node !== "", Number.isFinite(Date.parse(at))]).toEqual([true, true]);
  expect(kept.at(-2)?.talk?.turns).toEqual(talk.turns); // what the sweep would go on with
  expect(JSON.stringify([named("leads.annotate"), talk.turns])).not.toMatch(/Xylophone|4111|Zebulon/);
});

test("a notice that does not come through is given again until it does; what leads knows already is passed over", async () => {
  let away = 3;
  const { live, named } = await talkedWith({
    env: ON,
    bus: {
      "leads.annotate": () => {
        if (away-- > 0) return fail("DEPENDENCY_DOWN", "leads is away");
        return { done: false };
      },
    },
  });
  expect(live.slice(0, 3).map(({ told }) => told)).toEqual([0, 0, 0]);
  const last = named("leads.annotate").at(-1)?.params["turns"] as Told;
  expect(last.told).toBeGreaterThan(0);
});

test("without EVENTS_TURNS nothing is told of turns", async () => {
  const { live, talk } = await talkedWith({});
  expect([live, talk.turns]).toEqual([[], undefined]);
});
