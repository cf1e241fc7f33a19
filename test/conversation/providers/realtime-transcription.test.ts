import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { WebSocketServer, type WebSocket } from "ws";
import type { ModelError, TranscriptionModel } from "../../../services/conversation/providers/port.ts";
import { realtimeTranscription } from "../../../services/conversation/providers/stt/realtime-transcription.ts";
import type { Dialect } from "../../../services/conversation/providers/realtime/realtime-dialect.ts";
import { muLaw } from "../../../services/conversation/audio/g711.ts";
import { systemClock, type Clock } from "../../../shared/time/clock.ts";
import { virtualClock } from "../../fixtures/virtual-clock.ts";

const RATE = 8000;
const forever = new AbortController().signal;
const FORMAT = {
  session: {
    type: "transcription",
    audio: {
      input: {
        format: { type: "audio/pcmu" },
        transcription: { model: "live", language: "de" },
        turn_detection: null,
      },
    },
  },
};

/** Session of one connection as the server sees it. */
interface Seen {
  events: Record<string, unknown>[];
  headers: Record<string, unknown>;
  socket: WebSocket;
  bytes: number;
}

describe("transcription during speech", () => {
  let server: WebSocketServer;
  let seen: Seen[];
  let url: string;
  /** What the server does at a commit; the number counts commits of all connections. */
  let committed: (seen: Seen, times: number) => void;
  let created: string;
  let waits: { ready: () => boolean; resolve: () => void }[];
  const until = (ready: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      if (ready()) resolve();
      else waits.push({ ready, resolve });
    });
  const tell = (s: Seen, event: object): void => s.socket.send(JSON.stringify(event));
  const complete = (s: Seen, transcript: string): void =>
    tell(s, { type: "conversation.item.input_audio_transcription.completed", item_id: "i", transcript });

  beforeEach(async () => {
    [seen, waits, created, committed] = [[], [], "session.created", (s) => complete(s, ` ${s.bytes} bytes `)];
    let times = 0;
    server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise<void>((resolve) => {
      server.once("listening", resolve);
    });
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}/v1`;
    server.on("connection", (socket, request) => {
      const s: Seen = { events: [], headers: { ...request.headers, url: request.url }, socket, bytes: 0 };
      seen.push(s);
      tell(s, { type: created });
      socket.on("error", () => undefined);
      socket.on("message", (data: Buffer) => {
        const event = JSON.parse(data.toString()) as Record<string, unknown>;
        s.events.push(event);
        if (typeof event["audio"] === "string") s.bytes += Buffer.from(event["audio"], "base64").length;
        if (event["type"] === "input_audio_buffer.commit") committed(s, ++times);
        for (const w of waits) if (w.ready()) w.resolve();
      });
      socket.on("close", () => {
        s.events.push({ type: "closed" });
        for (const w of waits) if (w.ready()) w.resolve();
      });
    });
  });
  afterEach(async () => {
    for (const client of server.clients) client.terminate();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });

  const pieces = () => {
    const opened: { pushed: number; closed: boolean }[] = [];
    const model: TranscriptionModel = {
      open: () => {
        const one = { pushed: 0, closed: false };
        opened.push(one);
        return {
          push: (pcm) => {
            one.pushed += pcm.length;
          },
          text: async () => `${one.pushed} pieced`,
          close: () => {
            one.closed = true;
          },
        };
      },
    };
    return { opened, model };
  };
  const model = ({
    dialect = "ga" as Dialect,
    clock = systemClock as Clock,
    instead = pieces(),
    faults = [] as ModelError[],
  } = {}) =>
    realtimeTranscription({
      address: { base_url: url, key: "k1", model: "live", check: "STT_BASE_URL" },
      dialect,
      clock,
      segmented: instead.model,
      onFailover: (error) => faults.push(error),
    });
  const how = { rate: RATE, language: "de-DE" };
  const types = (s: Seen | undefined) => s?.events.map((e) => e["type"]);

  test("the session gets its settings, then telephone audio as it is; the text comes at the commit", async () => {
    const stretch = model().open(how);
    const pcm = Int16Array.from({ length: RATE }, (_, i) => (i % 200) * 100);
    stretch.push(pcm.subarray(0, 300));
    stretch.push(pcm.subarray(300));
    expect(await stretch.text(forever)).toBe("8000 bytes");
    expect(seen[0]?.headers).toMatchObject({ url: "/v1/realtime?intent=transcription", authorization: "Bearer k1" });
    expect(seen[0]?.headers["openai-beta"]).toBeUndefined();
    expect(seen[0]?.events[0]).toEqual({ type: "session.update", ...FORMAT });
    expect(seen[0]?.events[1]).toEqual({
      type: "input_audio_buffer.append",
      audio: Buffer.from(muLaw.encode(pcm.subarray(0, 300))).toString("base64"),
    });
    expect(types(seen[0])).toEqual([
      "session.update",
      "input_audio_buffer.append",
      "input_audio_buffer.append",
      "input_audio_buffer.commit",
    ]);
    expect(await stretch.text(forever)).toBe("8000 bytes");
    stretch.push(pcm);
    expect(await stretch.text(forever)).toBe("8000 bytes 16000 bytes");
    stretch.close();
    await until(() => types(seen[0])?.includes("closed") ?? false);
  });
  test.each<[string, Dialect, string]>([
    ["by setting", "beta", "session.created"],
    ["by the server's first word", "ga", "transcription_session.created"],
  ])("the older names, %s", async (_name, dialect, first) => {
    created = first;
    const stretch = model({ dialect }).open(how);
    stretch.push(new Int16Array(RATE));
    await stretch.text(forever);
    expect(seen[0]?.headers["openai-beta"]).toBe(dialect === "beta" ? "realtime=v1" : undefined);
    expect(seen[0]?.events[0]).toEqual({
      type: "transcription_session.update",
      session: {
        input_audio_format: "g711_ulaw",
        input_audio_transcription: { model: "live", language: "de" },
        turn_detection: null,
      },
    });
    stretch.close();
  });
  test("sound of another rate goes out at 24 kHz, a very short one is filled up", async () => {
    const stretch = model().open({ ...how, rate: 16_000 });
    stretch.push(new Int16Array(1600));
    expect(await stretch.text(forever)).toBe("4800 bytes");
    stretch.push(new Int16Array(16));
    expect(await stretch.text(forever)).toBe("4800 bytes 9600 bytes");
    expect(seen[0]?.events[0]).toMatchObject({
      session: { audio: { input: { format: { type: "audio/pcm", rate: 24_000 } } } },
    });
    stretch.close();
  });
  test("partial text is reported as it comes", async () => {
    const partials: string[] = [];
    committed = (s) => {
      for (const delta of ["Ja", ", bitte"])
        tell(s, { type: "conversation.item.input_audio_transcription.delta", item_id: "i", delta });
      complete(s, "Ja, bitte.");
    };
    const stretch = model().open({ ...how, onPartial: (text) => partials.push(text) });
    for (const _ of [1, 2]) {
      stretch.push(new Int16Array(RATE));
      await stretch.text(forever);
    }
    expect(partials).toEqual(["Ja", "Ja, bitte", "Ja, bitte. Ja", "Ja, bitte. Ja, bitte"]);
    stretch.close();
  });
  test("nothing pushed, nothing asked", async () => {
    const stretch = model().open(how);
    expect(await stretch.text(forever)).toBe("");
    stretch.close();
  });
  test("taken back, the words are not lost for the next question", async () => {
    let late = (): void => undefined;
    committed = (s) => {
      late = () => complete(s, "late");
    };
    const stretch = model().open(how);
    stretch.push(new Int16Array(RATE));
    const abort = new AbortController();
    const failed = expect(stretch.text(abort.signal)).rejects.toMatchObject({ code: "MODEL_ABORTED" });
    await until(() => types(seen[0])?.includes("input_audio_buffer.commit") ?? false);
    abort.abort();
    await failed;
    const next = stretch.text(forever);
    late();
    expect(await next).toBe("late");
    stretch.close();
    await expect(stretch.text(forever)).rejects.toMatchObject({ code: "MODEL_ABORTED" });
  });
  test("a lost session is replaced once and gets the audio without text again", async () => {
    committed = (s, times) => {
      if (times === 2) s.socket.terminate();
      else complete(s, `${times}: ${s.bytes}`);
    };
    const stretch = model().open(how);
    stretch.push(new Int16Array(RATE));
    expect(await stretch.text(forever)).toBe("1: 8000");
    stretch.push(new Int16Array(RATE / 2));
    expect(await stretch.text(forever)).toBe("1: 8000 3: 4000");
    expect(seen.length).toBe(2);
    stretch.close();
  });
  test("lost again, segments take over, for the next conversations too; the log says so without the server's message", async () => {
    const faults: ModelError[] = [];
    committed = (s) => tell(s, { type: "error", error: { code: "invalid_value", message: "secret words" } });
    const clock = virtualClock();
    const instead = pieces();
    const live = model({ clock, instead, faults });
    const stretch = live.open(how);
    stretch.push(new Int16Array(RATE));
    expect(await stretch.text(forever)).toBe("8000 pieced");
    stretch.push(new Int16Array(500));
    expect(await stretch.text(forever)).toBe("8500 pieced");
    expect(faults.map((f) => f.message)).toEqual([
      "the transcription session failed (invalid_value); check STT_BASE_URL",
    ]);
    live.open(how).close();
    expect([seen.length, instead.opened.length]).toEqual([2, 2]);
    await clock.advance(30_001);
    live.open(how).close();
    expect(instead.opened.length).toBe(2);
    stretch.close();
    expect(instead.opened[0]?.closed).toBe(true);
  });
  test("a server that is silent for 5 s is not waited for again", async () => {
    const clock = virtualClock();
    committed = () => undefined;
    const stretch = model({ clock }).open(how);
    stretch.push(new Int16Array(RATE));
    const words = stretch.text(forever);
    await until(() => types(seen[0])?.includes("input_audio_buffer.commit") ?? false);
    stretch.push(new Int16Array(RATE));
    await clock.advance(5001);
    expect(await words).toBe("16000 pieced");
    await until(() => types(seen[0])?.includes("closed") ?? false);
    stretch.close();
  });
  test("no server at all: segments", async () => {
    const instead = pieces();
    const nowhere = realtimeTranscription({
      address: { base_url: "http://127.0.0.1:9/v1", key: undefined, model: "live", check: "STT_BASE_URL" },
      dialect: "ga",
      clock: systemClock,
      segmented: instead.model,
    });
    const stretch = nowhere.open(how);
    stretch.push(new Int16Array(RATE));
    expect(await stretch.text(forever)).toBe("8000 pieced");
    stretch.close();
  });
  test("very long speech is committed on the way", async () => {
    const stretch = model().open(how);
    for (let second = 0; second < 31; second++) stretch.push(new Int16Array(RATE));
    await until(() => types(seen[0])?.includes("input_audio_buffer.commit") ?? false);
    stretch.push(new Int16Array(RATE));
    expect(await stretch.text(forever)).toBe("248000 bytes 256000 bytes");
    stretch.close();
  });
});
