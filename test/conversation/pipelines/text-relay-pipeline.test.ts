import { DEFAULT_LISTENING } from "../../../shared/contracts/records/listening-settings.ts";
import { textRelayPipeline } from "../../../services/conversation/pipelines/text-relay/text-relay-pipeline.ts";
import type { SpeechEffect, PipelineHost } from "../../../services/conversation/pipelines/port.ts";
import type { ChatMessage } from "../../../services/conversation/dialogue/chat-messages.ts";
import type { DialogueEvent } from "../../../services/conversation/dialogue/dialogue-state.ts";
import type { TextLeg, TextLegEvents } from "../../../services/conversation/transport/port.ts";
import { ModelError, type ChatModel, type ModelAnswer } from "../../../services/conversation/providers/port.ts";
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

const think = (turn = 1, interruptible = true, messages: readonly ChatMessage[] = []): SpeechEffect => ({
  type: "think",
  turn,
  messages,
  tools: [],
  interruptible,
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

describe("speaking", () => {
  test("tokens go out as they come, the utterance is closed, and what was said is told", async () => {
    const { leg, told, asked, voice } = open();
    voice.perform(think(7));
    asked[0]!.onText("Hello");
    asked[0]!.onText(" Ada.");
    expect(leg.did).toEqual(["Hello", " Ada."]);
    expect(voice.spokenText()).toBe("Hello Ada.");
    asked[0]!.finish("Hello Ada.", [{ id: "c", name: "f", arguments: "{}" }]);
    await turnOver();
    expect(leg.did).toEqual(["Hello", " Ada.", "|"]);
    expect(told).toEqual([
      { type: "model_answered", turn: 7, text: "Hello Ada.", calls: [{ id: "c", name: "f", arguments: "{}" }] },
    ]);
    expect(voice.spokenText()).toBe("");
  });
  test("an answer without words opens no utterance; markup is not spoken and not told", async () => {
    const { leg, told, asked, voice } = open();
    voice.perform(think());
    asked[0]!.finish("");
    await turnOver();
    expect(leg.did).toEqual([]);
    voice.perform(think(2, false));
    asked[1]!.onText("**Hi** 😀");
    asked[1]!.finish("**Hi** 😀");
    await turnOver();
    expect(leg.did).toEqual(["Hi!", "|!"]);
    expect(told.at(-1)).toMatchObject({ text: "Hi" });
  });
  test.each<[string, string[], string[]]>([
    ["markup", ["- Pizza\n", "- [Co", "ke](https://x.ex", "ample) **now**"], ["Pizza", "\nCoke", " now"]],
    ["an emoji of two pieces", ["Great \uD83D", "\uDC4D", "!"], ["Great", "!"]],
    ["a thought in its middle", ["Sure. <thi", "nking>They owe 400.</think", "ing> Shall I?"], ["Sure.", " Shall I?"]],
    ["a role label", ["Agent", ": Hello"], ["Hello"]],
    ["its own name as a label", ["Mia:", " Hello"], ["Hello"]],
    ["a token of the chat template", ["<|im_st", "art|>assistant\nHello.<|im_end|>"], ["Hello."]],
    ["a key", ["press ", "*", " now"], ["press", " * now"]],
    ["5 * 3", ["5 * 3"], ["5 * 3"]],
  ])("of an answer with %s only speech is said and told, wherever it is cut", async (_what, pieces, spoken) => {
    const { leg, told, asked, voice } = open();
    voice.perform(think(1, true, [{ role: "system", content: "You are Mia." }]));
    for (const piece of pieces) asked[0]!.onText(piece);
    asked[0]!.finish(pieces.join(""));
    await turnOver();
    expect(leg.did).toEqual([...spoken, "|"]);
    expect(told).toMatchObject([{ type: "model_answered", text: spoken.join("") }]);
  });
  test.each(["...", "**", "🙂", "<think>They said yes.</think>", "Agent:"])(
    "an answer of which nothing can be said is an empty one: %j",
    async (text) => {
      const { leg, told, asked, voice } = open();
      voice.perform(think());
      asked[0]!.onText(text);
      asked[0]!.finish(text);
      await turnOver();
      expect(leg.did).toEqual([]);
      expect(told).toMatchObject([{ type: "model_answered", text: "" }]);
    },
  );
  test("a failure is told with what had been said", async () => {
    const { leg, told, asked, voice } = open();
    voice.perform(think(3));
    asked[0]!.onText("Hello");
    asked[0]!.fail(new ModelError("MODEL_TIMEOUT", "late", true));
    await turnOver();
    expect(told).toEqual([{ type: "model_failed", turn: 3, code: "MODEL_TIMEOUT", said: "Hello" }]);
    expect(leg.did).toEqual(["Hello", "|"]);
  });
  test("a new generation ends the old one: its request is let go, its tokens are not spoken", async () => {
    const { leg, told, asked, voice } = open();
    voice.perform(think(1));
    asked[0]!.onText("Old");
    voice.perform(think(2));
    expect(asked[0]!.signal.aborted).toBe(true);
    asked[0]!.onText("er");
    asked[0]!.finish("Older");
    asked[1]!.onText("New");
    await turnOver();
    expect(leg.did).toEqual(["Old", "|", "New"]);
    expect(told).toEqual([]);
  });
});

describe("listening", () => {
  test("final words, keys, readiness and complaints are told; partial words are not", () => {
    let call: string | null = "";
    const { told, faults, events } = open({
      ready: (id) => {
        call = id;
      },
    });
    events.ready("CA1");
    events.prompt("Ye", false);
    events.prompt("Yes.", true);
    events.digit("1");
    events.fault();
    expect(call).toBe("CA1");
    expect(told).toEqual([
      { type: "heard", text: "Yes." },
      { type: "dtmf", digits: "1" },
      { type: "fault", code: "RELAY_REFUSED_FRAME" },
    ]);
    expect(faults).toEqual(["RELAY_REFUSED_FRAME"]);
  });
  test("an interruption lets the request go at once, tells exactly the spoken words, and sends nothing more", async () => {
    const { leg, told, asked, voice, events } = open();
    voice.perform(think());
    asked[0]!.onText("Hello Ada, how");
    events.interrupt("Hello A");
    expect(asked[0]!.signal.aborted).toBe(true);
    expect(told).toEqual([{ type: "interrupted", spoken: "Hello A" }]);
    asked[0]!.onText(" are you");
    asked[0]!.fail(new ModelError("MODEL_ABORTED", "x", false));
    await turnOver();
    expect(leg.did).toEqual(["Hello Ada, how"]);
    expect(told.length).toBe(1);
    expect(voice.spokenText()).toBe("");
  });
  test("keys of a node that collects make one entry: # or a pause ends it, words too", async () => {
    const { clock, told, events } = open({
      dtmfCollection: () => ({ max_digits: 32, end_key: "#", pause_ms: 3000, secret: false }),
    });
    for (const key of "12#") events.digit(key);
    for (const key of "34") events.digit(key);
    await clock.advance(2000);
    events.digit("5");
    await clock.advance(2999);
    expect(told).toEqual([{ type: "dtmf", digits: "12" }]);
    await clock.advance(2);
    await turnOver();
    expect(told.at(-1)).toEqual({ type: "dtmf", digits: "345" });
    events.digit("#");
    events.digit("9");
    events.prompt("Nine.", true);
    expect(told.slice(2)).toEqual([
      { type: "dtmf", digits: "#" },
      { type: "dtmf", digits: "9" },
      { type: "heard", text: "Nine." },
    ]);
  });
  test("the leg closing is told once, and the request is let go", async () => {
    const { told, asked, voice, events } = open();
    voice.perform(think());
    events.closed();
    expect(asked[0]!.signal.aborted).toBe(true);
    expect(told).toEqual([{ type: "stopped", reason: "hung_up" }]);
    await voice.closed;
  });
});
