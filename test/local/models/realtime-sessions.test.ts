import { startModels } from "../../../local/models/server.ts";
import type { RequestSummary } from "../../../local/models/server.ts";
import { g711Decode, g711Encode } from "../../../local/speech/g711.ts";
import { decodeSpeech, encodeSpeech, speechMs } from "../../../local/speech/modem.ts";
import { coughPcm } from "../../../local/speech/noises.ts";
import { pcmBytes, pcmOf } from "../../../local/speech/wav.ts";
import { orderConfirmation } from "../../../local/tools/sample/order-confirmation.ts";
import { RealtimeClient } from "./fixtures/realtime-client.ts";
import { requestAt } from "./fixtures/chat-conversation.ts";

const OPENING =
  "Hello Ada Lindqvist. Do you confirm order NW-10320 for 82.25 dollars with delivery on Monday, June 9? You can also press 1 to confirm or press 2 to reschedule.";
const asked = requestAt(orderConfirmation, "ask_confirmation", []) as {
  messages: { content: string }[];
  tools: { function: Record<string, unknown> }[];
};
const INSTRUCTIONS = asked.messages[0]!.content;
const TOOLS = asked.tools.map((tool) => ({ type: "function", ...tool.function }));

type Running = Awaited<ReturnType<typeof startModels>>;
type Dialect = "ga" | "beta";
let models: Running;
const clients: RealtimeClient[] = [];
beforeAll(async () => {
  models = await startModels({ port: 0, key: "secret" });
});
afterEach(() => clients.splice(0).forEach((client) => client.close()));
afterAll(async () => models.close());

const control = async (path: string, body?: unknown): Promise<unknown> =>
  (
    await fetch(
      models.url.replace(/\/v1$/, path),
      body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    )
  ).json();
const latest = async (): Promise<RequestSummary | undefined> =>
  ((await control("/requests")) as { requests: RequestSummary[] }).requests.at(-1);

function connect(o: { query?: string; dialect?: Dialect; key?: string } = {}): RealtimeClient {
  const headers = {
    authorization: `Bearer ${o.key ?? "secret"}`,
    ...(o.dialect === "beta" ? { "openai-beta": "realtime=v1" } : {}),
  };
  const client = new RealtimeClient(
    `${models.url.replace("http", "ws")}/realtime?${o.query ?? "model=callagent-sim"}`,
    headers,
  );
  clients.push(client);
  return client;
}

/** A session of the sample order's first node on a telephone line. */
async function talk(
  dialect: Dialect,
  detection: Record<string, unknown> | null = { type: "server_vad", silence_duration_ms: 300 },
  law: "pcmu" | "pcma" = "pcmu",
): Promise<RealtimeClient> {
  const client = connect({ dialect });
  await client.next("session.created");
  const common = { instructions: INSTRUCTIONS, tools: TOOLS };
  const g711 = law === "pcmu" ? "g711_ulaw" : "g711_alaw";
  const format = { type: `audio/${law}` };
  client.send({
    type: "session.update",
    session:
      dialect === "beta"
        ? {
            ...common,
            modalities: ["audio", "text"],
            input_audio_format: g711,
            output_audio_format: g711,
            turn_detection: detection,
            input_audio_transcription: { model: "callagent-sim" },
            voice: "alloy",
          }
        : {
            ...common,
            type: "realtime",
            output_modalities: ["audio"],
            audio: {
              input: { format, turn_detection: detection, transcription: { model: "callagent-sim" } },
              output: { format, voice: "alloy" },
            },
          },
  });
  await client.next("session.updated");
  return client;
}

const say = (client: RealtimeClient, text: string, silence_ms = 400): void =>
  hear(client, encodeSpeech(text, 8000), silence_ms);
function hear(client: RealtimeClient, pcm: Int16Array, silence_ms = 400): void {
  const all = new Int16Array(pcm.length + silence_ms * 8);
  all.set(pcm);
  for (let from = 0; from < all.length; from += 160)
    client.send({
      type: "input_audio_buffer.append",
      audio: Buffer.from(g711Encode("pcmu", all.subarray(from, from + 160))).toString("base64"),
    });
}
const soundOf = (client: RealtimeClient, dialect: Dialect, from = 0): Buffer =>
  Buffer.concat(
    client
      .texts(dialect === "ga" ? "response.output_audio.delta" : "response.audio.delta", "delta", from)
      .map((delta) => Buffer.from(delta, "base64")),
  );
const outputOf = (event: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  (event["response"] as { output: Record<string, unknown>[] }).output[0]!;

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

describe("transcription sessions", () => {
  test.each<[Dialect, string]>([
    ["ga", "session"],
    ["beta", "transcription_session"],
  ])("%s: words come while they are spoken", async (dialect, name) => {
    const client = connect({ dialect, query: "intent=transcription" });
    await client.next(`${name}.created`);
    const detection = { type: "server_vad", silence_duration_ms: 300 };
    client.send(
      dialect === "ga"
        ? {
            type: "session.update",
            session: {
              type: "transcription",
              audio: {
                input: {
                  format: { type: "audio/pcmu" },
                  turn_detection: detection,
                  transcription: { model: "callagent-sim", language: "en" },
                },
              },
            },
          }
        : {
            type: "transcription_session.update",
            session: {
              input_audio_format: "g711_ulaw",
              turn_detection: detection,
              input_audio_transcription: { model: "callagent-sim" },
            },
          },
    );
    await client.next(`${name}.updated`);
    say(client, "Yes please, on Friday.");
    const completed = await client.next("conversation.item.input_audio_transcription.completed");
    expect(completed).toMatchObject({ transcript: "Yes please, on Friday.", usage: { type: "duration" } });
    expect(client.texts("conversation.item.input_audio_transcription.delta", "delta").join("")).toBe(
      "Yes please, on Friday.",
    );
    const types = client.types();
    expect(types.indexOf("conversation.item.input_audio_transcription.delta")).toBeLessThan(
      types.indexOf("input_audio_buffer.speech_stopped"),
    );
    expect(
      new Set(client.events.filter(({ type }) => type.includes("transcription.")).map((event) => event["item_id"]))
        .size,
    ).toBe(1);
    client.send({ type: "response.create" });
    await client.next("error");
  });
});

describe("refusals and faults", () => {
  test.each<[string, { query?: string; key?: string }]>([
    ["a wrong key", { key: "wrong" }],
    ["an unknown model", { query: "model=nobody" }],
    ["no model", { query: "x=1" }],
  ])("no connection with %s", async (_what, o) => {
    const client = connect(o);
    await client.gone();
    expect(client.events).toEqual([]);
  });

  test.each<[string, Record<string, unknown>, string | null]>([
    ["an unknown event", { type: "dance" }, "type"],
    ["a session without its type", { type: "session.update", session: { instructions: "x" } }, "session.type"],
    [
      "a format of another rate",
      {
        type: "session.update",
        session: { type: "realtime", audio: { input: { format: { type: "audio/pcm", rate: 8000 } } } },
      },
      "session.audio.input.format.rate",
    ],
    [
      "a tool without a name",
      { type: "session.update", session: { type: "realtime", tools: [{ type: "function" }] } },
      "session.tools[0]",
    ],
    [
      "a threshold past one",
      {
        type: "session.update",
        session: { type: "realtime", audio: { input: { turn_detection: { type: "server_vad", threshold: 2 } } } },
      },
      "session.audio.input.turn_detection.threshold",
    ],
    ["sound that is no base64", { type: "input_audio_buffer.append", audio: "%%" }, "audio"],
    [
      "an answer to no call",
      { type: "conversation.item.create", item: { type: "function_call_output", call_id: "x", output: "" } },
      "item.call_id",
    ],
    ["an item of no kind", { type: "conversation.item.create", item: { type: "song" } }, "item.type"],
    ["an item that is not there", { type: "conversation.item.delete", item_id: "x" }, "item_id"],
    [
      "a truncation of what is not there",
      { type: "conversation.item.truncate", item_id: "x", content_index: 0, audio_end_ms: 0 },
      "item_id",
    ],
  ])("error event for %s", async (_what, event, param) => {
    const client = connect();
    await client.next("session.created");
    client.send({ ...event, event_id: "mine" });
    expect(await client.next("error")).toMatchObject({
      error: { type: "invalid_request_error", param, event_id: "mine" },
    });
    client.sendRaw("{");
    expect(
      await client.next((one) => one.type === "error" && (one["error"] as { code: string }).code === "invalid_json"),
    ).toBeDefined();
    expect(client.closed).toBe(false);
  });

  test("faults: refused, dropped, failed, hung, cut", async () => {
    const order = async (kind: string): Promise<unknown> => control("/faults", { kind, target: "realtime" });
    await order("error_429");
    await connect().gone();
    for (const kind of ["drop", "cut_stream"]) {
      await order(kind);
      const dropped = await talk("ga", null);
      dropped.send({ type: "response.create" });
      await dropped.gone();
      expect(dropped.types()).not.toContain("response.done");
      expect(dropped.types().includes("response.output_audio.delta")).toBe(kind === "cut_stream");
    }
    const client = await talk("ga", null);
    await order("error_event");
    client.send({ type: "response.create" });
    expect(await client.next("error")).toMatchObject({ error: { type: "server_error" } });
    expect(await client.next("response.done")).toMatchObject({ response: { status: "failed" } });
    await order("hang");
    const from = client.events.length;
    client.send({ type: "response.create" });
    await client.next("response.created", from);
    client.send({ type: "response.cancel" });
    await client.next("response.done", from);
    expect(client.types(from)).toEqual(["response.created", "response.done"]);
  });

  test("delays hold for words and sound", async () => {
    await control("/delays", { stt_ms: 80, first_token_ms: 60, first_audio_ms: 60 });
    const client = await talk("ga", null);
    const began = performance.now();
    client.send({ type: "response.create" });
    await client.next("response.output_audio.delta");
    expect(performance.now() - began).toBeGreaterThanOrEqual(119);
    await control("/delays", { stt_ms: 0, first_token_ms: 0, first_audio_ms: 0 });
  });

  test("PCM in pieces of any length is heard", async () => {
    const client = connect();
    await client.next("session.created");
    client.send({
      type: "session.update",
      session: {
        type: "realtime",
        audio: { input: { turn_detection: null, transcription: { model: "callagent-sim" } } },
      },
    });
    const bytes = pcmBytes(encodeSpeech("Odd pieces.", 24_000));
    for (let from = 0; from < bytes.length; from += 1234)
      client.send({ type: "input_audio_buffer.append", audio: bytes.subarray(from, from + 1234).toString("base64") });
    client.send({ type: "input_audio_buffer.commit" });
    expect(await client.next("conversation.item.input_audio_transcription.completed")).toMatchObject({
      transcript: "Odd pieces.",
    });
  });
});
