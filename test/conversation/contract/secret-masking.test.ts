import { MongoClient } from "mongodb";
import conversation from "../../../services/conversation/conversation.service.ts";
import type { FlowNode } from "../../../shared/contracts/flow/flow-node.ts";
import { RelayCaller } from "../fixtures/relay-caller.ts";
import { startScriptedModel, type Question, type Reply, type ScriptedModel } from "../fixtures/scripted-model.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import { NODES, PAYLOAD } from "../../fixtures/flow-template.ts";
import { opened, refused, ConversationWorld } from "../fixtures/conversation-world.ts";

const KEY = "sk-very-secret-0815";
const SECOND_KEY = "sk-endpoint-secret-4711";
const PIN = "482915";
const PHONES = ["+14155550100", "+4915123456789"];
const PIN_NODE: FlowNode = {
  name: "pin",
  prompt: "Ask for the pin.",
  collect: "dtmf",
  collection: { max_digits: 6, secret: true },
  functions: [
    {
      name: "check_pin",
      description: "They keyed it.",
      parameters: { type: "object", properties: { pin: { type: "string" } }, required: ["pin"] },
      set: { pin: "pin" },
      action: "http",
      http: { method: "POST", url: "https://127.0.0.1/pins/{{pin}}?of={{phone}}", body: { pin: "{{pin}}" } },
    },
    { name: "agent", description: "They want a person.", action: "transfer", transfer_to: "{{desk}}" },
  ],
};
const NODES_WITH_PIN = NODES.map((n) =>
  n.name === "ask"
    ? {
        ...n,
        functions: [...(n.functions ?? []), { name: "to_pin", description: "They have a pin.", next_node: "pin" }],
      }
    : n,
).concat(PIN_NODE);

let model: ScriptedModel;
let world: ConversationWorld;
let stage: Stage;
const lines: string[] = [];

beforeAll(async () => {
  model = await startScriptedModel();
  world = new ConversationWorld();
  world.transferFails = true;
  stage = await setStage({
    services: [conversation, ...world.services],
    onLog: (line) => {
      lines.push(line);
    },
    env: {
      LOG_LEVEL: "trace",
      OPENAI_BASE_URL: model.url,
      OPENAI_MODEL: "m",
      OPENAI_API_KEY: KEY,
      LEASE_SECONDS: "5",
      SHUTDOWN_GRACE_SECONDS: "6",
      MODEL_ENDPOINTS: JSON.stringify({ other: { base_url: model.url, key: SECOND_KEY, model: "m" } }),
    },
  });
});
afterAll(async () => {
  await stage?.stop();
  await model?.close();
});

/** A model that is led through the pin, a person who can't be reached, and its own failures. */
const answer = (q: Question): Reply => {
  const last = q.messages.at(-1);
  const words = last?.content ?? "";
  if (last?.role === "tool") return { text: words.includes("true") ? "Please key your pin." : "That did not work." };
  if (last?.role !== "user") return { text: "Ada, do you confirm?" };
  if (/pin/.test(words)) return { calls: [{ name: "to_pin" }] };
  if (words.includes(PIN)) return { calls: [{ name: "check_pin", arguments: { pin: PIN } }] };
  if (/person/.test(words)) return { text: "I put you through.", calls: [{ name: "agent" }] };
  return { status: 401 };
};

/** What must be nowhere, found in a text. */
const found = (text: string, tokens: readonly string[]): string[] =>
  [KEY, SECOND_KEY, PIN, ...PHONES, ...tokens, "Bearer "].filter((secret) => text.includes(secret));

test("a conversation with a secret, a failing request, a failed transfer and a model that refuses leaves none of it in log and errors", async () => {
  model.reply = answer;
  const p = await world.prepare(
    stage,
    { nodes: NODES_WITH_PIN },
    { payload: { ...PAYLOAD, desk: PHONES[0], phone: PHONES[1], customer_mobile_number: PHONES[1] } },
  );
  const stranger = "f".repeat(32);
  expect(await refused(p.media_url.replace(p.token, stranger))).toBe("answered 401");
  expect(await refused(p.media_url, { "x-twilio-signature": "bad" })).toBe("answered 401");
  const caller = await opened(p);
  caller.speak("I have a pin.");
  await caller.hears("key your pin");
  for (const digit of PIN) caller.press(digit);
  await caller.hears("did not work");
  caller.speak("A person, please.");
  await caller.hears("put you through");
  await until("the transfer to fail", () => lines.some((l) => l.includes("talk.not_transferred")) || undefined);
  caller.speak("Xylophone.");
  caller.speak("Zeppelin.");
  await until("the model to have refused", () => lines.some((l) => l.includes("MODEL_REFUSED")) || undefined);
  caller.hangUp();
  const { facts } = await world.settledOf(p.lead_id);
  await world.hungUp(p.call_ref);
  expect(model.questions.some((q) => JSON.stringify(q.messages).includes(PIN))).toBe(true);
  expect(facts.talk?.errors.length).toBeGreaterThan(0);
  expect(found(lines.join(""), [p.token, stranger])).toEqual([]);
  expect(found(JSON.stringify(facts), [p.token, stranger])).toEqual([]);
  // not a word of the conversation is in the log either
  expect(
    ["Xylophone", "Zeppelin", "put you through", "key your pin", "Ada"].filter((word) =>
      lines.some((l) => l.includes(word)),
    ),
  ).toEqual([]);
  expect(lines.map((l) => (JSON.parse(l) as { event?: string }).event)).toEqual(
    expect.arrayContaining([
      "talk.started",
      "talk.turn",
      "talk.fault",
      "talk.not_transferred",
      "talk.ended",
      "talk.settled",
    ]),
  );

  const client = await MongoClient.connect(stage.uri);
  const doc = await client
    .db()
    .collection<{ _id: string; talk: unknown }>("conversation_sessions")
    .findOne({ _id: p.call_ref });
  await client.close();
  expect(found(JSON.stringify(doc?.talk), [p.token])).toEqual([]);
  expect(JSON.stringify(doc)).not.toContain(p.token);
});

test("a conversation that can't be begun says nothing of its token either", async () => {
  lines.length = 0;
  const p = await world.prepare(stage);
  world.joinFails = 99;
  const caller = await RelayCaller.connect(p.media_url);
  caller.setup();
  await until("the failure to be logged", () => lines.some((l) => l.includes("talk.not_begun_in_time")) || undefined);
  await caller.over();
  world.joinFails = 0;
  world.verifyFails = true;
  const next = await world.prepare(stage);
  const turnedAway = await RelayCaller.connect(next.media_url);
  turnedAway.setup();
  await turnedAway.over();
  world.verifyFails = false;
  expect(found(lines.join(""), [p.token, next.token])).toEqual([]);
});
