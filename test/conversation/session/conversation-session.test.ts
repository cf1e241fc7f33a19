import { fail } from "../../../shared/errors.ts";
import { hold } from "./fixtures/held-conversation.ts";

test("nothing that was said, no name and no number is ever in the log", async () => {
  const t = hold({ bus: { "leads.settle": () => fail("STORE_UNAVAILABLE", "down") } });
  await t.pass(0);
  t.events().prompt("My card is 4111-Xylophone", true);
  await t.pass(0);
  t.events().digit("7");
  t.events().interrupt("Zebulon, is");
  t.events().fault();
  await t.pass(0);
  t.events().closed();
  for (let i = 0; i < 20; i++) await t.pass(500);
  t.leave();
  for (let i = 0; i < 200; i++) await t.pass(500);
  await t.session.ended;
  const log = t.lines.join("");
  expect(log).toContain("talk.turn");
  expect(log).toContain("talk.thought");
  expect(log).toContain("talk.ended");
  expect(log).toContain("talk.not_settled");
  for (const secret of ["Zebulon", "Q-999", "Xylophone", "4111", "keypad", "Good day", "+1415", "stack"])
    expect(log).not.toContain(secret);
});

test("a goodbye that goes on is cut: the leg closes at once and the conversation is settled as it stood", async () => {
  let over = false;
  const t = hold({ end: () => undefined });
  void (async () => {
    await t.session.ended;
    over = true;
  })();
  await t.pass(0);
  t.session.signal("shutdown");
  await t.pass(1000);
  expect([over, t.said.at(-1)]).toEqual([false, expect.stringContaining("something went wrong")]);
  t.session.closeLeg();
  await t.pass(0);
  expect([over, t.named("leads.settle").length]).toEqual([true, 1]);
  expect(t.named("leads.settle")[0]?.params).toMatchObject({
    facts: { talk: { ended_by: "error", errors: [{ code: "SHUTDOWN" }] } },
  });
});

test("a fault of our own ends the call instead of leaving somebody on a dead line", async () => {
  const t = hold({
    model: {
      answer: () => {
        throw new Error("broken model port");
      },
    },
  });
  await t.pass(0);
  t.events().prompt("Hello?", true);
  for (let i = 0; i < 40; i++) await t.pass(500);
  await t.session.ended;
  expect(t.named("leads.settle")[0]?.params).toMatchObject({ facts: { talk: { ended_by: "error" } } });
});
