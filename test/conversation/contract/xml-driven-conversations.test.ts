import conversation from "../../../services/conversation/conversation.service.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until as untilReal, type Stage } from "../../../local/harness/stage.ts";
import { NODES } from "../../fixtures/flow-template.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
import { obedient, type Prepared } from "../fixtures/conversation-world.ts";
import { TurnsCaller } from "../fixtures/xml-caller.ts";
import { skippingClock, untilOn } from "../../fixtures/skipping-clock.ts";
import { passUntil as stepUntil } from "../../fixtures/clock-steps.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

/** No document is late in it, however busy the machine is. */
const skipping = skippingClock();
const until = untilOn(skipping);
conversationStage((running) => ({ model, world, stage } = running), skipping);

const prepare = (
  on: Stage,
  ...[template, order]: [Parameters<ConversationWorld["prepare"]>[1]?, Parameters<ConversationWorld["prepare"]>[2]?]
): Promise<Prepared> => world.prepare(on, template, { provider: "PROVIDER_TWO", ...order });
const over = (p: Prepared): Promise<unknown> =>
  stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "carrier_ended" });

describe("an XML-driven conversation", () => {
  test("to its outcome: greeting and question at the answer, the last words with the hang-up, one settle", async () => {
    const p = await prepare(stage);
    const caller = new TurnsCaller(stage.bus, p);
    expect(await caller.answer()).toEqual({
      turn: 1,
      say: [
        { text: "Good day from Northwind.", interruptible: true },
        { text: "Ada, do you confirm order A-17?", interruptible: true },
      ],
      next: { kind: "listen", seconds: 5, keys_only: false },
      language: "en-US",
      voice: null,
    });
    expect((await caller.says("Who is this?")).say).toEqual([
      { text: "I am Mia of Northwind. Do you confirm order A-17?", interruptible: true },
    ]);
    expect(await caller.says("Yes, please.")).toMatchObject({
      say: [{ text: "Thank you, Ada. Goodbye!", interruptible: false }],
      next: { kind: "hang_up" },
    });
    await over(p);
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts).toMatchObject({
      ended: "completed",
      call_id: "req-1",
      answered_at: "2026-11-21T10:00:00.000Z",
      machine: false,
    });
    expect(facts.talk).toMatchObject({
      decided: "confirmed",
      ended_by: "agent",
      user_turns: 2,
      node_traversal: ["ask", "confirmed"],
      errors: [],
    });
    expect(facts.talk?.transcription.map((l) => l.role)).toEqual([
      "assistant",
      "assistant",
      "user",
      "assistant",
      "user",
      "assistant",
    ]);
    await world.hungUp(p.call_ref);
    expect(world.calls.filter((c) => c === `joined ${p.call_ref} services`).length).toBe(1);
    expect(world.settled.filter((s) => s.lead_id === p.lead_id).length).toBe(1);
    expect((await caller.says("Hello?")).next).toEqual({ kind: "nothing" });
  });
  test("a key confirms; a node that collects gathers them to one entry", async () => {
    const collecting = NODES.map((n) => (n.name === "ask" ? { ...n, collect: "dtmf" as const } : n));
    const p = await prepare(stage, { nodes: collecting });
    const caller = new TurnsCaller(stage.bus, p);
    expect((await caller.answer()).next).toMatchObject({ keys_only: true });
    await caller.keys("42");
    expect((await caller.keys("1")).next).toEqual({ kind: "hang_up" });
    await over(p);
    expect(
      (await world.settledOf(p.lead_id)).facts.talk?.transcription
        .filter((l) => l.role === "user")
        .map((l) => l.content),
    ).toEqual(["[keypad] 42", "[keypad] 1"]);
  });
  test("silence: asked twice, then a goodbye", async () => {
    const p = await prepare(stage);
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    for (const _ of [1, 2])
      expect((await caller.says(null)).say).toEqual([{ text: "Are you still there?", interruptible: true }]);
    expect(await caller.says(null)).toMatchObject({
      say: [{ text: "I can't hear you, so I will end the call now. Goodbye!" }],
      next: { kind: "hang_up" },
    });
    await over(p);
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({
      ended_by: "timeout",
      idle_out: true,
      user_turns: 0,
    });
  });
  test("a carrier's retry, of the answer and of a turn, gets the same document and is no second turn", async () => {
    const p = await prepare(stage);
    const caller = new TurnsCaller(stage.bus, p);
    const [a, b] = await Promise.all([caller.answer(), caller.answer()]);
    expect(a).toEqual(b);
    expect(await caller.ask({ token: null })).toEqual(a);
    const asked = model.questions.length;
    const both = await Promise.all([
      caller.ask({ token: null, heard: "Who is this?", follows: 1 }),
      caller.ask({ token: null, heard: "Who is this?", follows: 1 }),
    ]);
    expect(both[0]).toEqual(both[1]);
    expect(await caller.ask({ token: null, heard: "Who is this?", follows: 1 })).toEqual(both[0]);
    expect(model.questions.length - asked).toBe(1);
    await over(p);
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "customer", user_turns: 1 });
  });
  test("a transfer: the words before it are heard, then the document changes nothing", async () => {
    const p = await prepare(stage);
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    expect(await caller.says("A person, please.")).toMatchObject({
      say: [{ text: "I put you through." }],
      next: { kind: "again" },
    });
    expect((await caller.says(null)).next).toEqual({ kind: "nothing" });
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "agent", decided: "transferred" });
    expect(world.calls).toContain(`transfer ${p.call_ref} +14155550100`);
    expect(world.calls).not.toContain(`hangUp ${p.call_ref}`);
  });
  test("the customer hangs up while the model thinks", async () => {
    const p = await prepare(stage);
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    model.reply = () => ({ hang: true });
    const waiting = caller.says("Yes.");
    await until("the question", () => model.questions.at(-1)?.messages.at(-1)?.content === "Yes." || undefined);
    await over(p);
    expect(["hang_up", "nothing"]).toContain((await waiting).next.kind);
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "customer", user_turns: 1 });
  });
});

describe("who is let in", () => {
  test("a token works once, for its call and its provider; unknown calls change nothing", async () => {
    const [p, other] = [await prepare(stage), await prepare(stage)];
    const caller = new TurnsCaller(stage.bus, p);
    await expect(caller.ask({ token: "0".repeat(32) })).rejects.toMatchObject({ type: "UNAUTHENTICATED" });
    await expect(caller.ask({ provider: "PROVIDER_ONE" })).rejects.toMatchObject({ type: "UNAUTHENTICATED" });
    await expect(caller.ask({ token: other.token })).rejects.toMatchObject({ type: "UNAUTHENTICATED" });
    expect((await caller.ask({ token: null, heard: "Hello?" })).next).toEqual({ kind: "nothing" });
    await caller.answer();
    await over(p);
    await world.settledOf(p.lead_id);
    await world.hungUp(p.call_ref);
    await until("the talk to be let go", async () =>
      caller.answer().then(
        () => undefined,
        (error: { type?: string }) => error.type,
      ),
    );
    const second = new TurnsCaller(stage.bus, other);
    await second.answer();
    await over(other);
    await world.settledOf(other.lead_id);
  });
  test("an attempt that is over is hung up", async () => {
    const p = await prepare(stage);
    world.go = false;
    expect((await new TurnsCaller(stage.bus, p).answer()).next).toEqual({ kind: "hang_up" });
    world.go = true;
    expect(world.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
});

describe("on a clock of its own", () => {
  let clock: VirtualClock;
  let still: Stage;
  const STEP_MS = 250;
  const passUntil = <T>(what: string, ask: () => T | undefined): Promise<T> => stepUntil(clock, STEP_MS, what, ask);

  beforeAll(async () => {
    clock = virtualClock();
    still = await setStage({
      services: [conversation, ...world.services],
      clock,
      env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", LEASE_SECONDS: "300" },
    });
  });
  afterAll(async () => {
    await Promise.all([still?.stop(), passUntil("the end", () => true)]);
  });
  const settled = (p: Prepared) =>
    passUntil("the talk to be settled", () => world.settled.find((s) => s.lead_id === p.lead_id));

  test("a model that is slow: asked again after 8 s, answered when it has given up, and the conversation goes on", async () => {
    const p = await prepare(still);
    const caller = new TurnsCaller(still.bus, p);
    await caller.answer();
    model.reply = () => ({ hang: true });
    let reply: string | null = null;
    const answered = (async (): Promise<void> => {
      reply = (await caller.through(caller.says("Yes."))).say[0]?.text ?? "";
    })();
    expect(await passUntil("an answer", () => reply ?? undefined)).toMatch(/say that again/);
    await answered;
    expect(caller.replies.filter((r) => r.next.kind === "again").length).toBeGreaterThan(0);
    model.reply = obedient;
    expect((await caller.says("Yes.")).next).toEqual({ kind: "hang_up" });
    const { facts } = await settled(p);
    expect(facts.talk).toMatchObject({ decided: "confirmed", errors: [{ code: "MODEL_TIMEOUT", node: "ask" }] });
  });
  test("input that comes while we speak cuts the transcript to what was heard", async () => {
    const p = await prepare(still);
    const caller = new TurnsCaller(still.bus, p);
    await caller.answer();
    await clock.advance(9000); // in silence, as long as it should take: the carrier's time is ours
    await caller.says(null);
    await clock.advance(10_000);
    await caller.says("Who is this?");
    await clock.advance(2700); // "Yes." began after 1.4 s
    await caller.says("Yes.");
    const { facts } = await settled(p);
    expect(facts.talk?.transcription.slice(-3, -1)).toEqual([
      { role: "assistant", content: "I am Mia of" },
      { role: "user", content: "Yes." },
    ]);
  });
  test("a carrier that asks no more is let go, its conversation settled", async () => {
    const p = await prepare(still, {}, { max_call_seconds: 600 });
    await new TurnsCaller(still.bus, p).answer();
    expect((await settled(p)).facts.talk).toMatchObject({ ended_by: "customer" });
  });
  test("the maximal length: the goodbye goes out with the next document", async () => {
    const p = await prepare(still, {}, { max_call_seconds: 3 });
    const caller = new TurnsCaller(still.bus, p);
    await caller.answer();
    await clock.advance(3000);
    expect(await caller.says(null)).toMatchObject({
      say: [{ text: expect.stringMatching(/I have to end the call now/) }],
      next: { kind: "hang_up" },
    });
    expect((await settled(p)).facts.talk).toMatchObject({ ended_by: "timeout", time_limit: true });
  });
});

test("a node that goes down ends its conversations by documents, with the facts settled", async () => {
  const leaving = await setStage({
    services: [conversation, ...world.services],
    env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", SHUTDOWN_GRACE_SECONDS: "1" },
  });
  const p = await prepare(leaving);
  const caller = new TurnsCaller(leaving.bus, p);
  await caller.answer();
  model.reply = () => ({ hang: true });
  const waiting = caller.says("Yes.");
  await untilReal("the question", () => model.questions.at(-1)?.messages.at(-1)?.content === "Yes." || undefined);
  const stopping = leaving.broker.stop();
  expect((await waiting).next).toEqual({ kind: "hang_up" });
  await stopping;
  await leaving.stop();
  expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({
    ended_by: "error",
    errors: [{ code: "SHUTDOWN", node: "ask" }],
  });
});
