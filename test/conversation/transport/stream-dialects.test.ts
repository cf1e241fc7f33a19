import { describe, expect, test } from "@jest/globals";
import { BYTES, golden, open, payload } from "../fixtures/stream-frames.ts";

test.each([
  [
    "twilio",
    '{"event":"media","streamSid":"MZ1","media":{"payload":"AH+A/w=="}}',
    '{"event":"mark","streamSid":"MZ1","mark":{"name":"m1"}}',
    '{"event":"clear","streamSid":"MZ1"}',
  ],
  [
    "plivo",
    '{"event":"playAudio","media":{"contentType":"audio/x-mulaw","sampleRate":8000,"payload":"AH+A/w=="}}',
    '{"event":"checkpoint","streamId":"st-1","name":"m1"}',
    '{"event":"clearAudio","streamId":"st-1"}',
  ],
  [
    "telnyx",
    '{"event":"media","media":{"payload":"AH+A/w=="}}',
    '{"event":"mark","mark":{"name":"m1"}}',
    '{"event":"clear"}',
  ],
] as const)("%s receives exactly these bytes", (carrier, media, mark, clear) => {
  const { socket, leg } = open(carrier);
  socket.get(golden[carrier].start());
  leg.write(Uint8Array.from(BYTES));
  leg.mark("m1");
  leg.clear();
  expect(socket.sent).toEqual([media, mark, clear]);
});

test("a stream id that reads like a placeholder stays what it is", () => {
  const { socket, leg } = open("twilio");
  socket.get({ ...golden.twilio.start(), streamSid: "{payload}" });
  leg.write(Uint8Array.from(BYTES));
  expect(socket.frames()).toEqual([{ event: "media", streamSid: "{payload}", media: { payload } }]);
});

describe("differences between carriers", () => {
  test("Plivo sends DTMF in the stream, the others do not", () => {
    const { socket, leg } = open("plivo");
    socket.get(golden.plivo.start("audio/x-l16", "16000"));
    leg.sendDtmf?.("12#");
    leg.write(Uint8Array.from(BYTES));
    expect(socket.frames()).toEqual([
      { event: "sendDTMF", dtmf: "12#" },
      { event: "playAudio", media: { contentType: "audio/x-l16", sampleRate: 16_000, payload } },
    ]);
    expect([open("twilio").leg.sendDtmf, open("telnyx").leg.sendDtmf]).toEqual([undefined, undefined]);
  });
  test("Plivo does not return cleared marks: they are cleared at once, and late ones are ignored", () => {
    const { socket, leg, seen } = open("plivo");
    socket.get(golden.plivo.start());
    leg.mark("a");
    leg.clear();
    expect(seen.slice(1)).toEqual([["mark", "a", "cleared"]]);
    socket.get({ event: "clearedAudio", streamId: "st-1", sequenceNumber: 2 });
    socket.get(golden.plivo.mark("a"));
    expect(seen.length).toBe(2);
  });
  test("Telnyx: out of order, repeated and lost frames", () => {
    const { socket, seen } = open("telnyx");
    socket.get(golden.telnyx.start());
    for (const chunk of [1, 3, 2, 2, 1, 4, 6, 7, 8, 9, 10, 5, 12])
      socket.get(golden.telnyx.media(chunk, Buffer.from([chunk]).toString("base64")));
    expect(seen.slice(1).map(([, bytes]) => bytes)).toEqual([[1], [2], [3], [4], [6], [7], [8], [9], [10]]);
    socket.get(golden.telnyx.stop);
    expect(seen.slice(-2)).toEqual([["audio", [12]], ["closed"]]);
  });
  test("a complaint of the carrier is a fault each time", () => {
    const { socket, seen } = open("telnyx");
    socket.get({ event: "error", stream_id: "S1", payload: { code: 100002, title: "secret" } });
    socket.get({ event: "error", stream_id: "S1" });
    expect(seen).toEqual([["fault"], ["fault"]]);
  });
  test("a stream without a dialect is refused", () => {
    const { socket, seen } = open("none");
    socket.get(golden.twilio.start());
    socket.emit("close");
    expect([seen, socket.closes]).toEqual([[["refused", "MEDIA_UNEXPECTED"], ["closed"]], [1003]]);
  });
});
