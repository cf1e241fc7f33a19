import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  Room,
  TrackPublishOptions,
  TrackSource,
} from "@livekit/rtc-node";
import { setTimeout as wait } from "node:timers/promises";
import { createDecoder, encodeSpeech } from "../../../local/speech/modem.ts";
import type { SessionAccess } from "../../../local/harness/session-client.ts";

const RATE = 16_000;
const FRAME_MS = 10;
const FRAME = (RATE * FRAME_MS) / 1000;
const TOPIC = "callagent";

/** A client in a session's LiveKit room, with a native library of LiveKit's own. */
export interface RoomClient {
  /** Words of the agent that came so far. */
  heard(): string;
  /** JSON messages that came so far. */
  readonly messages: readonly Record<string, unknown>[];
  /** When the agent's first loud sound came, ms after the room was joined; null: none has. */
  firstSoundMs(): number | null;
  say(text: string): void;
  send(message: object): void;
  /** Has an utterance spoken by remote procedure; what became of it. */
  speak(request: object): Promise<Record<string, unknown>>;
  /** Leaves the room, as a page does that is closed or loaded again. */
  leave(): Promise<void>;
  /** Who is in the room besides. */
  others(): string[];
  /** Resolves with the reason once the room is left or lost. */
  readonly closed: Promise<number>;
}

/** Loudness above which a frame is speech. */
const LOUD = 500;

/** Joins a session's room. Rejects where it is not let in. */
export async function joinRoom(access: SessionAccess): Promise<RoomClient> {
  const room = new Room();
  const messages: Record<string, unknown>[] = [];
  const words: string[] = [];
  const speech: Int16Array[] = [];
  let first: number | null = null;
  const decoder = createDecoder(RATE, { heard: (word) => void words.push(word) });
  const closed = new Promise<number>((resolve) => {
    room.on("disconnected", resolve);
  });
  room.on("dataReceived", (payload, _participant, _kind, topic) => {
    if (topic === TOPIC) messages.push(JSON.parse(Buffer.from(payload).toString()) as Record<string, unknown>);
  });
  const began = performance.now();
  room.on("trackSubscribed", (track) => {
    void (async () => {
      for await (const { data } of new AudioStream(track, { sampleRate: RATE, numChannels: 1, frameSizeMs: 20 })) {
        if (first === null && data.some((sample) => Math.abs(sample) > LOUD)) first = performance.now() - began;
        decoder.push(data.slice());
      }
    })();
  });
  await room.connect(access.url, access.token, { autoSubscribe: true, dynacast: false });
  const source = new AudioSource(RATE, 1, 40);
  const options = new TrackPublishOptions({
    source: TrackSource.SOURCE_MICROPHONE,
    dtx: false,
    audioEncoding: { maxBitrate: 96_000n },
  });
  const local = room.localParticipant;
  if (!local) throw new Error("not in the room");
  await local.publishTrack(LocalAudioTrack.createAudioTrack("microphone", source), options);
  void (async () => {
    for (let next = performance.now() + FRAME_MS; room.isConnected; next += FRAME_MS) {
      const pcm = speech.shift() ?? new Int16Array(FRAME);
      void source.captureFrame(new AudioFrame(pcm, RATE, 1, FRAME)).catch(() => undefined);
      await wait(Math.max(0, next - performance.now()));
    }
  })();
  return {
    messages,
    heard: () => words.join(" "),
    firstSoundMs: () => first,
    say(text) {
      const pcm = encodeSpeech(text, RATE);
      for (let at = 0; at < pcm.length; at += FRAME) {
        const frame = new Int16Array(FRAME);
        frame.set(pcm.subarray(at, at + FRAME));
        speech.push(frame);
      }
    },
    send: (message) => void local.publishData(Buffer.from(JSON.stringify(message)), { reliable: true, topic: TOPIC }),
    speak: async (request) =>
      JSON.parse(
        await local.performRpc({
          destinationIdentity: "agent",
          method: "speak",
          payload: JSON.stringify(request),
          responseTimeout: 5000,
        }),
      ) as Record<string, unknown>,
    leave: () => room.disconnect(),
    others: () => [...room.remoteParticipants.keys()],
    closed,
  };
}
