import { encodeSpeech, speechMs } from "../../../local/speech/modem.ts";
import { coughPcm } from "../../../local/speech/noises.ts";
import { OPENING, latest, talk, say, hear, soundOf, outputOf, useModels } from "./fixtures/realtime-bench.ts";

useModels();

describe("turns", () => {
  test("speech over an answer cancels it; what was not heard is dropped", async () => {
    const client = await talk("ga");
    client.send({ type: "response.create" });
    await client.next((event) => event.type === "response.output_audio.delta");
    say(client, "Friday would be better.");
    const done = await client.next("response.done");
    expect(done).toMatchObject({
      response: { status: "cancelled", status_details: { type: "cancelled", reason: "turn_detected" } },
    });
    const id = outputOf(done)["id"];
    expect(outputOf(done)).toMatchObject({ status: "incomplete" });
    const made_ms = soundOf(client, "ga").length / 8;
    expect(made_ms).toBeLessThan(speechMs(OPENING));
    client.send({
      type: "conversation.item.truncate",
      item_id: id,
      content_index: 0,
      audio_end_ms: made_ms + 1,
      event_id: "mine",
    });
    expect(await client.next("error")).toMatchObject({
      error: { type: "invalid_request_error", event_id: "mine", message: expect.stringContaining("already shorter") },
    });
    client.send({ type: "conversation.item.truncate", item_id: id, content_index: 0, audio_end_ms: made_ms });
    expect(await client.next("conversation.item.truncated")).toMatchObject({ item_id: id, audio_end_ms: made_ms });
    client.send({ type: "conversation.item.retrieve", item_id: id });
    expect(await client.next("conversation.item.retrieved")).toMatchObject({ item: { content: [{ transcript: "" }] } });
    // The turn that cancelled it is answered.
    expect(await client.next("response.function_call_arguments.done")).toMatchObject({ name: "reschedule_delivery" });
  });

  test("started and stopped tell the times of the sound", async () => {
    const client = await talk("ga", {
      type: "server_vad",
      prefix_padding_ms: 100,
      silence_duration_ms: 400,
      create_response: false,
    });
    hear(client, new Int16Array(8000), 0);
    say(client, "Yes.", 600);
    const started = await client.next("input_audio_buffer.speech_started");
    const stopped = await client.next("input_audio_buffer.speech_stopped");
    expect(Math.abs(Number(started["audio_start_ms"]) - 908)).toBeLessThanOrEqual(20);
    expect(Math.abs(Number(stopped["audio_end_ms"]) - (1000 + speechMs("Yes.") - 8 + 400))).toBeLessThanOrEqual(20);
    await client.next("conversation.item.input_audio_transcription.completed");
    expect(client.types()).not.toContain("response.created");
    expect(stopped["item_id"]).toBe(started["item_id"]);
  });

  test("quiet sound is no speech at a high threshold", async () => {
    const client = await talk("ga", { type: "server_vad", threshold: 1, silence_duration_ms: 200 });
    hear(
      client,
      encodeSpeech("Yes", 8000).map((value) => Math.round(value / 5)),
    );
    say(client, "No", 300);
    expect(await client.next("input_audio_buffer.speech_started")).toMatchObject({
      audio_start_ms: expect.any(Number),
    });
    expect(await client.next("conversation.item.input_audio_transcription.completed")).toMatchObject({
      transcript: "Yes No",
    });
    expect(client.types().filter((type) => type === "input_audio_buffer.speech_started").length).toBe(1);
  });

  test("a cough is asked about, without words", async () => {
    const client = await talk("ga");
    hear(client, coughPcm(350, 8000, 1));
    expect(await client.next("conversation.item.input_audio_transcription.completed")).toMatchObject({
      transcript: "",
    });
    const done = await client.next("response.done");
    expect((outputOf(done)["content"] as { transcript: string }[])[0]!.transcript).toContain("did not understand");
  });

  test("without turn detection the client commits", async () => {
    const client = await talk("ga", null);
    client.send({ type: "input_audio_buffer.commit" });
    expect(await client.next("error")).toMatchObject({ error: { code: "input_audio_buffer_commit_empty" } });
    say(client, "No idea");
    client.send({ type: "input_audio_buffer.clear" });
    await client.next("input_audio_buffer.cleared");
    say(client, "Yes I confirm.", 0);
    client.send({ type: "input_audio_buffer.commit" });
    client.send({ type: "response.create" });
    expect(await client.next("response.function_call_arguments.done")).toMatchObject({ name: "confirm_order" });
    expect(client.types()).not.toContain("input_audio_buffer.speech_started");
  });

  test("one answer at a time, cancelled on demand", async () => {
    const client = await talk("ga", null);
    client.send({ type: "response.cancel" });
    expect(await client.next("error")).toMatchObject({ error: { code: "response_cancel_not_active" } });
    client.send({ type: "response.create" });
    client.send({ type: "response.create", event_id: "again" });
    expect(
      await client.next(
        (event) => event.type === "error" && (event["error"] as { event_id: string }).event_id === "again",
      ),
    ).toMatchObject({ error: { code: "conversation_already_has_active_response" } });
    client.send({ type: "response.cancel" });
    expect(await client.next("response.done")).toMatchObject({
      response: { status: "cancelled", status_details: { reason: "client_cancelled" } },
    });
    expect(await latest()).toMatchObject({ kind: "realtime", end: "aborted" });
  });
});
