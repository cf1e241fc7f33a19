import { describe, expect, test } from "@jest/globals";
import type { ConversationFacts } from "../../../shared/contracts/records/attempt.ts";
import type { TemplateRecord } from "../../../shared/contracts/records/template.ts";
import { until, type Stage } from "../../../local/harness/stage.ts";
import { conversationFacts } from "../../../services/conversation/dialogue/conversation-facts.ts";
import { audioCall, type AudioCall } from "../fixtures/audio-call.ts";
import { conversationStage } from "../fixtures/conversation-stage.ts";
import { obedient, opened, type ConversationWorld } from "../fixtures/conversation-world.ts";
import type { ScriptedModel } from "../fixtures/scripted-model.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { TurnsCaller } from "../fixtures/xml-caller.ts";
import { call, testFlow } from "../../fixtures/flow-template.ts";

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;
conversationStage((running) => ({ model, world, stage } = running));

const WORDS = "Please do not call me again.";
const KEY = "9";
const TEMPLATE: Partial<TemplateRecord> = { do_not_call_key: KEY };
const CONFIRMED = "You will not be called again. Goodbye!";

/** What the callee heard last, and the facts of the conversation. */
interface Ended {
  heard: string;
  talk: ConversationFacts | null;
}
type Way = "words" | "key";

/** The model calls the function that it is offered. */
const understands = (): void => {
  model.reply = (q) =>
    /not call me/.test(q.messages.at(-1)?.content ?? "") && q.tools?.some((t) => t.function.name === "do_not_call")
      ? { calls: [{ name: "do_not_call" }] }
      : obedient(q);
};

async function overSound(c: AudioCall, way: Way): Promise<Ended> {
  await c.until(() => c.heard().includes("hear me?"));
  await c.pass(500);
  if (way === "key") c.far.press(KEY);
  else await c.say(WORDS);
  await c.until(() => c.far.isClosed());
  return { heard: c.heard(), talk: conversationFacts(c.state()) };
}

const FLOW = testFlow({ ...TEMPLATE, greeting: "Good day. Do you hear me?" });
const reply = () => ({ text: "", calls: [call("do_not_call")] });

/** Every pipeline; inbound calls use the same ones. Browser sessions are not part of this version (501). */
const PIPELINES: Record<string, (way: Way) => Promise<Ended>> = {
  "cascaded, over the carrier's audio": (way) => overSound(audioCall({ flow: FLOW, reply }), way),
  "realtime, over the carrier's audio": (way) => {
    const server = new ScriptedRealtime({ reply });
    return overSound(audioCall({ flow: FLOW, reply: () => ({ text: "" }), processor: server.processor }), way);
  },
  "text relay": async (way) => {
    understands();
    const p = await world.prepare(stage, TEMPLATE);
    const caller = await opened(p);
    if (way === "key") caller.press(KEY);
    else caller.speak(WORDS);
    await caller.hears("You will not be called again");
    await caller.over();
    return { heard: caller.heard.join(" "), talk: (await world.settledOf(p.lead_id)).facts.talk };
  },
  "XML-driven": async (way) => {
    understands();
    const p = await world.prepare(stage, TEMPLATE, { provider: "PROVIDER_TWO" });
    const caller = new TurnsCaller(stage.bus, p);
    await caller.answer();
    const last = await (way === "key" ? caller.keys(KEY) : caller.through(caller.says(WORDS)));
    expect(last.next).toEqual({ kind: "hang_up" });
    await stage.bus.call("conversation.stop", { call_ref: p.call_ref, reason: "carrier_ended" });
    return { heard: caller.heard.join(" "), talk: (await world.settledOf(p.lead_id)).facts.talk };
  },
};

describe.each(Object.entries(PIPELINES))("a callee who asks not to be called again: %s", (_name, hold) => {
  test.each<[Way]>([["words"], ["key"]])(
    "in %s: hears that it is done, the call ends, the facts say so",
    async (way) => {
      const { heard, talk } = await hold(way);
      expect(heard.endsWith(CONFIRMED)).toBe(true);
      expect(talk).toMatchObject({ do_not_call: true, decided: "do_not_call", ended_by: "agent", errors: [] });
    },
  );
});

test("the wish is kept before its settlement is through: a process that dies in between leaves it to the sweep", async () => {
  world.settleFails = Infinity;
  const p = await world.prepare(stage, TEMPLATE);
  const caller = await opened(p);
  caller.press(KEY);
  const kept = await until(
    "the wish to be kept",
    async () => (await stage.bus.call("conversation.salvage", { call_ref: p.call_ref })).talk?.do_not_call,
  );
  expect([kept, world.settled.some((s) => s.lead_id === p.lead_id)]).toEqual([true, false]);
  world.settleFails = 0;
  expect((await world.settledOf(p.lead_id)).facts.talk).toMatchObject({ do_not_call: true });
});
