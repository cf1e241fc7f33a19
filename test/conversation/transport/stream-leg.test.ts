import { describe, expect, test } from "@jest/globals";
import { MAX_FRAME_BYTES } from "../../../services/conversation/transport/leg-socket.ts";
import { BYTES, golden, open } from "../fixtures/stream-frames.ts";

describe.each(["twilio", "plivo", "telnyx"] as const)("%s", (carrier) => {
  const g = golden[carrier];
  const started = () => {
    const opened = open(carrier);
    for (const frame of g.hello) opened.socket.get(frame);
    opened.socket.get(g.start());
    opened.seen.length = 0;
    return opened;
  };

  test("a stream begins, brings audio and DTMF, and ends with its socket", () => {
    const { socket, seen } = open(carrier);
    for (const frame of [...g.hello, g.start(), g.media(1), g.media(2, "//8="), g.dtmf("5"), g.dtmf("#")])
      socket.get(frame);
    socket.emit("close");
    socket.emit("close");
    expect(seen).toEqual([
      ["ready", g.call_id, "pcmu", 8000],
      ["audio", BYTES],
      ["audio", [255, 255]],
      ["digit", "5"],
      ["digit", "#"],
      ["closed"],
    ]);
  });

  test("frames out are as documented; none before the stream, none after the end", () => {
    const { socket, leg } = open(carrier);
    leg.write(Uint8Array.from(BYTES));
    leg.mark("early");
    expect(socket.sent).toEqual([]);
    socket.get(g.start());
    leg.write(Uint8Array.from([9, ...BYTES, 9]).subarray(1, 5)); // a view into a larger buffer
    leg.mark('a "b"');
    leg.clear();
    leg.close();
    leg.write(Uint8Array.from(BYTES));
    leg.mark("late");
    leg.clear();
    leg.close();
    expect([socket.frames(), socket.closes]).toEqual([
      [g.out.media, g.out.mark, g.out.clear],
      [1000, "terminated"],
    ]);
  });

  test.each([
    ["audio/x-mulaw", 8000, "pcmu", 8000],
    ["audio/x-mulaw;rate=8000", "8000", "pcmu", 8000],
    ["PCMU", "8000", "pcmu", 8000],
    ["audio/x-alaw", 8000, "pcma", 8000],
    ["PCMA", undefined, "pcma", 8000],
    ["audio/x-l16", 16_000, "s16le", 16_000],
    ["L16", "24000", "s16le", 24_000],
    ["L16", 48_000, "s16le", 48_000],
  ])("%s at %s is supported", (encoding, rate, codec, samples) => {
    const { socket, seen } = open(carrier);
    socket.get(g.start(encoding, rate));
    expect(seen).toEqual([["ready", g.call_id, codec, samples]]);
  });

  test.each([
    ["OPUS", 16_000],
    ["G722", 8000],
    ["audio/x-l16", 11_025],
    ["L16", null],
    ["PCMU", 16_000],
    ["", 8000],
  ])("%s at %s is not supported: the stream is refused, with the reason", (encoding, rate) => {
    const { socket, leg, seen } = open(carrier);
    socket.get(g.start(encoding, rate));
    socket.get(g.media(1));
    leg.write(Uint8Array.from(BYTES));
    socket.emit("close");
    expect([seen, socket.closes, socket.sent]).toEqual([[["refused", "MEDIA_FORMAT_UNKNOWN"], ["closed"]], [1003], []]);
  });

  test("a frame that the carrier may not send is ignored and reported once", () => {
    const { socket, seen } = started();
    const large = JSON.stringify(g.media(1, "A".repeat(MAX_FRAME_BYTES)));
    for (const frame of [
      "",
      "{",
      "null",
      "[]",
      "5",
      '"media"',
      large,
      { event: "?" },
      { nothing: 1 },
      g.dtmf("12"),
      g.dtmf(5),
      { event: "dtmf" },
    ])
      socket.get(frame);
    for (const frame of [{ event: "media", media: 5 }, { event: "mark" }, g.media(1, "")]) socket.get(frame);
    socket.emit("message", Buffer.from(JSON.stringify(g.dtmf("1"))), true);
    expect(seen).toEqual([["fault"]]);
  });

  test("audio before the start, of our direction or with half a sample is dropped; a second start changes nothing", () => {
    const { socket, seen } = open(carrier);
    socket.get(g.media(1));
    socket.get(g.start("L16", 16_000));
    socket.get(g.start("PCMU", 8000));
    const ours = g.media(2);
    socket.get({ ...ours, media: { ...ours.media, track: "outbound" } });
    socket.get(g.media(2, Buffer.from([1, 2, 3]).toString("base64")));
    socket.get(g.media(3));
    expect(seen).toEqual([["ready", g.call_id, "s16le", 16_000], ["fault"], ["audio", BYTES]]);
  });

  test("marks return as played; unknown and repeated ones are ignored", () => {
    const { socket, leg, seen } = started();
    leg.mark("a");
    leg.mark("b");
    for (const name of ["a", "a", "z", "b"]) socket.get(g.mark(name));
    expect(seen).toEqual([
      ["mark", "a", "played"],
      ["mark", "b", "played"],
    ]);
  });

  test("marks before a clear are cleared, marks after it are played", () => {
    const { socket, leg, seen } = started();
    for (const name of ["a", "b", "c"]) leg.mark(name);
    socket.get(g.mark("a"));
    leg.clear();
    leg.mark("d");
    for (const name of ["b", "c", "d"]) socket.get(g.mark(name));
    leg.clear();
    expect(seen).toEqual([
      ["mark", "a", "played"],
      ["mark", "b", "cleared"],
      ["mark", "c", "cleared"],
      ["mark", "d", "played"],
    ]);
  });

  test("marks are bounded: one too many is cleared at once", () => {
    const { socket, leg, seen } = started();
    for (let i = 0; i <= 1000; i += 1) leg.mark(`m${i}`);
    expect([socket.sent.length, seen]).toEqual([1000, [["fault"], ["mark", "m1000", "cleared"]]]);
  });

  test("events before the receiver are delivered first, bounded, and the closing last", () => {
    const { socket, leg, seen, events } = open(carrier, false);
    socket.get(g.start());
    for (let i = 1; i <= 300; i += 1) socket.get(g.media(i));
    socket.emit("close");
    leg.listen(events);
    expect([seen.length, seen[0]?.[0], seen[99]]).toEqual([100, "ready", ["closed"]]);
  });

  test("a side that does not read is disconnected; so is a broken socket", () => {
    const { socket, leg } = started();
    socket.bufferedAmount = 1_048_577;
    leg.write(Uint8Array.from(BYTES));
    socket.emit("error", new Error("reset"));
    expect([socket.sent, socket.closes]).toEqual([[], ["terminated", "terminated"]]);
  });

  test("closed by us, no further event comes", () => {
    const { socket, leg, seen } = started();
    leg.close();
    socket.get(g.media(1));
    socket.emit("close");
    expect(seen).toEqual([["closed"]]);
  });

  if (g.stop)
    test("a stop is the end, whatever the socket does", () => {
      const { socket, seen } = started();
      socket.get(g.stop);
      socket.get(g.media(1));
      socket.emit("close");
      expect([seen, socket.closes]).toEqual([[["closed"]], [1000]]);
    });
});
