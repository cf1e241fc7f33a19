import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import { textRelayPipeline } from "../../../services/conversation/pipelines/text-relay/text-relay-pipeline.ts";
import { playbackEstimate } from "../../../services/conversation/pipelines/text-relay/playback-estimate.ts";
import type { SpeechEffect, PipelineHost } from "../../../services/conversation/pipelines/port.ts";
import type { DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { type ChatModel, type ModelAnswer } from "../../../services/conversation/providers/port.ts";
import { virtualClock, type VirtualClock } from "../../fixtures/virtual-clock.ts";

/** A leg whose carrier is the test. */
class FakeLeg implements TextLeg {
  readonly did: string[] = [];
  events: TextLegEvents | null = null;
  listen(events: TextLegEvents): void {
    this.events = events;
  }
  say(text: string, { last, interruptible }: { last: boolean; interruptible: boolean }): void {
    this.did.push(`${text}${last ? "|" : ""}${interruptible ? "" : "!"}`);
  }
  end(): void {
    this.did.push("<end>");
  }
  close(): void {
    this.did.push("<close>");
    this.events?.closed();
  }
}

interface Asked {
  onText(text: string): void;
  signal: AbortSignal;
  finish(text: string, calls?: ModelAnswer["calls"]): void;
  fail(error: Error): void;
}

/** A model that answers when the test says so. */
const scripted = (): { asked: Asked[]; model: ChatModel } => {
  const asked: Asked[] = [];
  return {
    asked,
    model: {
      answer: (_request, { signal, onText }) =>
        new Promise((resolve, reject) => {
          asked.push({
            signal,
            onText,
            fail: reject,
            finish: (text, calls = []) =>
              resolve({
                text,
                calls,
                first_token_ms: 1,
                total_ms: 2,
                prompt_tokens: 3,
                completion_tokens: 4,
                tries: 1,
              }),
          });
        }),
    },
  };
};

const think = (turn = 1, interruptible = true): SpeechEffect => ({
  type: "think",
  turn,
  messages: [],
  tools: [],
  interruptible,
});
const say = (text: string, interruptible = true): SpeechEffect => ({ type: "say", text, interruptible });
const end = (goodbye: string | null, at_once = false, transferred = false): SpeechEffect => ({
  type: "end",
  ended_by: "agent",
  goodbye,
  at_once,
  transferred,
});
const turnOver = () => new Promise((resolve) => setImmediate(resolve));

function open(over: Partial<PipelineHost> = {}) {
  const clock: VirtualClock = virtualClock();
  const leg = new FakeLeg();
  const told: DialogueEvent[] = [];
  const faults: string[] = [];
  const { asked, model } = scripted();
  const host: PipelineHost = {
    finality: () => null,
    ready: () => undefined,
    dispatch: (e) => told.push(e),
    listening: () => true,
    dtmfCollection: () => null,
    opening: () => false,
    idle_ms: 4000,
    sendDtmf: () => undefined,
    signals_beep: true,
    recordAnswer: () => undefined,
    recordError: (c) => faults.push(c),
    preview: () => [],
    speechSettings: { language: "en-US", voice: null, listening: DEFAULT_LISTENING },
    recordLatency: () => undefined,
    ...over,
  };
  const voice = textRelayPipeline(model, clock)(leg, host);
  return { clock, leg, told, faults, asked, voice, events: leg.events! };
}

describe("silence", () => {
  const text = "x".repeat(150); // ten seconds of speech
  const idles = (told: DialogueEvent[]) => told.filter((e) => e.type === "idle").length;
  const pass = async (clock: VirtualClock, ms: number) => {
    await clock.advance(ms);
    await turnOver();
  };
  test("counts from the estimated end of our speech", async () => {
    const { clock, told, voice } = open();
    voice.perform(say(text));
    await pass(clock, 14_000);
    expect(idles(told)).toBe(0);
    await pass(clock, 500);
    expect(idles(told)).toBe(1);
  });
  test("counts from the carrier's report where it gives one", async () => {
    const { clock, told, voice, events } = open();
    voice.perform(say(text));
    await pass(clock, 300);
    events.speaking(true);
    await pass(clock, 1000);
    events.speaking(false);
    await pass(clock, 3900);
    expect(idles(told)).toBe(0);
    await pass(clock, 200);
    expect(idles(told)).toBe(1);
  });
  test("begins anew with every word, key and interruption, and waits while the customer speaks", async () => {
    const { clock, told, events } = open();
    for (const act of [() => events.prompt("I", false), () => events.digit("1"), () => events.interrupt("")]) {
      await pass(clock, 3500);
      act();
    }
    await pass(clock, 3500);
    events.customer(true);
    await pass(clock, 20_000);
    expect(idles(told)).toBe(0);
    events.customer(false);
    await pass(clock, 4100);
    expect(idles(told)).toBe(1);
  });
  test("does not count while the model thinks, nor while the conversation waits for something else", async () => {
    const { clock, told, voice } = open();
    voice.perform(think());
    await pass(clock, 60_000);
    expect(idles(told)).toBe(0);
    const busy = open({ listening: () => false });
    busy.voice.perform(say("One moment."));
    await pass(busy.clock, 60_000);
    expect(idles(busy.told)).toBe(0);
  });
  test("silence reported right after new text must last; when that text sounds, its length counts again", () => {
    const clock = virtualClock();
    const p = playbackEstimate(clock);
    p.sent(text);
    p.audible(true);
    p.sent(text);
    p.audible(false);
    expect(p.leftMs()).toBe(1000);
    p.audible(true);
    expect(p.leftMs()).toBeGreaterThan(19_000);
    p.audible(false);
    expect(p.leftMs()).toBe(0);
  });
});

describe("the end", () => {
  test("the goodbye can't be interrupted, is heard to its end, then the session is ended", async () => {
    const { clock, leg, voice, events } = open();
    voice.perform(end("x".repeat(60)));
    expect(leg.did).toEqual([`${"x".repeat(60)}|!`]);
    for (let i = 0; i < 12; i++) {
      await clock.advance(250);
      await turnOver();
    }
    expect(leg.did.length).toBe(1);
    for (let i = 0; i < 8; i++) {
      await clock.advance(250);
      await turnOver();
    }
    expect(leg.did.at(-1)).toBe("<end>");
    events.closed();
    await voice.closed;
  });
  test("a carrier that does not close is closed; what is performed afterwards is not", async () => {
    const { clock, leg, voice } = open();
    voice.perform(end(null, true));
    voice.perform(say("late"));
    await turnOver();
    expect(leg.did).toEqual(["<end>"]);
    await clock.advance(5000);
    await turnOver();
    expect(leg.did).toEqual(["<end>", "<close>"]);
    await voice.closed;
  });
  test("a transferred call is left to the carrier: no end is sent", async () => {
    const { leg, voice } = open();
    voice.perform(end(null, false, true));
    await voice.closed;
    expect(leg.did).toEqual(["<close>"]);
  });
  test("the wait for our speech is bounded", async () => {
    const { clock, leg, voice } = open();
    voice.perform(end("x".repeat(10_000)));
    for (let i = 0; i < 182; i++) {
      await clock.advance(1000);
      await turnOver();
    }
    expect(leg.did.at(-1)).toBe("<end>");
  });
});
