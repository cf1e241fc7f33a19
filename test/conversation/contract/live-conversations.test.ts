import conversation from "../../../services/conversation/conversation.service.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
import { obedient, opened, refused } from "../fixtures/conversation-world.ts";
import { passUntil as stepUntil } from "../../fixtures/clock-steps.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ model, world, stage } = running));

describe("conversations", () => {
  test("confirm: greeting and question, the outcome, the facts, one settle, one hang-up", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("Yes, please.");
    await caller.hears("Thank you, Ada. Goodbye!");
    await caller.over();
    const { facts, claim_no } = await world.settledOf(p.lead_id);
    await world.hungUp(p.call_ref);
    expect(claim_no).toBe(1);
    expect(facts).toMatchObject({
      ended: "completed",
      call_id: "CA0123456789",
      answered_at: "2026-11-21T10:00:00.000Z",
      machine: false,
    });
    expect(facts.talk).toMatchObject({
      decided: "confirmed",
      ended_by: "agent",
      user_turns: 1,
      node_traversal: ["ask", "confirmed"],
      errors: [],
    });
    expect(facts.talk?.transcription).toEqual([
      { role: "assistant", content: "Good day from Northwind." },
      { role: "assistant", content: "Ada, do you confirm order A-17?" },
      { role: "user", content: "Yes, please." },
      { role: "assistant", content: "Thank you, Ada. Goodbye!" },
    ]);
    expect(world.calls).toContain(`joined ${p.call_ref} services`);
    expect(caller.frames.find((f) => f.token?.startsWith("Thank you"))).toMatchObject({
      last: true,
      interruptible: false,
    });
    expect(caller.frames.filter((f) => f.type === "text" && f.token !== "" && f.last === false).length).toBeGreaterThan(
      3,
    );
    expect(caller.frames.at(-1)).toEqual({ type: "end" });
    expect(world.settled.filter((s) => s.lead_id === p.lead_id).length).toBe(1);
    expect(world.extends).toBeGreaterThan(0);
  });
  test("reschedule through two nodes, the last word is the model's", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("Another day, please.");
    await caller.hears("Which day");
    caller.speak("Friday.");
    await caller.hears("see you Friday");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({
      decided: "rescheduled",
      node_traversal: ["ask", "ask_day", "moved"],
      variables: { new_day: "Friday", asked: "yes, Ada" },
    });
  });
  test("a question is answered, a key confirms", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("Who is this?");
    await caller.hears("I am Mia");
    caller.press("1");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({ decided: "confirmed", user_turns: 2 });
    expect(facts.talk?.transcription).toContainEqual({ role: "user", content: "[keypad] 1" });
  });
  test("an interruption cuts the transcript to the words heard and lets the model's request go", async () => {
    const p = await world.prepare(stage);
    const before = model.aborted();
    model.reply = (q) => (q.messages.length > 3 ? obedient(q) : { text: "Ada, do you confirm order ", hang: true });
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await until("the first words", () => caller.frames.some((f) => f.token?.includes("order")) || undefined);
    caller.interrupt("Ada, do you");
    caller.speak("Yes.");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts.talk?.transcription.slice(0, 3)).toEqual([
      { role: "assistant", content: "Good day from Northwind." },
      { role: "assistant", content: "Ada, do you" },
      { role: "user", content: "Yes." },
    ]);
    await until("the request to be let go", () => model.aborted() > before || undefined);
  });
  test("the customer hangs up", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.hangUp();
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({
      ended_by: "customer",
      decided: null,
      user_turns: 0,
    });
    await world.hungUp(p.call_ref);
  });
  test("a model that fails: an apology, then a goodbye; the errors are kept", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    model.reply = () => ({ status: 500 });
    caller.speak("Yes.");
    await caller.hears("could you say that again");
    caller.speak("Yes!");
    await caller.hears("something went wrong");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({
      ended_by: "error",
      errors: [
        { code: "MODEL_ERROR", node: "ask" },
        { code: "MODEL_ERROR", node: "ask" },
      ],
    });
  });
  test("a transfer hands the call over: nothing is hung up, the socket closing is part of it", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("A person, please.");
    await until("the transfer", () => world.calls.includes(`transfer ${p.call_ref} +14155550100`) || undefined);
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "agent", decided: "transferred" });
    await caller.over();
    expect(caller.frames.some((f) => f.type === "end")).toBe(false);
    await until(
      "the session to be closed",
      async () => (await stage.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk ?? undefined,
    );
    expect(world.calls).not.toContain(`hangUp ${p.call_ref}`);
  });
  test("a transfer that fails: the conversation goes on", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    world.transferFails = true;
    model.reply = (q) => (q.messages.at(-1)?.role === "tool" ? { text: "I am sorry, nobody is free." } : obedient(q));
    caller.speak("A person, please.");
    await caller.hears("nobody is free");
    world.transferFails = false;
    caller.hangUp();
    expect((await world.settledOf(p.lead_id)).facts.talk?.errors).toContainEqual({
      code: "TRANSFER_FAILED",
      node: "ask",
      detail: "CALL_REFUSED",
    });
  });
  test("a machine, told from outside: hung up at once", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    await stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "machine" });
    await caller.over();
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({
      machine: true,
      talk: { machine: true, ended_by: "agent" },
    });
    expect(await stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "machine" })).toEqual({});
  });
  test("a machine, told while the call is still being handed over: not lost, hung up at once", async () => {
    const p = await world.prepare(stage);
    world.whileJoining = (call_ref) => stage.bus.call("conversation.stop", { call_ref, reason: "machine" });
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    world.whileJoining = () => Promise.resolve();
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({
      machine: true,
      talk: { machine: true, ended_by: "agent" },
    });
  });
  test("frames that are none, unknown ones and a frame too large do no harm", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.raw("{nonsense");
    caller.raw(Buffer.from([1, 2, 3]));
    caller.send({ type: "weather", value: "fine" });
    caller.send({ type: "error", description: "64107" });
    caller.speak("Hm.");
    await caller.hears("I see.");
    caller.raw("x".repeat(70_000));
    expect((await world.settledOf(p.lead_id)).facts.talk?.ended_by).toBe("customer");
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

  test("silence: asked twice, then a goodbye", async () => {
    const p = await world.prepare(still);
    const caller = await opened(p);
    const since = clock.monotonicMs();
    const { facts } = await passUntil("the silent talk to end", () =>
      world.settled.find((s) => s.lead_id === p.lead_id),
    );
    expect(caller.heard.slice(2)).toEqual([
      "Are you still there?",
      "Are you still there?",
      "I can't hear you, so I will end the call now. Goodbye!",
    ]);
    expect(facts.talk).toMatchObject({ ended_by: "timeout", idle_out: true, user_turns: 0 });
    expect(clock.monotonicMs() - since).toBeGreaterThan(12_000);
  });
  test("the maximal length: a short goodbye", async () => {
    const p = await world.prepare(still, {}, { max_call_seconds: 3 });
    const caller = await opened(p);
    const { facts } = await passUntil("the talk to run out", () => world.settled.find((s) => s.lead_id === p.lead_id));
    expect(caller.heard.at(-1)).toMatch(/I have to end the call now/);
    expect(facts.talk).toMatchObject({ ended_by: "timeout", time_limit: true, idle_out: false });
  });
  test("a silent model is asked twice; the customer hears an apology", async () => {
    const p = await world.prepare(still);
    const caller = await opened(p);
    model.reply = () => ({ hang: true });
    const asked = model.questions.length;
    caller.speak("Yes.");
    await passUntil("the apology", () => caller.heard.some((u) => u.includes("say that again")) || undefined);
    expect(model.questions.length - asked).toBe(2);
    caller.hangUp();
    const { facts } = await passUntil("the end", () => world.settled.find((s) => s.lead_id === p.lead_id));
    expect(facts.talk?.errors).toEqual([{ code: "MODEL_TIMEOUT", node: "ask" }]);
  });
  test("a token expires; a carrier that never gets ready is let go", async () => {
    const p = await world.prepare(still, {}, { ttl_seconds: 5 });
    await clock.advance(6000);
    expect(await refused(p.media_url)).toBe("answered 401");
    const mute = await world.prepare(still);
    await RelayCaller.connect(mute.media_url);
    const { facts } = await passUntil("the mute leg to be let go", () =>
      world.settled.find((s) => s.lead_id === mute.lead_id),
    );
    expect(facts.talk).toMatchObject({ ended_by: "error", errors: [{ code: "MEDIA_FAILED", node: "" }] });
  });
});
