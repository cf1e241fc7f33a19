import { audioCall } from "../fixtures/audio-call.ts";
import { ScriptedRealtime } from "../fixtures/scripted-realtime-model.ts";
import { testFlow } from "../../fixtures/flow-template.ts";

/** Over audio, too, only speech is said, and kept. The text relay's are in text-relay-pipeline.test.ts. */

const flow = testFlow({ greeting: "**Good day**, {{customer}} 🙂. Do you [hear](https://x.example) me?" });
const GREETED = "Good day, Ada. Do you hear me?";
const WRITTEN =
  "<thinking>They owe 400. Do not tell them.</thinking>## Fine\n- To hear all of that again from the start, * repeats it. 👍";
const SAID = "Fine To hear all of that again from the start, * repeats it.";

test("an answer of the cascade is said without its thought and markup, and a key at the beginning of a part stays", async () => {
  const c = audioCall({ flow, reply: () => ({ text: WRITTEN }) });
  await c.until(() => c.heard().includes("hear me?"));
  await c.say("Where is it?");
  await c.until(() => c.heard().includes("repeats it."));
  await c.pass(1000);
  expect(c.heard()).toBe(`${GREETED} ${SAID}`);
  expect(c.transcript()).toEqual([`assistant: ${GREETED}`, "user: Where is it?", `assistant: ${SAID}`]);
});

test("an answer of which nothing can be said is none: the model is asked again", async () => {
  let asked = 0;
  const c = audioCall({
    flow,
    preemptive: false,
    reply: () => ({ text: ++asked === 1 ? "..." : "It is on its way." }),
  });
  await c.until(() => c.heard().includes("hear me?"));
  await c.say("Where is it?");
  await c.until(() => c.heard().includes("on its way."));
  await c.pass(1000);
  expect(c.transcript()).toEqual([`assistant: ${GREETED}`, "user: Where is it?", "assistant: It is on its way."]);
  expect(c.state().errors.map(({ code }) => code)).toEqual(["EMPTY_ANSWER"]);
});

test("a realtime model is given texts to say without markup, and what it writes beside its voice is kept without", async () => {
  const server = new ScriptedRealtime({ reply: () => ({ text: "**It** is on its _way_." }) });
  const c = audioCall({ flow, reply: () => ({ text: "" }), processor: server.processor });
  await c.until(() => c.heard().includes("hear me?"));
  await c.say("Where is it?");
  await c.until(() => c.heard().includes("on its"));
  await c.pass(2000);
  expect(server.texts()[0]).toBe(`spoken: ${GREETED}`);
  expect(c.transcript()).toEqual([`assistant: ${GREETED}`, "user: Where is it?", "assistant: It is on its way."]);
});
