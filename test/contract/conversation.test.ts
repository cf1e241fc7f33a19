import { randomUUID } from "node:crypto";
import conversation from "../../services/conversation/conversation.service.ts";
import type { AttemptFacts } from "../../shared/contracts/attempt.ts";
import type { TemplateRecord } from "../../shared/contracts/template.ts";
import { fail } from "../../shared/errors.ts";
import { callRef } from "../../shared/ids.ts";
import { RelayCaller } from "../support/relay-caller.ts";
import { startScriptedModel, type Question, type Reply, type ScriptedModel } from "../support/scripted-model.ts";
import { setStage, standIn, until, type Stage } from "../support/stage.ts";
import { PAYLOAD, talkTemplate } from "../support/talk-template.ts";
import { virtualClock, type VirtualClock } from "../support/virtual-clock.ts";

interface Settled { lead_id: string; claim_no: number; facts: AttemptFacts }

/** The services around the conversation, as the test wants them. */
class World {
  readonly settled: Settled[] = [];
  readonly calls: string[] = [];
  readonly paths: string[] = [];
  extends = 0;
  go = true;
  done = true;
  settleFails = 0;
  joinFails = 0;
  verifyFails = false;
  transferFails = false;
  templates = new Map<string, TemplateRecord>();

  readonly services = [
    standIn("config", { templateVersion: ({ template_id }) => this.templates.get(template_id) ?? fail("TEMPLATE_NOT_FOUND", "There is no such template version.") }),
    standIn("dialer", {
      verifyUpgrade: ({ path, headers }) => {
        if (this.verifyFails) fail("TIMEOUT", "The dialer is slow.");
        this.paths.push(path);
        return { valid: headers["x-twilio-signature"] === "good" };
      },
      joined: ({ call_ref, node_id }) => {
        if (this.joinFails-- > 0) fail("DEPENDENCY_DOWN", "The store is down.");
        this.calls.push(`joined ${call_ref} ${node_id}`);
        return { go: this.go, reason: null, answered_at: "2026-11-21T10:00:00.000Z" };
      },
      hangUp: ({ call_ref }) => { this.calls.push(`hangUp ${call_ref}`); return {}; },
      transfer: ({ call_ref, to }) => {
        if (this.transferFails) fail("CALL_REFUSED", "The carrier refused the transfer.");
        this.calls.push(`transfer ${call_ref} ${to}`);
        return {};
      },
    }),
    standIn("leads", {
      extend: () => { this.extends++; return { done: this.done }; },
      settle: (settled) => {
        if (this.settleFails-- > 0) fail("STORE_UNAVAILABLE", "The store is down.");
        this.settled.push(settled);
        return { done: true, status: "FINISHED", outcome: "x" };
      },
    }),
  ];
}

let model: ScriptedModel;
let world: World;
let stage: Stage;

/** An obedient little model: it understands a few words of the customer. */
const obedient = (q: Question): Reply => {
  const last = q.messages.at(-1);
  const can = (name: string) => q.tools?.some((t) => t.function.name === name);
  if (last?.role !== "user") return { text: /Ask which day/.test(q.messages[0]?.content ?? "") ? "Which day suits you?" : q.tools ? "Ada, do you confirm order A-17?" : "Thank you, see you Friday. Goodbye!" };
  const words = last.content ?? "";
  if (/^\[keypad\] 1|yes/i.test(words) && can("confirm")) return { calls: [{ name: "confirm" }] };
  if (/another day/i.test(words)) return { calls: [{ name: "another_day" }] };
  if (/friday/i.test(words) && can("set_day")) return { calls: [{ name: "set_day", arguments: { day: "Friday" } }] };
  if (/person/i.test(words)) return { text: "I put you through.", calls: [{ name: "agent" }] };
  if (/who/i.test(words)) return { text: "I am Mia of Northwind. Do you confirm order A-17?" };
  return { text: "I see. Do you confirm?" };
};

interface Prepared { call_ref: string; lead_id: string; media_url: string }

async function prepare(on = stage, template: Partial<TemplateRecord> = {}, order: { max_call_seconds?: number; ttl_seconds?: number; payload?: Record<string, unknown> } = {}): Promise<Prepared> {
  const template_id = randomUUID();
  world.templates.set(template_id, talkTemplate({ id: template_id, ...template }));
  const lead_id = randomUUID();
  const call_ref = callRef(lead_id, 1);
  const { media_url } = await on.bus.call("conversation.prepare", { call_ref, lead_id, claim_no: 1, provider: "PROVIDER_ONE", template_id, template_version: 1, payload: PAYLOAD, max_call_seconds: 60, ttl_seconds: 60, ...order });
  return { call_ref, lead_id, media_url };
}

const settledOf = (lead_id: string): Promise<Settled> => until("the talk to be settled", () => world.settled.find((s) => s.lead_id === lead_id));
const hungUp = (call_ref: string): Promise<true> => until("the carrier's call to be hung up", () => world.calls.includes(`hangUp ${call_ref}`) || undefined);
const refused = (url: string, headers?: Record<string, string>): Promise<string> => RelayCaller.connect(url, headers).then(() => "let in", (error: Error) => error.message);

/** A caller that has heard the opening. */
async function opened(p: Prepared): Promise<RelayCaller> {
  const caller = await RelayCaller.connect(p.media_url);
  caller.setup();
  await caller.hears("do you confirm");
  return caller;
}

beforeAll(async () => {
  model = await startScriptedModel();
  world = new World();
  stage = await setStage({ services: [conversation, ...world.services], env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", OPENAI_API_KEY: "k", LEASE_SECONDS: "5", SHUTDOWN_GRACE_SECONDS: "6" } });
}, 30_000);
beforeEach(() => { model.reply = obedient; });
afterAll(async () => { await stage?.stop(); await model?.close(); }, 30_000);

describe("preparing", () => {
  test("gives a one-use address with 128 random bits, language and voice", async () => {
    const p = await prepare(stage);
    expect(p.media_url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\/media\/PROVIDER_ONE\/[0-9a-f]{32}$/);
    const again = await prepare(stage, { language: "de-DE", voice: "v" });
    expect(again.media_url).not.toBe(p.media_url);
  });
  test("an unknown template and one whose functions are broken are refused", async () => {
    await expect(stage.bus.call("conversation.prepare", { call_ref: callRef(randomUUID(), 1), lead_id: randomUUID(), claim_no: 1, provider: "PROVIDER_ONE", template_id: randomUUID(), template_version: 1, payload: {}, max_call_seconds: 60, ttl_seconds: 60 })).rejects.toMatchObject({ type: "TEMPLATE_NOT_FOUND" });
    await expect(prepare(stage, { global_functions: [{ name: "f", description: "d", parameters: { properties: { a: { type: "wat" } } } }] })).rejects.toMatchObject({ type: "TEMPLATE_INVALID" });
  });
  test("preparing again voids the address before", async () => {
    const template_id = randomUUID();
    world.templates.set(template_id, talkTemplate({ id: template_id }));
    const lead_id = randomUUID();
    const order = { call_ref: callRef(lead_id, 1), lead_id, claim_no: 1, provider: "PROVIDER_ONE", template_id, template_version: 1, payload: PAYLOAD, max_call_seconds: 60, ttl_seconds: 60 } as const;
    const first = await stage.bus.call("conversation.prepare", order);
    const second = await stage.bus.call("conversation.prepare", order);
    expect(await refused(first.media_url)).toBe("answered 401");
    const caller = await RelayCaller.connect(second.media_url);
    caller.setup();
    await caller.hears("do you confirm");
    await expect(stage.bus.call("conversation.prepare", order)).rejects.toMatchObject({ type: "BUSY" });
    caller.hangUp();
    await settledOf(lead_id);
  });
});

describe("who is let in", () => {
  test("a token works once; the signature is checked over the path as asked", async () => {
    const p = await prepare();
    const caller = await opened(p);
    expect(world.paths).toContain(new URL(p.media_url).pathname);
    expect(await refused(p.media_url)).toBe("answered 401");
    caller.hangUp();
    await settledOf(p.lead_id);
    expect(await refused(p.media_url)).toBe("answered 401");
  });
  test("a wrong signature is refused and does not use the token up", async () => {
    const p = await prepare();
    expect(await refused(p.media_url, { "x-twilio-signature": "forged" })).toBe("answered 401");
    expect(await refused(p.media_url, {})).toBe("answered 401");
    const caller = await opened(p);
    caller.hangUp();
    await settledOf(p.lead_id);
  });
  test("two sockets with one token at once: one is let in", async () => {
    const p = await prepare();
    const both = await Promise.all([RelayCaller.connect(p.media_url).catch((e: Error) => e.message), RelayCaller.connect(p.media_url).catch((e: Error) => e.message)]);
    expect(both.filter((b) => b === "answered 401").length).toBe(1);
    for (const b of both) if (typeof b !== "string") b.hangUp();
    await settledOf(p.lead_id);
  });
  test("unknown tokens, other providers, other paths; a check that can't be made is 503", async () => {
    const p = await prepare();
    expect(await refused(p.media_url.slice(0, -4) + "0000")).toBe("answered 401");
    expect(await refused(p.media_url.replace("PROVIDER_ONE", "PROVIDER_TWO"))).toBe("answered 401");
    expect(await refused(p.media_url.replace("/media/", "/audio/"))).toBe("answered 404");
    world.verifyFails = true;
    expect(await refused(p.media_url)).toBe("answered 503");
    world.verifyFails = false;
  });
  test("an attempt that is over is hung up politely, and nothing else happens", async () => {
    const p = await prepare();
    world.go = false;
    const before = world.extends;
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    world.go = true;
    expect(caller.frames).toEqual([{ type: "end" }]);
    expect(world.extends).toBe(before);
    expect(world.calls).not.toContain(`hangUp ${p.call_ref}`);
    expect(world.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
  test("a dialer that is down for a moment is asked again", async () => {
    const p = await prepare();
    world.joinFails = 1;
    const caller = await opened(p);
    caller.hangUp();
    await settledOf(p.lead_id);
  });
});

describe("talks", () => {
  test("confirm: greeting and question, the outcome, the facts, one settle, one hang-up", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("Yes, please.");
    await caller.hears("Thank you, Ada. Goodbye!");
    await caller.over();
    const { facts, claim_no } = await settledOf(p.lead_id);
    await hungUp(p.call_ref);
    expect(claim_no).toBe(1);
    expect(facts).toMatchObject({ ended: "completed", call_id: "CA0123456789", answered_at: "2026-11-21T10:00:00.000Z", machine: false });
    expect(facts.talk).toMatchObject({ decided: "confirmed", ended_by: "agent", user_turns: 1, node_traversal: ["ask", "confirmed"], errors: [] });
    expect(facts.talk?.transcription).toEqual([
      { role: "assistant", content: "Good day from Northwind." }, { role: "assistant", content: "Ada, do you confirm order A-17?" },
      { role: "user", content: "Yes, please." }, { role: "assistant", content: "Thank you, Ada. Goodbye!" }]);
    expect(world.calls).toContain(`joined ${p.call_ref} services`);
    expect(caller.frames.find((f) => f.token?.startsWith("Thank you"))).toMatchObject({ last: true, interruptible: false });
    expect(caller.frames.filter((f) => f.type === "text" && f.token !== "" && f.last === false).length).toBeGreaterThan(3);
    expect(caller.frames.at(-1)).toEqual({ type: "end" });
    expect(world.settled.filter((s) => s.lead_id === p.lead_id).length).toBe(1);
    expect(world.extends).toBeGreaterThan(0);
  });
  test("reschedule through two nodes, the last word is the model's", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("Another day, please.");
    await caller.hears("Which day");
    caller.speak("Friday.");
    await caller.hears("see you Friday");
    const { facts } = await settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({ decided: "rescheduled", node_traversal: ["ask", "ask_day", "moved"], variables: { new_day: "Friday", asked: "yes, Ada" } });
  });
  test("a question is answered, a key confirms", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("Who is this?");
    await caller.hears("I am Mia");
    caller.press("1");
    const { facts } = await settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({ decided: "confirmed", user_turns: 2 });
    expect(facts.talk?.transcription).toContainEqual({ role: "user", content: "[keypad] 1" });
  });
  test("an interruption cuts the transcript to the words heard and lets the model's request go", async () => {
    const p = await prepare();
    const before = model.aborted();
    model.reply = (q) => q.messages.length > 2 ? obedient(q) : { text: "Ada, do you confirm order ", hang: true };
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await until("the first words", () => caller.frames.some((f) => f.token?.includes("order")) || undefined);
    caller.interrupt("Ada, do you");
    caller.speak("Yes.");
    const { facts } = await settledOf(p.lead_id);
    expect(facts.talk?.transcription.slice(0, 3)).toEqual([{ role: "assistant", content: "Good day from Northwind." }, { role: "assistant", content: "Ada, do you" }, { role: "user", content: "Yes." }]);
    await until("the request to be let go", () => model.aborted() > before || undefined);
  });
  test("the customer hangs up", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.hangUp();
    expect((await settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "customer", decided: null, user_turns: 0 });
    await hungUp(p.call_ref);
  });
  test("a model that fails: an apology, then a goodbye; the errors are kept", async () => {
    const p = await prepare();
    const caller = await opened(p);
    model.reply = () => ({ status: 500 });
    caller.speak("Yes.");
    await caller.hears("could you say that again");
    caller.speak("Yes!");
    await caller.hears("something went wrong");
    const { facts } = await settledOf(p.lead_id);
    expect(facts.talk).toMatchObject({ ended_by: "error", errors: [{ code: "MODEL_ERROR", node: "ask" }, { code: "MODEL_ERROR", node: "ask" }] });
  });
  test("a transfer hands the call over: nothing is hung up, the socket closing is part of it", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("A person, please.");
    await until("the transfer", () => world.calls.includes(`transfer ${p.call_ref} +14155550100`) || undefined);
    expect((await settledOf(p.lead_id)).facts.talk).toMatchObject({ ended_by: "agent", decided: "transferred" });
    await caller.over();
    expect(caller.frames.some((f) => f.type === "end")).toBe(false);
    await until("the session to be closed", async () => (await stage.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk ?? undefined);
    expect(world.calls).not.toContain(`hangUp ${p.call_ref}`);
  });
  test("a transfer that fails: the talk goes on", async () => {
    const p = await prepare();
    const caller = await opened(p);
    world.transferFails = true;
    model.reply = (q) => q.messages.at(-1)?.role === "tool" ? { text: "I am sorry, nobody is free." } : obedient(q);
    caller.speak("A person, please.");
    await caller.hears("nobody is free");
    world.transferFails = false;
    caller.hangUp();
    expect((await settledOf(p.lead_id)).facts.talk?.errors).toContainEqual({ code: "TRANSFER_FAILED", node: "ask", detail: "CALL_REFUSED" });
  });
  test("a machine, told from outside: hung up at once", async () => {
    const p = await prepare();
    const caller = await opened(p);
    await stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "machine" });
    await caller.over();
    expect((await settledOf(p.lead_id)).facts).toMatchObject({ machine: true, talk: { machine: true, ended_by: "agent" } });
    expect(await stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "machine" })).toEqual({});
  });
  test("frames that are none, unknown ones and a frame too large do no harm", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.raw("{nonsense");
    caller.raw(Buffer.from([1, 2, 3]));
    caller.send({ type: "weather", value: "fine" });
    caller.send({ type: "error", description: "64107" });
    caller.speak("Hm.");
    await caller.hears("I see.");
    caller.raw("x".repeat(70_000));
    expect((await settledOf(p.lead_id)).facts.talk?.ended_by).toBe("customer");
  });
});

describe("the baton", () => {
  test("a lost lease ends the talk: hung up, not settled", async () => {
    world.done = false;
    const p = await prepare();
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    await hungUp(p.call_ref);
    world.done = true;
    expect(world.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
  test("a settle that fails is tried again; meanwhile the facts can be salvaged", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("Yes.");
    world.settleFails = 3;
    const talk = await until("the facts to be kept", async () => { const t = (await stage.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk; return t?.ended_by === "agent" ? t : undefined; });
    expect(talk.decided).toBe("confirmed");
    const { facts } = await settledOf(p.lead_id);
    expect(facts.talk).toEqual(talk);
    await hungUp(p.call_ref);
    expect(world.settled.filter((s) => s.lead_id === p.lead_id).length).toBe(1);
  });
  test("a talk's node dies: another one gives the partial transcript; nothing said gives null", async () => {
    const p = await prepare();
    const caller = await opened(p);
    caller.speak("Well.");
    await caller.hears("I see.");
    const other = await setStage({ services: [conversation, ...new World().services], env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", MONGODB_URI: stage.uri } });
    const salvage = async () => (await other.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk;
    const talk = await until("the transcript on the other node", async () => { const t = await salvage(); return (t?.transcription.length ?? 0) >= 4 ? t : undefined; });
    expect(talk).toMatchObject({ ended_by: "error", decided: null, user_turns: 1, node_traversal: ["ask"], errors: [{ code: "TALK_CUT_OFF", node: "ask" }] });
    expect(talk?.transcription.at(-1)).toEqual({ role: "assistant", content: "I see. Do you confirm?" });
    expect(await other.bus.call("conversation.salvage", { call_ref: callRef(randomUUID(), 1) })).toEqual({ talk: null });
    expect(await other.bus.call("conversation.salvage", { call_ref: (await prepare()).call_ref })).toEqual({ talk: null });
    await other.stop();
    caller.hangUp();
    await settledOf(p.lead_id);
  }, 20_000);
});

describe("on a clock of its own", () => {
  let clock: VirtualClock;
  let still: Stage;
  const PAUSE_MS = 5;
  /** Moves time on in steps until something is so, leaving room for the real sockets and store. */
  const passUntil = <T>(what: string, ask: () => T | undefined): Promise<T> => until(what, async () => { const found = ask(); if (found !== undefined) return found; await clock.advance(250); await new Promise((r) => setTimeout(r, PAUSE_MS)); return undefined; });

  beforeAll(async () => {
    clock = virtualClock();
    still = await setStage({ services: [conversation, ...world.services], clock, env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", LEASE_SECONDS: "300" } });
  }, 30_000);
  afterAll(async () => { await Promise.all([still?.stop(), passUntil("the end", () => true)]); });

  test("silence: asked twice, then a goodbye", async () => {
    const p = await prepare(still);
    const caller = await opened(p);
    const since = clock.monotonicMs();
    const { facts } = await passUntil("the silent talk to end", () => world.settled.find((s) => s.lead_id === p.lead_id));
    expect(caller.heard.slice(2)).toEqual(["Are you still there?", "Are you still there?", "I can't hear you, so I will end the call now. Goodbye!"]);
    expect(facts.talk).toMatchObject({ ended_by: "timeout", idle_out: true, user_turns: 0 });
    expect(clock.monotonicMs() - since).toBeGreaterThan(12_000);
  }, 20_000);
  test("the maximal length: a short goodbye", async () => {
    const p = await prepare(still, {}, { max_call_seconds: 3 });
    const caller = await opened(p);
    const { facts } = await passUntil("the talk to run out", () => world.settled.find((s) => s.lead_id === p.lead_id));
    expect(caller.heard.at(-1)).toMatch(/I have to end the call now/);
    expect(facts.talk).toMatchObject({ ended_by: "timeout", time_limit: true, idle_out: false });
  }, 20_000);
  test("a silent model is asked twice; the customer hears an apology", async () => {
    const p = await prepare(still);
    const caller = await opened(p);
    model.reply = () => ({ hang: true });
    const asked = model.questions.length;
    caller.speak("Yes.");
    await passUntil("the apology", () => caller.heard.some((u) => u.includes("say that again")) || undefined);
    expect(model.questions.length - asked).toBe(2);
    caller.hangUp();
    const { facts } = await passUntil("the end", () => world.settled.find((s) => s.lead_id === p.lead_id));
    expect(facts.talk?.errors).toEqual([{ code: "MODEL_TIMEOUT", node: "ask" }]);
  }, 20_000);
  test("a token expires; a carrier that never gets ready is let go", async () => {
    const p = await prepare(still, {}, { ttl_seconds: 5 });
    await clock.advance(6000);
    expect(await refused(p.media_url)).toBe("answered 401");
    const mute = await prepare(still);
    await RelayCaller.connect(mute.media_url);
    const { facts } = await passUntil("the mute leg to be let go", () => world.settled.find((s) => s.lead_id === mute.lead_id));
    expect(facts.talk).toMatchObject({ ended_by: "error", errors: [{ code: "MEDIA_FAILED", node: "" }] });
  }, 20_000);
});

test("at shutdown new sockets are refused and talks end politely, settled", async () => {
  const mine = await setStage({ services: [conversation, ...world.services], env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", SHUTDOWN_GRACE_SECONDS: "6" } });
  const p = await prepare(mine);
  const waiting = await prepare(mine);
  const caller = await opened(p);
  const stopping = mine.stop();
  expect(await until("new sockets to be refused", async () => { const said = await refused(waiting.media_url); return said === "answered 503" ? said : undefined; })).toBe("answered 503");
  await caller.hears("something went wrong on our side");
  const { facts } = await settledOf(p.lead_id);
  expect(facts.talk).toMatchObject({ ended_by: "error", errors: [{ code: "SHUTDOWN", node: "ask" }] });
  await stopping;
}, 20_000);
