import { EventEmitter } from "node:events";
import { MAX_FRAME_BYTES, type LegSocket } from "../../../services/conversation/transport/leg-socket.ts";
import type { TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { readRelayFrame, textRelayLeg } from "../../../services/conversation/transport/text-relay-leg.ts";

/** A socket that remembers what was done to it. */
class FakeSocket extends EventEmitter {
  bufferedAmount = 0;
  readonly sent: unknown[] = [];
  readonly closes: (number | "terminated" | undefined)[] = [];
  send(data: string): void {
    this.sent.push(JSON.parse(data));
  }
  close(code?: number): void {
    this.closes.push(code);
  }
  terminate(): void {
    this.closes.push("terminated");
  }
  get<T>(data: T): void {
    this.emit("message", Buffer.from(typeof data === "string" ? data : JSON.stringify(data)), false);
  }
}

const recorder = (): { seen: unknown[][]; events: TextLegEvents } => {
  const seen: unknown[][] = [];
  const note =
    (name: string) =>
    (...args: unknown[]): void => {
      seen.push([name, ...args]);
    };
  return {
    seen,
    events: {
      ready: note("ready"),
      prompt: note("prompt"),
      digit: note("digit"),
      interrupt: note("interrupt"),
      speaking: note("speaking"),
      customer: note("customer"),
      silence: note("silence"),
      fault: note("fault"),
      closed: note("closed"),
    },
  };
};

test.each([
  [{ type: "setup", sessionId: "VX1", callSid: "CA1", from: "+1", to: "+2" }, ["ready", "CA1"]],
  [{ type: "setup" }, ["ready", null]],
  [{ type: "prompt", voicePrompt: "Yes.", lang: "en", last: true }, ["prompt", "Yes.", true]],
  [{ type: "prompt", voicePrompt: "Ye", last: false }, ["prompt", "Ye", false]],
  [{ type: "prompt", voicePrompt: 5 }, ["prompt", "", true]],
  [{ type: "dtmf", digit: "#" }, ["digit", "#"]],
  [
    { type: "interrupt", utteranceUntilInterrupt: "Ada, do", durationUntilInterruptMs: "460" },
    ["interrupt", "Ada, do"],
  ],
  [{ type: "info", name: "agentSpeaking", value: "off", ts: 1 }, ["speaking", false]],
  [{ type: "info", name: "clientSpeaking", value: "on" }, ["customer", true]],
  [{ type: "error", description: "Invalid message received: secret words" }, ["fault"]],
])("%j is told", (frame, expected) => {
  const { seen, events } = recorder();
  readRelayFrame(JSON.stringify(frame))?.(events);
  expect(seen).toEqual([expected]);
});

test.each([
  "",
  "{",
  "null",
  "[]",
  "5",
  '{"type":"play"}',
  '{"type":"dtmf","digit":"12"}',
  '{"type":"dtmf"}',
  '{"type":"info","name":"tokensPlayed","value":"x"}',
  JSON.stringify({ type: "prompt", voicePrompt: "x".repeat(MAX_FRAME_BYTES) }),
])("%.40s is ignored", (data) => {
  expect(readRelayFrame(data)).toBeNull();
});

describe("the leg", () => {
  const open = () => {
    const socket = new FakeSocket();
    const leg = textRelayLeg(socket as unknown as LegSocket);
    return { socket, leg, ...recorder() };
  };
  test("events before the receiver are delivered first, the closing last and once", () => {
    const { socket, leg, seen, events } = open();
    socket.get({ type: "setup", callSid: "CA1" });
    socket.get({ type: "prompt", voicePrompt: "Hello?" });
    socket.emit("close");
    socket.emit("close");
    leg.listen(events);
    expect(seen).toEqual([
      ["ready", "CA1"],
      ["prompt", "Hello?", true],
      ["closed", "closed"],
    ]);
  });
  test("early events are bounded, but the closing is delivered", () => {
    const { socket, leg, seen, events } = open();
    for (let i = 0; i < 300; i++) socket.get({ type: "dtmf", digit: "1" });
    socket.emit("close");
    leg.listen(events);
    expect(seen.length).toBe(100);
    expect(seen.at(-1)).toEqual(["closed", "closed"]);
  });
  test.each([
    [1000, "closed"],
    [1005, "closed"],
    [1001, "closed"],
    [1011, "broken"],
    [1006, "broken"],
  ])("a socket that ends with %i was %s by the other side", (code, how) => {
    const { socket, leg, seen, events } = open();
    leg.listen(events);
    socket.emit("close", code);
    expect(seen).toEqual([["closed", how]]);
  });
  test("a socket that we cut did not break off", () => {
    const { socket, leg, seen, events } = open();
    leg.listen(events);
    leg.close();
    leg.close();
    socket.emit("close", 1006);
    expect(seen).toEqual([["closed", "closed"]]);
  });
  test("sends tokens, end and close as the protocol says; nothing after the end", () => {
    const { socket, leg } = open();
    leg.say("Hel", { last: false, interruptible: true });
    leg.say("lo.", { last: true, interruptible: false });
    leg.end();
    leg.say("late", { last: true, interruptible: true });
    leg.end();
    leg.close();
    expect(socket.sent).toEqual([
      { type: "text", token: "Hel", last: false, interruptible: true },
      { type: "text", token: "lo.", last: true, interruptible: false },
      { type: "end" },
    ]);
    expect(socket.closes).toEqual(["terminated"]);
  });
  test("a leg that was not ended is closed in order", () => {
    const { socket, leg } = open();
    leg.close();
    expect(socket.closes).toEqual([1000]);
  });
  test("a side that does not read is disconnected; binary frames are ignored", () => {
    const { socket, leg, seen, events } = open();
    leg.listen(events);
    socket.emit("message", Buffer.from('{"type":"dtmf","digit":"1"}'), true);
    expect(seen).toEqual([]);
    socket.bufferedAmount = 2_000_000;
    leg.say("x", { last: true, interruptible: true });
    expect(socket.closes).toEqual(["terminated"]);
    expect(socket.sent).toEqual([]);
  });
});
