import { once } from "node:events";
import { WebSocket } from "ws";
import { startModels, type RequestSummary } from "../../../local/models/server.ts";
import conversation from "../../../services/conversation/conversation.service.ts";
import { setStage, until, type Stage } from "../../../local/harness/stage.ts";
import { ConversationWorld } from "../fixtures/conversation-world.ts";

/** Before the phone is answered its first words are spoken already: at the answer nobody waits for the model that speaks. */

let models: Awaited<ReturnType<typeof startModels>>;
let world: ConversationWorld;
let stage: Stage;
const log: string[] = [];

beforeAll(async () => {
  models = await startModels({ port: 0 });
  world = new ConversationWorld();
  const at = (kind: string): Record<string, string> => ({
    [`${kind}_BASE_URL`]: models.url,
    [`${kind}_MODEL`]: "callagent-sim",
    [`${kind}_API_KEY`]: "k",
  });
  stage = await setStage({
    services: [conversation, ...world.services],
    onLog: (line) => log.push(line),
    env: {
      ...at("OPENAI"),
      ...at("STT"),
      ...at("TTS"),
      LOG_LEVEL: "warn",
      LEASE_SECONDS: "5",
      SHUTDOWN_GRACE_SECONDS: "6",
      MODEL_ENDPOINTS: JSON.stringify({
        old: { base_url: "https://models.example/v1", model: "gpt-realtime", key: "sk-hidden" },
      }),
    },
  });
});
afterAll(async () => {
  await stage?.stop();
  await models?.close();
});

async function spoken(): Promise<(string | null | undefined)[]> {
  const { requests } = (await (await fetch(new URL("/requests", models.url))).json()) as { requests: RequestSummary[] };
  return requests.filter(({ kind, end }) => kind === "speech" && end === "sent").map(({ reply }) => reply?.content);
}

/** Answers the phone as Twilio does, waits for the first sound of ours, and hangs up. */
async function firstSound(media_url: string): Promise<void> {
  const socket = new WebSocket(media_url, { headers: { "x-twilio-signature": "good" } });
  await once(socket, "open");
  const start = {
    streamSid: "MZ1",
    accountSid: "AC1",
    callSid: "CA1",
    tracks: ["inbound"],
    customParameters: {},
    mediaFormat: { encoding: "audio/x-mulaw", sampleRate: 8000, channels: 1 },
  };
  socket.send(JSON.stringify({ event: "connected", protocol: "Call", version: "1.0.0" }));
  socket.send(JSON.stringify({ event: "start", sequenceNumber: "1", streamSid: "MZ1", start }));
  await new Promise<void>((resolve) =>
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { event: string };
      if (frame.event === "media") resolve();
    }),
  );
  socket.close();
}

test("the greeting and the fixed sentences are there before the answer, and asked for once", async () => {
  const p = await world.prepare(stage, {
    greeting: "Good day **{{customer}}**, this is Northwind.",
    engine: "cascade",
  });
  await until("the sentences to be spoken", async () => {
    const texts = await spoken();
    return (
      (texts.includes("Good day Ada, this is Northwind.") &&
        texts.includes("Are you still there?") &&
        texts.includes("One moment, please.")) ||
      undefined
    );
  });
  await fetch(new URL("/faults", models.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ kind: "hang", target: "speech", times: 1 }),
  });
  await firstSound(p.media_url); // the model that speaks would not answer any more
  await world.settledOf(p.lead_id);
  expect((await spoken()).filter((text) => text === "Good day Ada, this is Northwind.")).toHaveLength(1);
});

test("a conversation whose speech is the carrier's costs no sound", async () => {
  const before = (await spoken()).length;
  await world.prepare(stage, { greeting: "Relayed greeting.", engine: "relay" });
  const p = await world.prepare(stage, { greeting: "Spoken greeting.", engine: "cascade" });
  await until("the greeting to be spoken", async () => (await spoken()).includes("Spoken greeting.") || undefined);
  expect((await spoken()).slice(before)).not.toContain("Relayed greeting.");
  expect(p.media_url).toContain("ws://");
});

test("a model whose end is announced is told in the log at the start, without its key", () => {
  const told = log
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line["event"] === "model.shuts_down");
  expect(told).toMatchObject([
    { level: "warn", setting: "MODEL_ENDPOINTS.old", model: "gpt-realtime", on: "2027-01-20" },
  ]);
  expect(log.join("")).not.toContain("sk-hidden");
});
