/**
 * A script for pages, by which the media of a room go through a port of this machine: Chromium's own rules for addresses do not hold for WebRTC. The page is told of one candidate of the server,
 * by UDP at `to` in place of `from`, and the server of none of the page, so that there is no other way between them.
 */
export const mediaDetour = (from: number, to: number): string => `(() => {
  const { prototype } = RTCPeerConnection;
  const ofServer = (line) => / udp /i.test(line) && line.includes(" 127.0.0.1 ${from} ") ? line.replace(" ${from} ", " ${to} ") : "";
  const sdpOf = (sdp, seen) => sdp.split("\\r\\n").flatMap((line) => line.startsWith("a=candidate:") ? seen(line) || [] : line).join("\\r\\n");
  const instead = (name, make) => { prototype[name] = make(prototype[name]); };
  instead("addIceCandidate", (add) => async function (given) {
    const candidate = given && given.candidate ? ofServer(given.candidate) : "";
    if (candidate) return add.call(this, { ...(given.toJSON ? given.toJSON() : given), candidate });
  });
  instead("setRemoteDescription", (set) => function ({ type, sdp }) {
    return set.call(this, { type, sdp: sdpOf(sdp, ofServer) });
  });
  for (const name of ["createOffer", "createAnswer"])
    instead(name, (create) => async function (...how) {
      const { type, sdp } = await create.apply(this, how);
      return { type, sdp: sdpOf(sdp, () => "") };
    });
  const { get, set } = Object.getOwnPropertyDescriptor(prototype, "onicecandidate");
  Object.defineProperty(prototype, "onicecandidate", {
    get,
    set(told) { set.call(this, told && ((event) => { if (!event.candidate) told.call(this, event); })); },
  });
})();`;
