import { jest } from "@jest/globals";
import { pino } from "pino";
import { textRelayPipeline } from "../../../services/conversation/pipelines/text-relay/text-relay-pipeline.ts";
import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { ConversationSession, type SessionDeps } from "../../../services/conversation/session/conversation-session.ts";
import { recoveredFacts } from "../../../services/conversation/session/conversation-settlement.ts";
import type { SessionDoc } from "../../../services/conversation/session/sessions.model.ts";
import type { SessionsRepository } from "../../../services/conversation/session/sessions.repository.ts";
import type { ChatModel } from "../../../services/conversation/providers/port.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Bus } from "../../../shared/bus/bus.ts";
import type { Log } from "../../../shared/process/log.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { fail } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
import { until } from "../../../local/harness/stage.ts";
import { testFlow, flowTemplate } from "../../fixtures/flow-template.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const LEAD = "2f5a2f3e-1c1b-4b8e-9d52-6f6f1f0d7a10";
const SECRET = { customer: "Zebulon", order: "Q-999", shop: "Northwind", desk: "+14155550199" };
const docOf = (over: Partial<SessionDoc> = {}): SessionDoc => ({
  _id: callRef(LEAD, 3),
  lead_id: LEAD,
  claim_no: 3,
  provider: "PROVIDER_ONE",
  template_id: "t",
  template_version: 1,
  payload: SECRET,
  max_call_seconds: 60,
  voicemail_action: "hangup",
  engine: "relay",
  carrier: "twilio",
  stream: null,
  record: false,
  state: "REDEEMED",
  token_expires_at: new Date(0),
  node_id: "n",
  call_id: null,
  talk: null,
  answered_at: null,
  ended_at: null,
  created_at: new Date(0),
  updated_at: new Date(0),
  purge_at: new Date(0),
  ...over,
});

/** A conversation on a fake leg, with a bus and a store the test looks into. */
function hold(
  options: {
    bus?: Record<string, (params: Record<string, unknown>) => unknown>;
    sessions?: Partial<SessionsRepository>;
    model?: ChatModel;
    env?: Record<string, string>;
    end?: () => void;
  } = {},
) {
  const lines: string[] = [];
  const log = pino(
    { level: "trace" },
    {
      write: (line: string) => {
        lines.push(line);
      },
    },
  ) as unknown as Log;
  const clock = virtualClock();
  const asked: { name: string; params: Record<string, unknown> }[] = [];
  const kept: { move: string; talk?: ConversationFacts }[] = [];
  const answers: Record<string, (params: Record<string, unknown>) => unknown> = {
    "leads.extend": () => ({ done: true }),
    "leads.settle": () => ({ done: true, status: "FINISHED", outcome: "x" }),
    ...options.bus,
  };
  const bus = {
    call: async (name: string, params: Record<string, unknown>) => {
      asked.push({ name, params });
      return answers[name]?.(params) ?? {};
    },
    emit: () => undefined,
    broadcast: () => undefined,
  } as unknown as Bus;
  const sessions = {
    progress: async (_id: string, known: { talk: ConversationFacts }) => {
      kept.push({ move: "progress", talk: known.talk });
    },
    ended: async (_id: string, known: { talk: ConversationFacts }) => {
      kept.push({ move: "ended", talk: known.talk });
    },
    close: async () => {
      kept.push({ move: "close" });
    },
    ...options.sessions,
  } as unknown as SessionsRepository;
  let events: TextLegEvents | null = null;
  const said: string[] = [];
  const leg: TextLeg = {
    listen: (e) => {
      events = e;
      e.ready("CA1");
    },
    say: (text) => said.push(text),
    end: options.end ?? (() => events?.closed()),
    close: () => events?.closed(),
  };
  const model = options.model ?? {
    answer: async (_r, { onText }) => {
      onText("Zebulon, is Q-999 fine?");
      return { text: "", calls: [], first_token_ms: 1, total_ms: 2, prompt_tokens: 3, completion_tokens: 4, tries: 1 };
    },
  };
  const leaving = new AbortController();
  const shop: SessionDeps = {
    bus,
    clock,
    log,
    sessions,
    evaluations: { settle: (_over, settle) => settle(null) },
    leaving: leaving.signal,
    web: async () => ({ ok: true, result: "" }),
    env: readEnv({ NODE_ENV: "test", ...options.env }),
  };
  const template = flowTemplate();
  const session = new ConversationSession(
    shop,
    docOf(),
    { template, flow: testFlow() },
    { at: clock.now(), voicemail: false, beep: false, signals_beep: true },
    (host) => textRelayPipeline(model, clock)(leg, host),
  );
  const pass = async (ms: number) => {
    await clock.advance(ms);
    for (let i = 0; i < 5; i++) await new Promise((r) => setImmediate(r));
  };
  const named = (name: string) => asked.filter((a) => a.name === name);
  return { session, leave: () => leaving.abort(), clock, lines, asked, kept, said, pass, named, events: () => events! };
}

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
  expect(t.named("leads.extend")[0]?.params).toEqual({ lead_id: LEAD, claim_no: 3, lease_seconds: 30 });
  // the dialer knows that the call is to end, so that is not owed again
  expect(t.named("leads.settle").at(-1)?.params).not.toHaveProperty("end_call");
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
    decided: "confirmed",
    ended_by: "agent",
    user_turns: 1,
    idle_out: false,
    time_limit: false,
    machine: false,
    message_left: false,
    transcription: [],
    node_traversal: ["ask"],
    variables: {},
    errors: [],
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
