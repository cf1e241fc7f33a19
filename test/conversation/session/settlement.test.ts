import { jest } from "@jest/globals";
import { recoveredFacts } from "../../../services/conversation/session/conversation-settlement.ts";
import { endedByAgent, type ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import { fail } from "../../../shared/errors.ts";
import { until } from "../../../local/harness/stage.ts";
import { docOf, hold, LEAD } from "./fixtures/held-conversation.ts";

test("the lease is renewed every third of its life, and no longer than the conversation", async () => {
  const t = hold();
  await t.pass(0);
  for (let i = 0; i < 6; i++) {
    t.events().prompt("Hm", false);
    await t.pass(5000);
  }
  expect(t.named("leads.extend").length).toBe(4);
  t.events().closed();
  await t.session.ended;
  const before = t.named("leads.extend").length;
  await t.pass(60_000);
  expect(t.named("leads.extend").length).toBe(before);
  const renewal = { lead_id: LEAD, claim_no: 3, lease_seconds: 30 };
  // the first says that the conversation has begun, until it was answered
  expect(t.named("leads.extend")[0]?.params).toEqual({ ...renewal, answered: true });
  expect(t.named("leads.extend").at(-1)?.params).toEqual(renewal);
  // the dialer knows that the call is to end, so that is not owed again
  expect(t.named("leads.settle").at(-1)?.params).not.toHaveProperty("end_call");
});

test("the call is told with the answer; where that came to nothing, with the end", async () => {
  const placed = {
    call_id: "CA1",
    placed_at: "2026-11-21T12:00:00.000Z",
    ringing_at: null,
    recording_url: "https://r",
  };
  const bus = { "leads.extend": () => fail("TIMEOUT", "slow") };
  for (const [t, told] of [
    [hold({ placed }), undefined],
    [hold({ placed, bus }), placed],
  ] as const) {
    await t.pass(0);
    t.events().closed();
    await t.session.ended;
    expect(t.named("leads.extend")[0]?.params).toMatchObject({ answered: true, placed });
    expect(t.named("leads.settle").at(-1)?.params["placed"]).toEqual(told);
  }
});

test("a renewal that fails does not end the conversation; the answer that the lease is lost does, unsettled", async () => {
  let answer: () => unknown = () => fail("TIMEOUT", "slow");
  const t = hold({ bus: { "leads.extend": () => answer() } });
  await t.pass(0);
  t.events().prompt("Hm", false);
  await t.pass(10_000);
  expect(t.named("dialer.hangUp").length).toBe(0);
  answer = () => ({ done: false });
  await t.pass(10_000);
  await t.session.ended;
  expect(t.named("leads.settle").length).toBe(0);
  expect(t.named("dialer.hangUp").length).toBe(1);
  expect(t.kept.at(-1)?.move).toBe("close");
});

test("settling goes on past the end of the lease until the leads service is back", async () => {
  let away = true;
  const whenBack = (answer: object): object => (away ? fail("DEPENDENCY_DOWN", "gone") : answer);
  const bus = {
    "leads.settle": () => whenBack({ done: true, status: "FINISHED", outcome: "x" }),
    "leads.extend": () => whenBack({ done: true }),
    "dialer.hangUp": () => whenBack({}),
  };
  const t = hold({ bus });
  await t.pass(0);
  t.events().closed();
  for (let i = 0; i < 240; i++) await t.pass(500);
  expect(t.named("leads.settle").length).toBeGreaterThan(20);
  away = false;
  for (let i = 0; i < 12; i++) await t.pass(500);
  await t.session.ended;
  expect(t.named("leads.settle").at(-1)?.params).toMatchObject({ end_call: true, facts: { ended: "completed" } });
});

test("a process that leaves settles while the lease lives, then leaves the rest to the sweep, with the facts kept", async () => {
  const t = hold({ bus: { "leads.settle": () => fail("DEPENDENCY_DOWN", "gone") } });
  await t.pass(0);
  t.events().closed();
  t.leave();
  for (let i = 0; i < 100; i++) await t.pass(500);
  await t.session.ended;
  expect(t.named("leads.settle").length).toBeGreaterThan(5);
  expect(t.named("leads.settle").length).toBeLessThan(30);
  expect(t.kept.at(-1)).toMatchObject({ move: "ended", talk: { ended_by: "customer" } });
});

test("a store that is down loses nothing but the partial transcript", async () => {
  const down = async () => {
    throw new Error("store down");
  };
  const t = hold({ sessions: { progress: down, ended: down, close: down } });
  await t.pass(0);
  t.events().prompt("Yes", true);
  await t.pass(0);
  t.events().closed();
  await t.session.ended;
  expect(t.named("leads.settle").length).toBe(1);
});

test("progress is written as the conversation goes, the latest state last", async () => {
  const t = hold();
  await t.pass(0);
  t.events().prompt("Well", true);
  await until("progress", () => (t.kept.at(-1)?.talk?.transcription.length === 4 ? true : undefined));
  expect(t.kept.at(-1)).toMatchObject({
    move: "progress",
    talk: {
      ended_by: "error",
      transcription: [
        { content: "Good day from Northwind." },
        { content: "Zebulon, is Q-999 fine?" },
        { content: "Well" },
        { content: "Zebulon, is Q-999 fine?" },
      ],
    },
  });
  t.events().closed();
  await t.session.ended;
  expect(t.named("leads.settle")[0]?.params).toMatchObject({
    facts: { ended: "completed", call_id: "CA1", talk: { ended_by: "customer", user_turns: 1 } },
  });
});

test("a conversation that left more behind than is kept settles with its latest lines, and the log says so", async () => {
  const t = hold();
  await t.pass(0);
  for (let i = 0; i < 60; i++) {
    t.events().prompt(`${i} ${"é".repeat(1990)}`, true);
    await t.pass(0);
  }
  t.events().closed();
  await t.session.ended;
  const [settled] = t.named("leads.settle");
  expect(settled?.params).toMatchObject({
    facts: { talk: { errors: [{ code: "TRANSCRIPT_CUT", lines: expect.any(Number) }] } },
  });
  expect(JSON.stringify(settled?.params).length).toBeLessThan(140_000);
  expect(JSON.stringify(settled?.params)).toContain("59 é");
  expect(JSON.stringify(settled?.params)).not.toContain('"0 é');
});

test("K8: the process dies once the customer's first words are written down, and not before", async () => {
  const kill = jest.spyOn(process, "kill").mockImplementation(() => true);
  try {
    const t = hold({ env: { CRASH_AT: "K8" } });
    await t.pass(0);
    expect([t.kept.length > 0, kill.mock.calls]).toEqual([true, []]);
    t.events().prompt("Well", true);
    await until("the crash", () => kill.mock.calls[0]);
    expect([kill.mock.calls[0], t.kept.some((k) => k.talk?.user_turns === 1)]).toEqual([
      [process.pid, "SIGKILL"],
      true,
    ]);
    t.events().closed();
    await t.session.ended;
  } finally {
    kill.mockRestore();
  }
});

test("what is salvaged: nothing of a conversation that never spoke, whole facts of one that ended, cut-off ones of one that did not", () => {
  const talk: ConversationFacts = {
    ...endedByAgent("confirmed"),
    node_traversal: ["ask"],
  };
  expect(recoveredFacts(null)).toBeNull();
  expect(recoveredFacts(docOf())).toBeNull();
  expect(recoveredFacts(docOf({ state: "ENDED_UNSETTLED", talk }))).toEqual(talk);
  expect(recoveredFacts(docOf({ state: "TALKING", talk }))).toEqual({
    ...talk,
    ended_by: "error",
    errors: [{ code: "TALK_CUT_OFF", node: "ask" }],
  });
});

describe("who answered a call that no person is heard on", () => {
  /** A conversation in which nobody says a word for so long, and the dialer's answer to its end. */
  async function silent(
    ms: number,
    machine: boolean | undefined,
    says: readonly string[] = [],
  ): Promise<ReturnType<typeof hold>> {
    const t = hold({ bus: { "dialer.hangUp": () => (machine === undefined ? {} : { machine }) } });
    await t.pass(0);
    for (const words of says) {
      t.events().prompt(words, true);
      await t.pass(0);
    }
    await t.pass(ms);
    t.events().closed();
    for (let i = 0; i < 10; i++) await t.pass(500);
    await t.session.ended;
    return t;
  }
  const asked = (t: ReturnType<typeof hold>): unknown => t.named("dialer.hangUp")[0]?.params["verdict"];

  test.each([
    [true, true],
    [false, false],
    [undefined, false],
  ])("is asked of the carrier before the attempt is settled: %p", async (machine, expected) => {
    const t = await silent(6000, machine);
    expect([asked(t), t.named("leads.settle")[0]?.params]).toMatchObject([true, { facts: { machine: expected } }]);
  });
  test("is not asked where a person answered twice, nor before a carrier can know", async () => {
    expect(asked(await silent(6000, true, ["Hello?", "Who is this?"]))).toBeUndefined();
    expect(asked(await silent(1000, true))).toBeUndefined();
  });
});
