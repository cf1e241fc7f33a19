import { pino } from "pino";
import { textRelayPipeline } from "../../../services/conversation/pipelines/text-relay/text-relay-pipeline.ts";
import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { standstillWatch } from "../../../services/conversation/session/standstill-watch.ts";
import { ConversationSession, type SessionDeps } from "../../../services/conversation/session/conversation-session.ts";
import type { SessionDoc } from "../../../services/conversation/session/sessions.model.ts";
import type { SessionsRepository } from "../../../services/conversation/session/sessions.repository.ts";
import type { ChatModel } from "../../../services/conversation/providers/port.ts";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { Bus } from "../../../shared/bus/bus.ts";
import type { Log } from "../../../shared/process/log.ts";
import { readEnv } from "../../../shared/process/env.ts";
import { fail } from "../../../shared/errors.ts";
import { callRef } from "../../../shared/ids.ts";
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
    standstill: standstillWatch(clock),
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
