import conversation from "../../../services/conversation/conversation.service.ts";
import type { VoicemailAction } from "../../../shared/contracts/records/configuration.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import { NODES } from "../../fixtures/flow-template.ts";
import type { ConversationWorld } from "../fixtures/conversation-world.ts";
import { opened, type Prepared } from "../fixtures/conversation-world.ts";
import { TurnsCaller } from "../fixtures/xml-caller.ts";
import { passUntil as stepUntil } from "../../fixtures/clock-steps.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ model, world, stage } = running));
beforeEach(() => {
  Object.assign(world, { machine: false, beep: false, tellsBeep: true, whileJoining: () => Promise.resolve() });
});

const MESSAGE = "Hello {{customer}}, please call us back.";
const SAID = "Hello Ada, please call us back.";
const prepare = (
  on: Stage,
  voicemail_action: VoicemailAction,
  provider: "PROVIDER_ONE" | "PROVIDER_TWO" = "PROVIDER_ONE",
): Promise<Prepared> => world.prepare(on, { voicemail_message: MESSAGE }, { voicemail_action, provider });
const tell = (p: Prepared, reason: "machine" | "beep" | "carrier_ended") =>
  stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason });
const LEFT = { machine: true, talk: { machine: true, message_left: true, ended_by: "agent", decided: null } };

describe("over a socket", () => {
  test("hangup: ended at once, nothing is left", async () => {
    const p = await prepare(stage, "hangup");
    const caller = await opened(p);
    await tell(p, "machine");
    await caller.over();
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({
      machine: true,
      talk: { message_left: false, ended_by: "agent" },
    });
    expect(caller.heard.join()).not.toContain(SAID);
  });
  test("continue: the conversation goes on to its outcome", async () => {
    const p = await prepare(stage, "continue");
    const caller = await opened(p);
    await tell(p, "machine");
    await tell(p, "beep");
    caller.speak("Yes.");
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({
      machine: false,
      talk: { decided: "confirmed", message_left: false },
    });
  });
  test("leave_message: silent from the verdict to the beep, then the message, not to be interrupted, and the end", async () => {
    const p = await prepare(stage, "leave_message");
    const caller = await opened(p);
    await tell(p, "machine");
    const asked = model.questions.length;
    caller.speak("You have reached Ada. Please leave a message.");
    const before = caller.heard.length;
    await tell(p, "beep");
    await caller.hears(SAID);
    await caller.over();
    expect(caller.heard.slice(before)).toEqual([SAID]);
    expect(caller.frames.find((f) => f.token === SAID)).toMatchObject({ last: true, interruptible: false });
    expect(model.questions.length).toBe(asked);
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts).toMatchObject(LEFT);
    expect(facts.talk?.transcription.at(-1)).toEqual({ role: "assistant", content: SAID });
    await world.hungUp(p.call_ref);
  });
  test("a verdict and a beep that came before media joined: only the message is heard", async () => {
    world.machine = true;
    world.beep = true;
    const p = await prepare(stage, "leave_message");
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    expect(caller.heard).toEqual([SAID]);
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject(LEFT);
  });
  test("told while the call is being handed over, or before the carrier is ready: neither is lost", async () => {
    const p = await prepare(stage, "leave_message");
    world.whileJoining = () => tell(p, "machine");
    const caller = await RelayCaller.connect(p.media_url);
    await until(
      "the call to be handed over",
      () => world.calls.some((c) => c.startsWith(`joined ${p.call_ref}`)) || undefined,
    );
    await tell(p, "beep");
    caller.setup();
    await caller.over();
    expect(caller.heard).toEqual([SAID]);
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject(LEFT);
  });
  test("a machine that hangs up before the beep: nothing is left", async () => {
    const p = await prepare(stage, "leave_message");
    const caller = await opened(p);
    await tell(p, "machine");
    caller.hangUp();
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({
      machine: true,
      talk: { message_left: false, ended_by: "customer" },
    });
  });
});

describe("by documents", () => {
  test("hangup: the next document ends the call", async () => {
    const p = await prepare(stage, "hangup", "PROVIDER_TWO");
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    await tell(p, "machine");
    expect(["hang_up", "nothing"]).toContain((await caller.says("You have reached")).next.kind);
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject({ machine: true, talk: { message_left: false } });
    await world.hungUp(p.call_ref);
  });
  test("continue: the conversation goes on to its outcome", async () => {
    const p = await prepare(stage, "continue", "PROVIDER_TWO");
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    await tell(p, "machine");
    expect((await caller.says("Yes.")).next).toEqual({ kind: "hang_up" });
    await tell(p, "carrier_ended");
    expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ decided: "confirmed", machine: false });
  });
  test("leave_message: the carrier is told to wait for the beep and to say it; its end is ours", async () => {
    const p = await prepare(stage, "leave_message", "PROVIDER_TWO");
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    await tell(p, "machine");
    const asked = model.questions.length;
    expect(await caller.says("You have reached Ada.")).toMatchObject({
      say: [],
      next: { kind: "message", message: SAID, patience_seconds: 30 },
    });
    expect(model.questions.length).toBe(asked);
    await tell(p, "carrier_ended");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts).toMatchObject(LEFT);
    expect(facts.talk?.user_turns).toBe(0);
    expect(facts.talk?.transcription.at(-1)).toEqual({ role: "assistant", content: SAID });
  });
  test("a verdict that came before the answer's document: it is the message", async () => {
    world.machine = true;
    const p = await prepare(stage, "leave_message", "PROVIDER_TWO");
    const caller = new TurnsCaller(stage.bus, p);
    expect((await caller.answer()).next.kind).toBe("message");
    await tell(p, "carrier_ended");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts).toMatchObject(LEFT);
    expect(facts.talk?.transcription).toEqual([{ role: "assistant", content: SAID }]);
  });
  test("a beep that is known: said at once", async () => {
    Object.assign(world, { machine: true, beep: true });
    const p = await prepare(stage, "leave_message", "PROVIDER_TWO");
    expect(await new TurnsCaller(stage.bus, p).answer()).toMatchObject({
      say: [{ text: SAID, interruptible: false }],
      next: { kind: "hang_up" },
    });
    await tell(p, "carrier_ended");
    expect((await world.settledOf(p.lead_id)).facts).toMatchObject(LEFT);
  });
});

describe("keys", () => {
  const menu = {
    nodes: NODES.map((n) =>
      n.name === "ask"
        ? {
            ...n,
            functions: [
              ...(n.functions ?? []),
              { name: "press", description: "Press it.", action: "send_digits" as const, digits: "{{desk}}" },
            ],
          }
        : n,
    ),
    greeting: "Is this the switchboard?",
  };
  const pressing = (): void => {
    model.reply = (q) => (q.messages.at(-1)?.role === "tool" ? { text: "Pressed." } : { calls: [{ name: "press" }] });
  };
  const payload = { desk: "9w12" };
  const ready = (provider: "PROVIDER_ONE" | "PROVIDER_TWO") => world.prepare(stage, menu, { provider, payload });
  test("over a socket: a frame of the carrier's", async () => {
    pressing();
    const p = await ready("PROVIDER_ONE");
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.hears("switchboard");
    caller.speak("Press nine.");
    await caller.hears("Pressed.");
    expect(caller.frames).toContainEqual({ type: "sendDigits", digits: "9w12" });
    expect(world.calls).not.toContain(`keys ${p.call_ref} 9w12`);
    caller.hangUp();
    await world.settledOf(p.lead_id);
  });
  test("by documents: the dialer is asked", async () => {
    pressing();
    const p = await ready("PROVIDER_TWO");
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    expect((await caller.says("Press nine.")).say[0]?.text).toBe("Pressed.");
    await until("the keys", () => world.calls.includes(`keys ${p.call_ref} 9w12`) || undefined);
    await tell(p, "carrier_ended");
    await world.settledOf(p.lead_id);
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

  test.each([
    [true, 29_000, 32_000],
    [false, 4500, 7000],
  ])("no beep comes, told of beeps %s: the message all the same", async (tellsBeep, least, most) => {
    world.tellsBeep = tellsBeep;
    const p = await prepare(still, "leave_message");
    const caller = await opened(p);
    await still.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "machine" });
    const since = clock.monotonicMs();
    await passUntil("the message", () => caller.heard.includes(SAID) || undefined);
    const waited = clock.monotonicMs() - since;
    expect([waited > least, waited < most]).toEqual([true, true]);
    expect((await passUntil("the end", () => world.settled.find((s) => s.lead_id === p.lead_id))).facts).toMatchObject(
      LEFT,
    );
  });
});
