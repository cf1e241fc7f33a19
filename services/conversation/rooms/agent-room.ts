import {
  AudioFrame,
  AudioSource,
  AudioStream,
  DisconnectReason,
  LocalAudioTrack,
  Room,
  TrackKind,
  TrackPublishOptions,
  TrackSource,
  type RemoteParticipant,
  type RemoteTrack,
} from "@livekit/rtc-node";
import { recordIn } from "../../../shared/json.ts";
import { MS_PER_SECOND, type Clock } from "../../../shared/time/clock.ts";
import { startTimer } from "../../../shared/time/timer.ts";
import { CLIENT_IDENTITY, DATA_TOPIC, SPEAK_METHOD, type StayNews, type StayOrder } from "./room-messages.ts";
import { AskedUtterances, refusedUtterance } from "./asked-utterances.ts";
import { spareSound } from "./room-events.ts";
import { RoomPlayout } from "./room-playout.ts";

/** Samples a second, both ways; LiveKit resamples. */
const RATE = 16_000;
/** Length of the frames read, ms: what is collected for longer ones waits. */
const READ_MS = 10;
/** Bits a second of our voice: enough that Opus codes it as sound, not as speech alone. */
const BITRATE = 96_000n;
const SILENCE = new Uint8Array(((RATE * READ_MS) / MS_PER_SECOND) * 2);
/** The source keeps nothing: what waits in it is delay, and what a barge-in can't take back; and its own clock beside ours leaves gaps, for which the other side waits longer. */
const SOURCE_QUEUE_MS = 0;
/** How often it is asked whether packets of the client come: the stream invents sound where none do. */
const PACKETS_EVERY_MS = 2000;
const MAX_TEXT_BYTES = 16_384;

/** Why a client that leaves has left in order: it asked to, or it joined again. */
const IN_ORDER = new Set<DisconnectReason | undefined>([
  DisconnectReason.CLIENT_INITIATED,
  DisconnectReason.DUPLICATE_IDENTITY,
]);

/** Our side of one LiveKit room: speaks, hears the client's microphone, and exchanges text with it. */
export class AgentRoom {
  readonly #clock: Clock;
  readonly #tell: (news: StayNews) => void;
  readonly #room = new Room();
  readonly #source = new AudioSource(RATE, 1, SOURCE_QUEUE_MS);
  readonly #playout: RoomPlayout;
  readonly #asked: AskedUtterances;
  #heardBySomebody = false;
  /** The server's id of the client's present stay; "": it is not here with its microphone. */
  #client = "";
  /** The stay that was told of. */
  #told = "";
  #muted = false;
  #reconnecting = false;
  #packets = 0;
  #flowing = true;
  #closed = false;
  #stopLooking: () => void = () => undefined;

  constructor(clock: Clock, tell: (news: StayNews) => void) {
    this.#clock = clock;
    this.#tell = tell;
    spareSound(this.#room);
    this.#asked = new AskedUtterances(clock, (text) => tell({ kind: "text", text }));
    this.#playout = new RoomPlayout({
      capture: (pcm) => {
        // a source that is being closed rejects it
        void this.#source.captureFrame(new AudioFrame(pcm, RATE, 1, pcm.length)).catch(() => undefined);
      },
      played: (name) => tell({ kind: "mark", name }),
      rate: RATE,
    });
  }

  /** Joins the room and offers our voice. Rejects where it can't. */
  async open(url: string, token: string): Promise<void> {
    this.#listen();
    await this.#room.connect(url, token, { autoSubscribe: true, dynacast: false });
    const local = this.#room.localParticipant;
    if (!local) throw new Error("no participant");
    local.registerRpcMethod(SPEAK_METHOD, ({ callerIdentity, payload }) =>
      callerIdentity === CLIENT_IDENTITY ? this.#asked.ask(payload) : refusedUtterance("", "FORBIDDEN"),
    );
    const options = new TrackPublishOptions({
      source: TrackSource.SOURCE_MICROPHONE,
      dtx: false,
      audioEncoding: { maxBitrate: BITRATE },
    });
    await local.publishTrack(LocalAudioTrack.createAudioTrack("agent", this.#source), options);
    this.#arrived();
    this.#lookForPackets();
  }

  /** Sends the next 10 ms. To be called every 10 ms. */
  tick(): void {
    this.#playout.tick();
  }

  /** Does what the session's process asks for. */
  take(order: StayOrder): void {
    if (order.kind === "audio") this.#playout.add(order.pcm);
    else if (order.kind === "mark") this.#playout.mark(order.name);
    else if (order.kind === "clear") this.#playout.clear();
    else if (order.kind === "text") this.#send(order.text);
  }

  /** Leaves the room, once what was sent is on its way. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopLooking();
    this.#room.removeAllListeners();
    await this.#room.disconnect().catch(() => undefined);
    await this.#source.close().catch(() => undefined);
  }

  #listen(): void {
    const room = this.#room;
    room.on("localTrackSubscribed", () => {
      this.#heardBySomebody = true;
      this.#arrived();
    });
    room.on("participantDisconnected", (participant) => this.#left(participant));
    room.on("trackSubscribed", (track, publication, { identity, sid }) => {
      if (identity !== CLIENT_IDENTITY || track.kind !== TrackKind.KIND_AUDIO) return;
      this.#muted = publication.muted ?? false;
      this.#flowing = true;
      this.#client = sid ?? "";
      this.#arrived();
      void this.#hear(track);
    });
    room.on("trackMuted", (_publication, { identity }) => {
      if (identity === CLIENT_IDENTITY) this.#muted = true;
    });
    room.on("trackUnmuted", (_publication, { identity }) => {
      if (identity === CLIENT_IDENTITY) this.#muted = false;
    });
    room.on("dataReceived", (payload, participant, _kind, topic) => {
      if (participant?.identity === CLIENT_IDENTITY && topic === DATA_TOPIC) this.#text(payload);
    });
    room.on("dtmfReceived", (_code, name) =>
      this.#tell({ kind: "text", text: JSON.stringify({ type: "digit", name }) }),
    );
    room.on("reconnecting", () => {
      if (!this.#reconnecting) this.#tell({ kind: "away" });
      this.#reconnecting = true;
    });
    room.on("reconnected", () => {
      this.#reconnecting = false;
      this.#arrived();
    });
    room.on("disconnected", (reason) => {
      if (this.#closed) return;
      const replaced = reason === DisconnectReason.DUPLICATE_IDENTITY;
      this.#tell({ kind: "lost", replaced, why: DisconnectReason[reason] ?? String(reason) });
    });
  }

  /** The client is here: its microphone is, and our voice was taken; the server says the latter once, of the first who does. */
  #arrived(): void {
    if (this.#client === "" || this.#client === this.#told || !this.#heardBySomebody) return;
    this.#told = this.#client;
    this.#tell({ kind: "here" });
  }

  #left({ sid, disconnectReason }: RemoteParticipant): void {
    // while we reconnect the server forgets whom it has told us of: not believed; and who was replaced leaves after the newcomer's arrival
    if (sid !== this.#client || this.#reconnecting) return;
    this.#client = "";
    this.#told = "";
    this.#tell({ kind: "left", inOrder: IN_ORDER.has(disconnectReason) });
  }

  async #hear(track: RemoteTrack): Promise<void> {
    for await (const { data } of new AudioStream(track, { sampleRate: RATE, numChannels: 1, frameSizeMs: READ_MS })) {
      if (this.#closed) return;
      if (this.#muted) this.#tell({ kind: "audio", pcm: SILENCE });
      else if (this.#flowing)
        this.#tell({ kind: "audio", pcm: new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice() });
    }
  }

  #text(payload: Uint8Array): void {
    if (payload.byteLength > MAX_TEXT_BYTES) return;
    const text = Buffer.from(payload).toString("utf8");
    // what was played we know ourselves
    if (recordIn(text)?.["type"] !== "mark") this.#tell({ kind: "text", text });
  }

  #send(text: string): void {
    this.#asked.told(text);
    const sent = this.#room.localParticipant?.publishData(Buffer.from(text), {
      reliable: true,
      topic: DATA_TOPIC,
      destination_identities: [CLIENT_IDENTITY],
    });
    void sent?.catch(() => undefined);
  }

  /** Whether packets of the client have come since the last look. */
  #lookForPackets(): void {
    this.#stopLooking = startTimer(this.#clock, PACKETS_EVERY_MS, () => {
      void this.#countPackets().finally(() => {
        if (!this.#closed) this.#lookForPackets();
      });
    });
  }

  async #countPackets(): Promise<void> {
    const stats = await this.#room.getRtcStats().catch(() => null);
    if (stats === null) {
      this.#flowing = false;
      return;
    }
    const packets = [...stats.publisherStats, ...stats.subscriberStats].reduce(
      (sum, { stats: of }) => sum + (of.case === "inboundRtp" ? Number(of.value.received?.packetsReceived ?? 0) : 0),
      0,
    );
    this.#flowing = packets !== this.#packets;
    this.#packets = packets;
  }
}
