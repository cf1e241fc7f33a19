import { g711Decode } from "../../../local/speech/g711.ts";
import { decodeSpeech } from "../../../local/speech/modem.ts";
import { pcmOf } from "../../../local/speech/wav.ts";
import {
  OPENING,
  type Dialect,
  latest,
  connect,
  talk,
  say,
  soundOf,
  outputOf,
  useModels,
} from "./fixtures/realtime-bench.ts";

useModels();

describe("a talk, in both dialects", () => {
  test.each<[Dialect, string[]]>([
    [
      "ga",
      [
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_audio_transcript.delta",
        "response.output_audio.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
      ],
    ],
    [
      "beta",
      [
        "response.created",
        "response.output_item.added",
        "conversation.item.created",
        "response.content_part.added",
        "response.audio_transcript.delta",
        "response.audio.delta",
        "response.audio.done",
        "response.audio_transcript.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.done",
      ],
    ],
  ])("%s: it speaks the task, hears the answer and calls the function", async (dialect, order) => {
    const client = await talk(dialect);
    const begin = client.events.length;
    client.send({ type: "response.create" });
    await client.next("response.done");
    const types = client.types(begin);
    expect(types.filter((type, at) => types.indexOf(type) === at)).toEqual(order);
    expect(decodeSpeech(g711Decode("pcmu", soundOf(client, dialect)), 8000)).toBe(OPENING);
    expect(client.texts(order[4]!, "delta").join("")).toBe(OPENING);

    const answered = client.events.length;
    say(client, "Friday would be better.");
    const called = await client.next("response.function_call_arguments.done", answered);
    expect(called).toMatchObject({
      name: "reschedule_delivery",
      arguments: '{"day":"Friday"}',
      call_id: expect.stringMatching(/^call_/),
    });
    const done = await client.next("response.done", answered);
    expect(outputOf(done)).toMatchObject({ type: "function_call", name: "reschedule_delivery", status: "completed" });
    expect(client.texts("conversation.item.input_audio_transcription.completed", "transcript")).toEqual([
      "Friday would be better.",
    ]);
    expect(client.types(answered).filter((type) => type.startsWith("input_audio_buffer."))).toEqual([
      "input_audio_buffer.speech_started",
      "input_audio_buffer.speech_stopped",
      "input_audio_buffer.committed",
    ]);

    const goOn = client.events.length;
    client.send({
      type: "conversation.item.create",
      item: { type: "function_call_output", call_id: called["call_id"], output: '{"ok":true}' },
    });
    client.send({
      type: "response.create",
      response: { instructions: "Thank the customer and say goodbye.", tools: [] },
    });
    await client.next("response.done", goOn);
    expect(decodeSpeech(g711Decode("pcmu", soundOf(client, dialect, goOn)), 8000)).toMatch(/thank you.*goodbye/i);
    expect(await latest()).toMatchObject({
      kind: "realtime",
      messages: 5,
      tools: [],
      reply: { call: null },
      end: "sent",
    });
    expect(client.types()).not.toContain("error");
  });

  test("the same talk gives the same events", async () => {
    const run = async (): Promise<unknown[]> => {
      const client = await talk("ga", null);
      client.send({ type: "response.create" });
      await client.next("response.done");
      return client.events.slice(1);
    };
    const [one, two] = [await run(), await run()];
    const plain = (events: unknown[]): string => JSON.stringify(events).replaceAll(/sess_\d+/g, "sess");
    expect(plain(two)).toBe(plain(one));
  });

  test("PCM at 24 kHz is the format it begins with; A-law on demand; text alone too", async () => {
    const client = connect();
    const created = await client.next("session.created");
    expect(created).toMatchObject({
      session: {
        type: "realtime",
        output_modalities: ["audio"],
        audio: {
          input: {
            format: { type: "audio/pcm", rate: 24_000 },
            turn_detection: { type: "server_vad", threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: 500 },
          },
        },
      },
    });
    const item = (text: string): Record<string, unknown> => ({
      type: "conversation.item.create",
      item: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    });
    client.send(item("Who is calling?"));
    client.send({
      type: "response.create",
      response: { instructions: "You are the assistant of Northwind. Ask how they are." },
    });
    const done = await client.next("response.done");
    const { transcript } = (outputOf(done)["content"] as { transcript: string }[])[0]!;
    expect(decodeSpeech(pcmOf(soundOf(client, "ga")), 24_000)).toBe(transcript);
    const from = client.events.length;
    client.send(item("Hello?"));
    client.send({ type: "response.create", response: { output_modalities: ["text"] } });
    expect(outputOf(await client.next("response.done", from))).toMatchObject({
      content: [{ type: "output_text", text: client.texts("response.output_text.delta", "delta", from).join("") }],
    });
    const alaw = await talk("beta", null, "pcma");
    alaw.send({ type: "response.create" });
    await alaw.next("response.done");
    expect(decodeSpeech(g711Decode("pcma", soundOf(alaw, "beta")), 8000)).toBe(OPENING);
  });
});
