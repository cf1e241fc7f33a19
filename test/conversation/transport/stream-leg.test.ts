import { EventEmitter } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { memoryLeg } from "../fixtures/memory-leg.ts";
import { audioLeg, type StreamWord } from "../../../services/conversation/transport/stream-legs.ts";
import type { MediaLegEvents } from "../../../services/conversation/transport/port.ts";
import { MAX_FRAME_BYTES } from "../../../services/conversation/transport/text-relay-leg.ts";

/** A socket that remembers what was done to it. */
class FakeSocket extends EventEmitter {
  bufferedAmount = 0;
  readonly sent: string[] = [];
  readonly closes: (number | "terminated" | undefined)[] = [];
  send(data: string): void {
    this.sent.push(data);
  }
  close(code?: number): void {
    this.closes.push(code);
  }
  terminate(): void {
    this.closes.push("terminated");
  }
  get(frame: unknown): void {
    this.emit("message", Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame)), false);
  }
  frames(): unknown[] {
    return this.sent.map((text): unknown => JSON.parse(text));
  }
}

type Seen = [string, ...unknown[]];
const receiver = (): { seen: Seen[]; events: MediaLegEvents } => {
  const seen: Seen[] = [];
  return {
    seen,
    events: {
      ready: (call_id, { codec, rate }) => {
        seen.push(["ready", call_id, codec, rate]);
      },
      audio: (frame) => {
        seen.push(["audio", [...frame]]);
      },
      digit: (digit) => {
        seen.push(["digit", digit]);
      },
      mark: (name, how) => {
        seen.push(["mark", name, how]);
      },
      fault: () => {
        seen.push(["fault"]);
      },
      closed: () => {
        seen.push(["closed"]);
      },
    },
  };
};
const open = (carrier: StreamWord, listen = true) => {
  const socket = new FakeSocket();
  const leg = audioLeg(carrier, socket);
  const { seen, events } = receiver();
  if (listen) leg.listen(events);
  return { socket, leg, seen, events };
};

const BYTES = [0, 127, 128, 255];
const payload = Buffer.from(BYTES).toString("base64");
const format = (encoding: string, rate: unknown = 8000) => ({ encoding, sampleRate: rate, channels: 1 });

/** Frames as the carriers document them (voice.md 1). */
const golden = {
  twilio: {
    hello: [{ event: "connected", protocol: "Call", version: "1.0.0" }],
    start: (encoding = "audio/x-mulaw", rate: unknown = 8000) => ({
      event: "start",
      sequenceNumber: "1",
      streamSid: "MZ1",
      start: {
        streamSid: "MZ1",
        accountSid: "AC1",
        callSid: "CA1",
        tracks: ["inbound"],
        customParameters: {},
        mediaFormat: format(encoding, rate),
      },
    }),
    call_id: "CA1",
    media: (chunk: number, bytes = payload) => ({
      event: "media",
      streamSid: "MZ1",
      sequenceNumber: String(chunk + 1),
      media: { track: "inbound", chunk: String(chunk), timestamp: String(chunk * 20), payload: bytes },
    }),
    dtmf: (digit: unknown) => ({ event: "dtmf", streamSid: "MZ1", dtmf: { track: "inbound_track", digit } }),
    mark: (name: string) => ({ event: "mark", streamSid: "MZ1", mark: { name } }),
    stop: { event: "stop", streamSid: "MZ1", stop: { accountSid: "AC1", callSid: "CA1" } },
    out: {
      media: { event: "media", streamSid: "MZ1", media: { payload } },
      mark: { event: "mark", streamSid: "MZ1", mark: { name: 'a "b"' } },
      clear: { event: "clear", streamSid: "MZ1" },
    },
  },
  plivo: {
    hello: [],
    start: (encoding = "audio/x-mulaw", rate: unknown = 8000) => ({
      sequenceNumber: 0,
      event: "start",
      start: {
        callId: "uuid-1",
        streamId: "st-1",
        accountId: "MA1",
        tracks: ["inbound"],
        mediaFormat: { encoding, sampleRate: rate },
      },
      extra_headers: "attempt=a1",
    }),
    call_id: null, // the dialer knows the call by another name
    media: (chunk: number, bytes = payload) => ({
      sequenceNumber: chunk,
      streamId: "st-1",
      event: "media",
      media: { track: "inbound", timestamp: "1", chunk, payload: bytes },
      extra_headers: "",
    }),
    dtmf: (digit: unknown) => ({ event: "dtmf", streamId: "st-1", dtmf: { track: "inbound", digit, timestamp: "1" } }),
    mark: (name: string) => ({ event: "playedStream", streamId: "st-1", name }),
    stop: null,
    out: {
      media: { event: "playAudio", media: { contentType: "audio/x-mulaw", sampleRate: 8000, payload } },
      mark: { event: "checkpoint", streamId: "st-1", name: 'a "b"' },
      clear: { event: "clearAudio", streamId: "st-1" },
    },
  },
  telnyx: {
    hello: [{ event: "connected", version: "1.0.0" }],
    start: (encoding = "PCMU", rate: unknown = 8000) => ({
      event: "start",
      sequence_number: "1",
      stream_id: "S1",
      start: {
        user_id: "U",
        call_control_id: "v3:abc",
        call_session_id: "ff",
        from: "+1",
        to: "+2",
        client_state: "eA==",
        media_format: { encoding, sample_rate: rate, channels: 1 },
      },
    }),
    call_id: "v3:abc",
    media: (chunk: number, bytes = payload) => ({
      event: "media",
      sequence_number: String(chunk + 3),
      stream_id: "S1",
      media: { track: "inbound", chunk: String(chunk), timestamp: "5", payload: bytes },
    }),
    dtmf: (digit: unknown) => ({
      event: "dtmf",
      stream_id: "S1",
      occurred_at: "2026-11-21T10:00:00Z",
      sequence_number: "5",
      dtmf: { digit },
    }),
    mark: (name: string) => ({ event: "mark", sequence_number: "4", stream_id: "S1", mark: { name } }),
    stop: { event: "stop", sequence_number: "5", stream_id: "S1", stop: { call_control_id: "v3:abc", user_id: "U" } },
    out: {
      media: { event: "media", media: { payload } },
      mark: { event: "mark", mark: { name: 'a "b"' } },
      clear: { event: "clear" },
    },
  },
} as const;

describe.each(["twilio", "plivo", "telnyx"] as const)("%s", (carrier) => {
  const g = golden[carrier];
  const started = () => {
    const opened = open(carrier);
    for (const frame of g.hello) opened.socket.get(frame);
    opened.socket.get(g.start());
    opened.seen.length = 0;
    return opened;
  };

  test("a stream begins, is heard, keyed on, and over when its socket closes", () => {
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
  ])("%s at %s is spoken", (encoding, rate, codec, samples) => {
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
  ])("%s at %s is not: the stream is closed with a fault", (encoding, rate) => {
    const { socket, leg, seen } = open(carrier);
    socket.get(g.start(encoding, rate));
    socket.get(g.media(1));
    leg.write(Uint8Array.from(BYTES));
    socket.emit("close");
    expect([seen, socket.closes, socket.sent]).toEqual([[["fault"], ["closed"]], [1003], []]);
  });

  test("what is no frame of the carrier is ignored, and told once", () => {
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

  test("sound before the stream, of our own direction, or half a sample is not heard; a second start changes nothing", () => {
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

  test("marks come back as played; unknown ones and repeats are nobody's", () => {
    const { socket, leg, seen } = started();
    leg.mark("a");
    leg.mark("b");
    for (const name of ["a", "a", "z", "b"]) socket.get(g.mark(name));
    expect(seen).toEqual([
      ["mark", "a", "played"],
      ["mark", "b", "played"],
    ]);
  });

  test("what a clear threw away is cleared, what is marked after it is played", () => {
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

  test("marks are bounded: of one too many it is said at once that it was not played", () => {
    const { socket, leg, seen } = started();
    for (let i = 0; i <= 1000; i += 1) leg.mark(`m${i}`);
    expect([socket.sent.length, seen]).toEqual([1000, [["fault"], ["mark", "m1000", "cleared"]]]);
  });

  test("what came before anybody listened is told first, bounded, and the closing last", () => {
    const { socket, leg, seen, events } = open(carrier, false);
    socket.get(g.start());
    for (let i = 1; i <= 300; i += 1) socket.get(g.media(i));
    socket.emit("close");
    leg.listen(events);
    expect([seen.length, seen[0]?.[0], seen[99]]).toEqual([100, "ready", ["closed"]]);
  });

  test("a side that does not read is let go; a socket that breaks too", () => {
    const { socket, leg } = started();
    socket.bufferedAmount = 1_048_577;
    leg.write(Uint8Array.from(BYTES));
    socket.emit("error", new Error("reset"));
    expect([socket.sent, socket.closes]).toEqual([[], ["terminated", "terminated"]]);
  });

  test("closed by us, nothing more is heard", () => {
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

describe("what only one of them has", () => {
  test("Plivo presses keys in the stream, the others by command", () => {
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
  test("Plivo tells nothing of what was cleared: it is told at once, and what comes late is nobody's", () => {
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
  test("nobody's stream is refused", () => {
    const { socket, seen } = open("none");
    socket.get(golden.twilio.start());
    socket.emit("close");
    expect([seen, socket.closes]).toEqual([[["fault"], ["closed"]], [1003]]);
  });
});

describe("a leg in memory", () => {
  test("plays what was written, tells of marks on the way, and forgets what was cleared", () => {
    const { leg, far } = memoryLeg("room", { codec: "s16le", rate: 16_000 });
    const { seen, events } = receiver();
    far.speak(Uint8Array.from([1]));
    leg.listen(events);
    far.press("3");
    leg.write(Uint8Array.from([2]));
    leg.mark("a");
    leg.write(Uint8Array.from([3]));
    leg.mark("b");
    expect([far.play(1), far.waiting()]).toEqual([[Uint8Array.from([2])], 1]);
    leg.clear();
    leg.sendDtmf?.("9");
    far.complain();
    far.hangUp();
    leg.close();
    far.speak(Uint8Array.from([1]));
    expect(seen).toEqual([
      ["ready", "room", "s16le", 16_000],
      ["audio", [1]],
      ["digit", "3"],
      ["mark", "a", "played"],
      ["mark", "b", "cleared"],
      ["fault"],
      ["closed"],
    ]);
    expect([far.keys(), far.clears(), far.isClosed(), far.play(5)]).toEqual([["9"], 1, true, []]);
  });
});
