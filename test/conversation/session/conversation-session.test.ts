import { fail } from "../../../shared/errors.ts";
import type { CompiledTemplate } from "../../../services/conversation/session/compiled-templates.ts";
import type { ChatModel } from "../../../services/conversation/providers/port.ts";
import { testFlow } from "../../fixtures/flow-template.ts";
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

const placedAs = (call_id: string) => ({ call_id, placed_at: "2026-11-21T12:00:00.000Z", ringing_at: null });

test("media that name another call than was placed are refused by that name: nothing is said, and it is no fault of the customer's", async () => {
  const t = hold({ placed: placedAs("CA2") });
  await t.pass(0);
  await t.session.ended;
  expect(t.said).toEqual([]);
  expect(t.named("leads.settle")[0]?.params).toMatchObject({
    facts: {
      call_id: "CA2",
      talk: { ended_by: "error", errors: [{ code: "MEDIA_OF_ANOTHER_CALL" }], transcription: [] },
    },
  });
  expect(t.named("dialer.hangUp")[0]?.params).toMatchObject({ reason: "media_failed" });
});

test.each(["CA1", "a name of another kind"])("media go on whose call was placed as %s", async (call_id) => {
  const t = hold({ placed: placedAs(call_id) });
  await t.pass(0);
  expect(t.said.length).toBeGreaterThan(0);
  t.events().closed();
  await t.session.ended;
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

describe("arguments that take time to check", () => {
  const figures = { text: "", first_token_ms: 1, total_ms: 2, prompt_tokens: 3, completion_tokens: 4, tries: 1 };
  /** A model that notes something in its first answer, and the conversation with it; the check is over when the test says so. */
  function noting() {
    const requests: Parameters<ChatModel["answer"]>[0][] = [];
    const model: ChatModel = {
      answer: async (request, { onText }) => {
        requests.push(request);
        onText(requests.length === 1 ? "Let me note that." : "I am sorry?");
        const calls = requests.length === 1 ? [{ id: "c1", name: "note", arguments: '{"text":"blue"}' }] : [];
        return { ...figures, calls };
      },
    };
    const { promise, resolve } = Promise.withResolvers<(readonly string[] | null)[]>();
    const judge: CompiledTemplate["judge"] = () => promise;
    const t = hold({ model, template: { flow: { ...testFlow(), check: () => null }, judge } });
    return { t, requests, resolve };
  }
  const toolAnswers = (requests: readonly Parameters<ChatModel["answer"]>[0][]): string =>
    JSON.stringify(requests.at(-1)?.messages.filter((m) => m.role === "tool"));

  test.each<[string, readonly string[] | null, string]>([
    ["their faults are told to the model", ["text is not good"], "text is not good"],
    ["nothing is carried out where nobody can say in time", null, "too long to check"],
    ["what fits is carried out", [], "ok"],
  ])("are checked elsewhere; %s", async (_what, faults, told) => {
    const { t, requests, resolve } = noting();
    await t.pass(0);
    expect(requests).toHaveLength(1);
    resolve([faults]);
    await t.pass(0);
    expect(requests).toHaveLength(2);
    expect(toolAnswers(requests)).toContain(told);
    t.events().closed();
    await t.pass(0);
    await t.session.ended;
  });

  test("do not outlast an interruption: what was said stays, and the call is not carried out", async () => {
    const { t, requests, resolve } = noting();
    await t.pass(0);
    t.events().interrupt("Let me");
    t.events().prompt("Wait, who is this?", true);
    await t.pass(0);
    resolve([[]]);
    await t.pass(0);
    expect(JSON.stringify(requests.at(-1)?.messages)).toContain("Let me");
    expect(toolAnswers(requests)).toBe("[]");
    t.events().closed();
    await t.pass(0);
    await t.session.ended;
  });
});

describe("a decision and the words that tell it", () => {
  const figures = { text: "", first_token_ms: 1, total_ms: 2, prompt_tokens: 3, completion_tokens: 4, tries: 1 };
  /** The model confirms what it hears; what is kept of it is written when the test says so. */
  function confirming() {
    let answers = 0;
    const model: ChatModel = {
      answer: async (_request, { onText }) => {
        if (++answers === 1) onText("Is Q-999 fine?");
        return { ...figures, calls: answers === 1 ? [] : [{ id: "c1", name: "confirm", arguments: "{}" }] };
      },
    };
    const writes: { decided: string | null; done(): void; fail(): void }[] = [];
    const t = hold({
      model,
      sessions: {
        progress: (_id, { talk }) =>
          new Promise((done, refuse) => {
            if (talk.decided !== null)
              writes.push({ decided: talk.decided, done, fail: () => refuse(new Error("the database is away")) });
            if (talk.decided === null || writes.length > 1) done();
          }),
      },
    });
    const decide = async (): Promise<void> => {
      await t.pass(0);
      t.events().prompt("Yes.", true);
      await t.pass(0);
    };
    const over = async (): Promise<void> => {
      for (let i = 0; i < 60; i++) await t.pass(500);
      await t.session.ended;
    };
    return { t, writes, decide, over };
  }
  const GOODBYE = "Thank you, Zebulon. Goodbye!";

  test("the words begin when the decision is written, which is written once", async () => {
    const { t, writes, decide, over } = confirming();
    await decide();
    expect([writes.map((w) => w.decided), t.said.includes(GOODBYE)]).toEqual([["confirmed"], false]);
    writes[0]?.done();
    await t.pass(0);
    expect([writes.length, t.said.includes(GOODBYE)]).toEqual([1, true]);
    await over();
    expect(t.named("leads.settle")[0]?.params).toMatchObject({ facts: { talk: { decided: "confirmed" } } });
  });

  test.each<[string, (write: { fail(): void } | undefined) => void, number]>([
    ["is away: they begin after half a second", () => undefined, 500],
    ["refuses: they begin at once", (write) => write?.fail(), 0],
  ])("a database silences nobody: where it %s", async (_what, meanwhile, ms) => {
    const { t, writes, decide, over } = confirming();
    await decide();
    meanwhile(writes[0]);
    await t.pass(Math.max(0, ms - 1));
    if (ms > 0) expect(t.said).not.toContain(GOODBYE);
    await t.pass(1);
    expect(t.said).toContain(GOODBYE);
    writes[0]?.done();
    await over();
  });

  test("what the customer says or does meanwhile comes behind the decision, and an end of the call ends it as decided", async () => {
    const { t, writes, decide, over } = confirming();
    await decide();
    t.events().prompt("Hello?", true);
    t.events().closed();
    await t.pass(0);
    expect(t.named("leads.settle")).toEqual([]);
    writes[0]?.done();
    await t.pass(0);
    await over();
    expect(t.named("leads.settle")[0]?.params).toMatchObject({ facts: { talk: { decided: "confirmed" } } });
  });
});
