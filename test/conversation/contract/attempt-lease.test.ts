import { randomUUID } from "node:crypto";
import conversation from "../../../services/conversation/conversation.service.ts";
import { callRef } from "../../../shared/ids.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import { opened, ConversationWorld } from "../fixtures/conversation-world.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;

conversationStage((running) => ({ model, world, stage } = running));

describe("the lease", () => {
  test("a lost lease ends the conversation: hung up, not settled", async () => {
    world.done = false;
    const p = await world.prepare(stage);
    const caller = await RelayCaller.connect(p.media_url);
    caller.setup();
    await caller.over();
    await world.hungUp(p.call_ref);
    world.done = true;
    expect(world.settled.some((s) => s.lead_id === p.lead_id)).toBe(false);
  });
  test("a settle that fails is tried again; meanwhile the facts can be salvaged", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("Yes.");
    world.settleFails = 3;
    const talk = await until("the facts to be kept", async () => {
      const t = (await stage.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk;
      return t?.ended_by === "agent" ? t : undefined;
    });
    expect(talk.decided).toBe("confirmed");
    const { facts } = await world.settledOf(p.lead_id);
    expect(facts.talk).toEqual(talk);
    await world.hungUp(p.call_ref);
    expect(world.settled.filter((s) => s.lead_id === p.lead_id).length).toBe(1);
  });
  test("a conversation's node dies: another one gives the partial transcript; nothing said gives null", async () => {
    const p = await world.prepare(stage);
    const caller = await opened(p);
    caller.speak("Well.");
    await caller.hears("I see.");
    const other = await setStage({
      services: [conversation, ...new ConversationWorld().services],
      env: { OPENAI_BASE_URL: model.url, OPENAI_MODEL: "m", MONGODB_URI: stage.uri },
    });
    const salvage = async () => (await other.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk;
    const talk = await until("the transcript on the other node", async () => {
      const t = await salvage();
      return (t?.transcription.length ?? 0) >= 4 ? t : undefined;
    });
    expect(talk).toMatchObject({
      ended_by: "error",
      decided: null,
      user_turns: 1,
      node_traversal: ["ask"],
      errors: [{ code: "TALK_CUT_OFF", node: "ask" }],
    });
    expect(talk?.transcription.at(-1)).toEqual({ role: "assistant", content: "I see. Do you confirm?" });
    expect(await other.bus.call("conversation.salvage", { call_ref: callRef(randomUUID(), 1) })).toEqual({
      talk: null,
    });
    expect(await other.bus.call("conversation.salvage", { call_ref: (await world.prepare(stage)).call_ref })).toEqual({
      talk: null,
    });
    await other.stop();
    caller.hangUp();
    await world.settledOf(p.lead_id);
  });
});
