import { startModels } from "../../../local/models/server.ts";
import { decodeSpeech } from "../../../local/speech/modem.ts";
import { pcmOf } from "../../../local/speech/wav.ts";
import { RealtimeClient } from "./fixtures/realtime-client.ts";

let models: Awaited<ReturnType<typeof startModels>>;
beforeAll(async () => {
  models = await startModels({ port: 0 });
});
afterAll(() => models.close());

test("a text is said word for word on demand, whatever was said before, and what an answer is named by comes back", async () => {
  const client = new RealtimeClient(`${models.url.replace("http", "ws")}/realtime?model=callagent-sim`, {
    authorization: "Bearer any",
  });
  await client.next("session.created");
  client.send({
    type: "conversation.item.create",
    item: { type: "message", role: "user", content: [{ type: "input_text", text: "Who is calling?" }] },
  });
  const text = 'Wait, please. I said: "one moment".';
  client.send({
    type: "response.create",
    response: {
      instructions: `Say exactly this and nothing else: ${JSON.stringify(text)}`,
      tools: [],
      tool_choice: "none",
      metadata: { ask: "ask_7" },
    },
  });
  expect(await client.next("response.created")).toMatchObject({ response: { metadata: { ask: "ask_7" } } });
  await client.next("response.done");
  const sound = Buffer.concat(
    client.texts("response.output_audio.delta", "delta").map((delta) => Buffer.from(delta, "base64")),
  );
  expect(decodeSpeech(pcmOf(sound), 24_000)).toBe(text);
  client.close();
});
