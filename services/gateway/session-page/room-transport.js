/* A session's media in a LiveKit room: one of the two transports of the web SDK (docs/rtc.md). */
const TOPIC = "callagent";
/** The next step into the room (its server's answer, the media's way, the agent's sound, its hello) comes in this time, ms: a server that is away lets none happen, a slow machine each of them late. */
const STEP_MS = 10000;
const STEPS = ["signalConnected", "connected", "localTrackPublished", "trackSubscribed"];
/** A ping that is not answered for longer, ms: an agent whose process has died is back sooner. */
const ANSWER_MS = 5000;
/** Bits a second of the voice that is sent. */
const BITRATE = 64000;

/** Whether this browser can be in a room. */
export const canEnterRooms = () => typeof RTCPeerConnection === "function";

/** Says that the next step into a room has not come in its time, until it is stopped. */
function watchSteps(room, late) {
  let timer;
  const stepped = () => {
    clearTimeout(timer);
    timer = setTimeout(late, STEP_MS);
  };
  for (const step of STEPS) room.on(step, stepped);
  stepped();
  return () => {
    for (const step of STEPS) room.off(step, stepped);
    clearTimeout(timer);
  };
}

/** Enters the room; rejects where that does not come about. `received` gets messages, `lost` is told once that the room is left. */
export async function openRoom({ url, token }, media, { received, lost }) {
  const { DisconnectReason, Room, Track } = await import(new URL("livekit-client.mjs", import.meta.url));
  const room = new Room({ webAudioMix: { audioContext: media.context }, stopLocalTrackOnUnpublish: false });
  // a track of its own: leaving a room does not stop the microphone
  const microphone = media.stream.getAudioTracks()[0].clone();
  let isOver = false;
  const leave = async () => {
    if (isOver) return;
    isOver = true;
    microphone.stop();
    await room.disconnect();
  };
  const transport = {
    name: "livekit",
    answerMs: ANSWER_MS,
    send: (message) => {
      const bytes = new TextEncoder().encode(JSON.stringify(message));
      void room.localParticipant.publishData(bytes, { reliable: true, topic: TOPIC }).catch(() => undefined);
    },
    mute: (isMuted) => {
      const { track } = room.localParticipant.getTrackPublication(Track.Source.Microphone) || {};
      if (track) void (isMuted ? track.mute() : track.unmute());
    },
    close: () => void leave(),
  };
  let entered;
  const hello = new Promise((resolve) => {
    entered = resolve;
  });
  const stop = watchSteps(room, () => entered(false));
  room.on("trackSubscribed", (track) => {
    track.attach();
    // what was sent before we could receive it comes again
    transport.send({ type: "start" });
  });
  room.on("trackUnsubscribed", (track) => track.detach());
  room.on("dataReceived", (payload, _participant, _kind, topic) => {
    if (topic !== TOPIC || isOver) return;
    const message = JSON.parse(new TextDecoder().decode(payload));
    if (message.type === "hello") entered(true);
    received(message);
  });
  room.on("disconnected", (reason) => {
    entered(false);
    if (isOver) return;
    isOver = true;
    microphone.stop();
    lost(transport, reason === DisconnectReason.DUPLICATE_IDENTITY);
  });
  try {
    await Promise.race([room.connect(url, token), hello]);
    const how = { source: Track.Source.Microphone, dtx: false, audioPreset: { maxBitrate: BITRATE } };
    await Promise.race([room.localParticipant.publishTrack(microphone, how), hello]);
    if (!(await hello)) throw new Error("The agent is not in the room.");
    return transport;
  } catch (error) {
    await leave();
    throw error;
  } finally {
    stop();
  }
}
