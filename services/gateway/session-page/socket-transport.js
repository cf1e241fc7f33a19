/* A session's media over the WebSocket of the deployment itself: one of the two transports of the web SDK (docs/rtc.md). */
/** The socket opens in this time, ms. */
const OPEN_MS = 3000;
/** A ping that is not answered for longer, ms: the network is gone, which closes no socket. */
const ANSWER_MS = 3000;
/** More than this waits unsent: what is said now would come too late, bytes. */
const MAX_UNSENT = 32000;
/** Close code of a socket whose place another has taken. */
const REPLACED = 4001;

/** The loudspeaker of a page, which outlives its sockets. */
function loudspeakerOf(media) {
  if (!media.loudspeaker) {
    media.loudspeaker = new AudioWorkletNode(media.context, "loudspeaker", {
      numberOfInputs: 0,
      outputChannelCount: [1],
    });
    media.loudspeaker.connect(media.context.destination);
    media.loudspeaker.port.start();
  }
  return media.loudspeaker.port;
}

/** Connects; rejects where that does not come about. `received` gets messages, `lost` is told once that the connection is gone. */
export function openSocket({ url, token }, media, { received, lost }) {
  const loudspeaker = loudspeakerOf(media);
  const microphone = media.microphone.port;
  const socket = new WebSocket(url, ["callagent.session", token]);
  socket.binaryType = "arraybuffer";
  let muted = false;
  const send = (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
  const spoken = ({ data: { frame } }) => {
    if (socket.readyState !== WebSocket.OPEN || socket.bufferedAmount > MAX_UNSENT) return;
    socket.send(muted ? new Int16Array(frame.length) : frame);
  };
  const played = ({ data: name }) => send({ type: "mark", name });
  const stop = () => {
    microphone.removeEventListener("message", spoken);
    loudspeaker.removeEventListener("message", played);
  };
  const heard = ({ data }) => {
    if (typeof data !== "string") {
      const pcm = new Int16Array(data);
      return loudspeaker.postMessage({ type: "sound", pcm }, [pcm.buffer]);
    }
    const message = JSON.parse(data);
    if (message.type === "mark" || message.type === "clear") loudspeaker.postMessage(message, []);
    else received(message);
  };
  const transport = {
    name: "websocket",
    answerMs: ANSWER_MS,
    send,
    mute: (isMuted) => {
      muted = isMuted;
    },
    close: () => {
      stop();
      socket.close(1000);
    },
  };
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => socket.close(), OPEN_MS);
    socket.addEventListener("open", () => {
      clearTimeout(late);
      microphone.addEventListener("message", spoken);
      loudspeaker.addEventListener("message", played);
      send({ type: "start" });
      resolve(transport);
    });
    socket.addEventListener("message", heard);
    socket.addEventListener("close", ({ code }) => {
      clearTimeout(late);
      stop();
      reject(new Error("The socket is closed."));
      lost(transport, code === REPLACED);
    });
  });
}
