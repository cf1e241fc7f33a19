import {
  AudioFrame,
  AudioSource,
  AudioStream,
  LocalAudioTrack,
  Room,
  type LocalParticipant,
  TrackPublishOptions,
  TrackSource,
} from "@livekit/rtc-node";
import { setTimeout as wait } from "node:timers/promises";
import { createDecoder, encodeSpeech } from "../../speech/modem.ts";
import type { SessionAccess, SessionClient } from "./session-port.ts";

/** Samples a second of a client's sound. */
export const ROOM_RATE = 16_000;
const RATE = ROOM_RATE;
const FRAME_MS = 10;
const FRAME = (RATE * FRAME_MS) / 1000;
const TOPIC = "callagent";
/** Sound goes out as it comes, as a microphone's does. */
const SOURCE_QUEUE_MS = 0;
/** Bits a second: so that the simulators' tones survive. */
const BITRATE = 96_000n;

/** A client in a session's LiveKit room, with a native library of LiveKit's own. */
export interface RoomClient extends SessionClient {
  /** Has an utterance spoken by remote procedure; what became of it. */
  speak(request: object): Promise<Record<string, unknown>>;
  /** Leaves the room, as a page does that is closed or loaded again. */
  leave(): Promise<void>;
}

/** Loudness above which a frame is speech. */
const LOUD = 500;

/** The sound of a sentence in whole frames. */
function framesOf(text: string): Int16Array[] {
  const pcm = encodeSpeech(text, RATE);
  return Array.from({ length: Math.ceil(pcm.length / FRAME) }, (_, i) => {
    const frame = new Int16Array(FRAME);
    frame.set(pcm.subarray(i * FRAME, (i + 1) * FRAME));
    return frame;
  });
}

/** Publishes a microphone in a room that was entered. `hears`: gives it sound of RATE in whole frames of 10 ms, which goes out at once. */
export async function microphoneIn(room: Room): Promise<{ local: LocalParticipant; hears(pcm: Int16Array): void }> {
  const source = new AudioSource(RATE, 1, SOURCE_QUEUE_MS);
  const options = new TrackPublishOptions({
    source: TrackSource.SOURCE_MICROPHONE,
    dtx: false,
    audioEncoding: { maxBitrate: BITRATE },
  });
  const local = room.localParticipant;
  if (!local) throw new Error("not in the room");
  await local.publishTrack(LocalAudioTrack.createAudioTrack("microphone", source), options);
  let given = Promise.resolve();
  const give = (pcm: Int16Array): void => {
    // one after the other: the library takes each in a task of its own
    given = given.then(() => source.captureFrame(new AudioFrame(pcm, RATE, 1, FRAME)).catch(() => undefined));
  };
  return {
    local,
    hears: (pcm) => {
      for (let at = 0; at < pcm.length; at += FRAME) give(pcm.slice(at, at + FRAME));
    },
  };
}

/** Joins a session's room. Rejects where it is not let in. */
export async function joinRoom(access: SessionAccess): Promise<RoomClient> {
  const room = new Room();
  const messages: Record<string, unknown>[] = [];
  const words: string[] = [];
  const speech: Int16Array[] = [];
  let first: number | null = null;
  let frozen = false;
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
  const { local, hears } = await microphoneIn(room);
  void (async () => {
    for (let next = performance.now() + FRAME_MS; room.isConnected; next += FRAME_MS) {
      const pcm = speech.shift() ?? new Int16Array(FRAME);
      if (!frozen) hears(pcm);
      await wait(Math.max(0, next - performance.now()));
    }
  })();
  const leave = (): void => void room.disconnect();
  return {
    messages,
    heard: () => words.join(" "),
    firstSoundMs: () => first,
    say: (text) => void speech.push(...framesOf(text)),
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
    freeze: () => {
      frozen = true;
    },
    drop: leave,
    close: leave,
    closed,
  };
}
